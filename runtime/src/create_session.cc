// Makes a session: everything that its runs need.
#include <algorithm>

#include "runtime/src/affinity.h"
#include "runtime/src/diag.h"
#include "runtime/src/session.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"

namespace codl::rt {
namespace {

// Host arenas start on a page, like blobs: what shares no page with other memory can be given to a
// device as a whole.
constexpr size_t kArenaAlignment = kBlobAlignment;

// Returns how many CPU workers there are: those asked for, else those the plan was made for, as far
// as there are cores.
int32_t thread_count_of(const codl_plan& plan, const codl_session_options_t& options) {
  if (options.thread_count != 0) return options.thread_count;
  int32_t cores = std::min(allowed_core_count(), static_cast<int32_t>(kMaxThreads));
  if (options.cpu_core_count != 0)
    cores =
        static_cast<int32_t>(std::min<size_t>(options.cpu_core_count, static_cast<size_t>(cores)));
  const auto planned = static_cast<int32_t>(plan.def->cpu_threads());
  return planned == 0 ? cores : std::min(planned, cores);
}

// The speeds of the plan hold for the workers that it was made for, each on a core of its own.
kernels::WorkerSpeeds workers_of(const codl_plan& plan, const codl_session_options_t& options) {
  const int32_t count = thread_count_of(plan, options);
  const flatbuffers::Vector<uint16_t>* speeds = plan.def->worker_speeds();
  const bool are_those = speeds != nullptr && speeds->size() == static_cast<uint32_t>(count) &&
                         (options.cpu_core_count == 0 || options.cpu_core_count == speeds->size());
  return {count, are_those ? speeds->data() : nullptr};
}

bool is_listed(const plan::EntryDef& entry, const codl_session_options_t& options,
               const plan::VariantDef* variant) {
  if (options.variant_count == CODL_ALL_VARIANTS) return true;
  for (size_t i = 0; i < options.variant_count; ++i)
    if (find_variant(entry, options.variants[i]) == variant) return true;
  return false;
}

// Returns the variant that the entry begins with: the one asked for, or its first if only other
// entries have that. `has_gpu`: false takes one without GPU steps; null if there is none.
const plan::VariantDef* first_of(const plan::EntryDef& entry, const codl_session_options_t& options,
                                 bool has_gpu) {
  const plan::VariantDef* asked = find_variant(entry, options.variant);
  if (asked == nullptr) asked = find_variant(entry, nullptr);
  return has_gpu || !needs_gpu(*asked) ? asked : find_cpu_variant(entry);
}

// Says which variants of the entries a session prepares, and what it has of each.
struct Wanted {
  const codl_session_options_t& options;
  bool has_gpu = false;  // false leaves out what needs one
  bool has_spare = false;

  bool contains(const plan::EntryDef& entry, const plan::VariantDef* variant) const {
    if (needs_gpu(*variant) && !has_gpu) return false;
    return variant == first_of(entry, options, has_gpu) || is_listed(entry, options, variant) ||
           (has_spare && variant == find_cpu_variant(entry));
  }
  // Calls `add` for each, those with GPU steps first.
  template <typename Add>
  void each(const codl_plan& plan, Add add) const {
    for (const bool with_gpu : {true, false})
      for (uint32_t i = 0; i < plan.entry_count(); ++i)
        for (const plan::VariantDef* variant : *plan.entry(i).variants())
          if (needs_gpu(*variant) == with_gpu && contains(plan.entry(i), variant)) add(i, variant);
  }
};

// Fills `defs` with what is to be prepared: for each entry the variant that it begins with, those
// of the options and the one to fall back to. `has_gpu`: false leaves out what needs one.
codl_status_t list_variants(codl_session& session, const codl_session_options_t& options,
                            bool has_gpu, codl_diag_t* diag) {
  const codl_plan& plan = *session.plan;
  Wanted wanted = {options, has_gpu};
  session.gpu_variant_count = 0;
  wanted.each(plan, [&](uint32_t, const plan::VariantDef* variant) {
    session.gpu_variant_count += needs_gpu(*variant) ? 1 : 0;
  });
  wanted.has_spare = session.has_gpu() && options.fallback != CODL_FALLBACK_NEVER;
  size_t count = 0;
  wanted.each(plan, [&](uint32_t, const plan::VariantDef*) { ++count; });
  if (!session.defs.allocate(session.allocator, count) ||
      !session.prepared.allocate(session.allocator, count) ||
      !session.entries.allocate(session.allocator, plan.entry_count())) {
    set_diag(diag, "no memory for a list of %zu variants", count);
    return CODL_OUT_OF_MEMORY;
  }
  for (uint32_t i = 0; i < plan.entry_count(); ++i) {
    session.entries[i].def = &plan.entry(i);
    if (!wanted.has_spare || find_cpu_variant(plan.entry(i)) != nullptr) continue;
    set_diag(diag, "fallback: expected a plan with a CPU variant, found none");
    return CODL_INVALID_ARGUMENT;
  }
  session.entry = &session.entries[0];
  for (PreparedVariant*& one : session.prepared) {
    one = create_object<PreparedVariant>(session.allocator);
    if (one != nullptr) continue;
    set_diag(diag, "no memory for a variant");
    return CODL_OUT_OF_MEMORY;
  }
  size_t index = 0;
  wanted.each(plan, [&](uint32_t entry_index, const plan::VariantDef* variant) {
    session.defs[index] = variant;
    PreparedVariant& one = *session.prepared[index++];
    PreparedEntry& entry = session.entries[entry_index];
    one.allocator = session.allocator;
    one.entry = &entry;
    one.inputs.plan = &plan;
    one.inputs.entry = entry.def;
    one.inputs.variant = variant;
    one.inputs.record_timeline = session.records_timeline;
    one.inputs.seed = options.seed;
    if (variant == first_of(*entry.def, options, has_gpu)) entry.current = &one;
    if (wanted.has_spare && variant == find_cpu_variant(*entry.def)) entry.spare = &one;
  });
  return CODL_OK;
}

codl_status_t open_gpu(codl_session& session, const codl_session_options_t& options,
                       const ClApi* api, codl_diag_t* diag) {
  GpuQueueOptions queue_options;
  queue_options.platform_part = options.opencl_platform;
  queue_options.device_part = options.opencl_device;
  queue_options.cores = options.gpu_cores;
  queue_options.core_count = options.gpu_core_count;
  queue_options.record_times = options.record_timeline != 0;
  queue_options.deadline_ms = options.deadline_ms;
  size_t step_count = 0;
  for (const plan::VariantDef* variant : session.gpu_variants())
    step_count += variant->steps()->size();
  codl_status_t status = session.gpu.open(api, session.gpu_variants(), queue_options, diag);
  if (status == CODL_OK)
    status = session.gpu_memory.create(session.allocator, session.gpu, *session.plan,
                                       session.gpu_variants(), diag);
  if (status == CODL_OK)
    status = session.gpu_programs.create(session.allocator, session.gpu, options.program_cache,
                                         step_count, diag);
  return status;
}

// Flags that a plan asks for are events where the device, its driver or its cores forbid them.
bool has_flags(codl_session& session, const codl_session_options_t& options) {
  bool are_wanted = false;
  for (const plan::VariantDef* variant : session.gpu_variants())
    are_wanted = are_wanted || wants_flags(*variant);
  if (!are_wanted) return false;
  // Kernels of the test wait longer than those of a run.
  const int64_t deadline_ns = session.gpu.deadline_ns();
  if (deadline_ns != 0)
    session.gpu.set_deadline_ns(std::max(deadline_ns, 2 * GpuFlags::kPatienceNs));
  const bool are_there =
      session.gpu_flags.open(session.gpu, options.program_cache, options.cpu_cores,
                             options.cpu_core_count, &session.flag_refusal);
  session.gpu.set_deadline_ns(deadline_ns);
  if (are_there) return true;
  session.record.say("waits by flag are by event: %s", session.flag_refusal.message);
  return false;
}

// Steps that a plan has recorded are enqueued one by one where the device takes no recordings, or
// its driver refuses one.
void refuse_recordings(codl_session& session, const codl_diag_t& reason) {
  session.recording_refusal = reason;
  session.record.say("recorded steps are enqueued one by one: %s", reason.message);
}

// Opens the recorder if a variant asks for it.
void open_recorder(codl_session& session) {
  const VariantList variants = session.gpu_variants();
  codl_diag_t reason = {};
  if (std::any_of(variants.begin(), variants.end(),
                  [](const plan::VariantDef* variant) { return variant->is_recorded(); }) &&
      !session.gpu_recorder.open(session.gpu, &reason))
    refuse_recordings(session, reason);
}

// A driver that refuses a command while it is enqueued ahead takes the same command when its turn
// has come.
bool refuses_gates(codl_session& session) {
  const auto maps_ahead = [](const plan::VariantDef* variant) {
    return sharing_of(*variant) == Sharing::SubBuffer && gate_of(*variant) == Gate::UserEvent;
  };
  const VariantList variants = session.gpu_variants();
  if (std::none_of(variants.begin(), variants.end(), maps_ahead) || session.gpu.takes_early_unmap())
    return false;
  session.record.say(
      "%s: no unmap is enqueued before its map is complete; user events are not used",
      session.gpu.device().platform_name);
  return true;
}

codl_status_t allocate_arena(Arena& arena, const codl_allocator_t& allocator, uint64_t bytes,
                             codl_diag_t* diag) {
  if (arena.allocate(allocator, bytes, kArenaAlignment)) return CODL_OK;
  set_diag(diag, "no memory for a host arena of %llu bytes",
           static_cast<unsigned long long>(bytes));
  return CODL_OUT_OF_MEMORY;
}

codl_status_t allocate_host_memory(codl_session& session, codl_diag_t* diag) {
  uint64_t host_bytes = 0, spare_bytes = 0;
  for (const PreparedVariant* one : session.prepared) {
    uint64_t& bytes = one->is_spare() ? spare_bytes : host_bytes;
    bytes = std::max(bytes, one->def().host_bytes());
  }
  codl_status_t status = allocate_arena(session.host_arena, session.allocator, host_bytes, diag);
  if (status == CODL_OK)
    status = allocate_arena(session.spare_arena, session.allocator, spare_bytes, diag);
  if (status != CODL_OK) return status;
  const plan::EntryDef& entry = session.plan->entry();  // all have as many
  status = session.states.create(entry, session.allocator, diag);
  if (status != CODL_OK) return status;
  if (session.hidden_outputs.allocate(session.allocator,
                                      entry.outputs()->size() - visible_output_count(entry)))
    return CODL_OK;
  set_diag(diag, "no memory for the extents of outputs");
  return CODL_OUT_OF_MEMORY;
}

codl_status_t create_steps(codl_session& session, const codl_session_options_t& options,
                           codl_diag_t* diag) {
  const bool has_no_gates = refuses_gates(session);
  const bool are_there_flags = has_flags(session, options);
  open_recorder(session);
  const size_t first_hidden =
      size_t{session.plan->entry().inputs()->size()} + visible_output_count(session.plan->entry());
  for (size_t i = 0; i < session.prepared.count(); ++i) {
    PreparedVariant& one = *session.prepared[i];
    const Arena& arena = one.is_spare() ? session.spare_arena : session.host_arena;
    one.inputs.host_arena = arena.data();
    one.inputs.gate = gate_of(one.def());
    if (i < session.gpu_variant_count) {
      one.inputs.memory = session.gpu_memory.tensors_of(i);
      one.inputs.programs = &session.gpu_programs;
      one.inputs.has_flags = are_there_flags;
      // Each step has times of its own.
      if (one.def().is_recorded() && !session.records_timeline)
        one.inputs.most_recorded = session.gpu_recorder.most_kernels();
      if (has_no_gates && sharing_of(one.def()) == Sharing::SubBuffer)
        one.inputs.gate = Gate::HostEnqueue;
    }
    const codl_status_t status = one.steps.create(session.allocator, one.inputs, diag);
    if (status != CODL_OK) return status;
    // They stay where they are; inputs and visible outputs are bound for each run.
    for (size_t h = 0; h < session.hidden_outputs.count(); ++h)
      one.steps.set_io(first_hidden + h, &session.hidden_outputs[h]);
  }
  return CODL_OK;
}

// Waits for the kernels that GpuPrograms::add() ran for the first time.
codl_status_t finish_warm_up(codl_session& session, codl_diag_t* diag) {
  const int64_t start_ns = now_ns();
  const codl_status_t status = session.gpu.finish(kComputeQueue, diag);
  session.gpu_programs.finish_adding();
  session.program_us =
      session.gpu_programs.build_us() + static_cast<double>(now_ns() - start_ns) / 1000;
  return status;
}

// The first run of a variant reads no weight from the disk and takes no page faults for them.
// Weights of variants that are not prepared stay where they are.
codl_status_t prefetch_weights(codl_session& session, codl_diag_t* diag) {
  const codl_plan& plan = *session.plan;
  Array<bool> is_done;  // indexed by blob: several tensors may be one
  if (!is_done.allocate(session.allocator, plan.def->blobs()->size())) {
    set_diag(diag, "no memory for a list of %u weights", plan.def->blobs()->size());
    return CODL_OUT_OF_MEMORY;
  }
  for (const plan::VariantDef* variant : session.variants()) {
    for (const plan::TensorDef* tensor : *variant->tensors()) {
      if (storage_of(*tensor) != Storage::Weights || is_done[tensor->index()]) continue;
      is_done[tensor->index()] = true;
      const plan::BlobDef& blob = *plan.def->blobs()->Get(tensor->index());
      plan.file.prefetch(plan.blob_data(tensor->index()), static_cast<size_t>(blob.bytes()));
      session.weight_bytes += round_up(blob.bytes(), kBlobAlignment);
    }
  }
  return CODL_OK;
}

// The step of any variant that needs most decides the size.
codl_status_t allocate_scratch(codl_session& session, CpuScratch* out_scratch, codl_diag_t* diag) {
  uint64_t bytes_per_worker = 0, bytes_of_all = 0;
  for (const PreparedVariant* one : session.prepared) {
    bytes_per_worker = std::max(bytes_per_worker, one->steps.scratch_bytes());
    bytes_of_all = std::max(bytes_of_all, one->steps.shared_bytes());
  }
  const int32_t workers = session.pool.worker_count();
  ScratchSizes sizes;
  if (!scratch_sizes(bytes_per_worker, bytes_of_all, static_cast<uint64_t>(workers), &sizes) ||
      !session.scratch.allocate(session.allocator, sizes.total_bytes, kHostAlignment)) {
    set_diag(diag, "no memory for %d scratch areas of %llu bytes and one of %llu", workers,
             static_cast<unsigned long long>(sizes.stride_bytes),
             static_cast<unsigned long long>(bytes_of_all));
    return CODL_OUT_OF_MEMORY;
  }
  *out_scratch = {session.scratch.data(), static_cast<size_t>(sizes.stride_bytes)};
  return CODL_OK;
}

codl_status_t create_checker(codl_session& session, const codl_session_options_t& options,
                             PreparedVariant& one, codl_diag_t* diag) {
  if (!one.has_gpu() || options.check_every == 0) return CODL_OK;
  one.checker = create_object<StepChecker>(session.allocator);
  if (one.checker == nullptr) {
    set_diag(diag, "no memory for checks");
    return CODL_OUT_OF_MEMORY;
  }
  const StepCheckerInputs inputs = {session.plan,      &one.def(),
                                    one.inputs.memory, &session.gpu,
                                    &session.pool,     static_cast<uint32_t>(options.check_every)};
  one.executor.set_checker(one.checker);
  return one.checker->create(session.allocator, inputs, diag);
}

codl_status_t create_executors(codl_session& session, const codl_session_options_t& options,
                               codl_diag_t* diag) {
  CpuScratch scratch;
  codl_status_t status = allocate_scratch(session, &scratch, diag);
  for (PreparedVariant* one : session.prepared) {
    if (status == CODL_OK)
      status = one->executor.create(session.allocator, one->inputs.gate, one->steps, session.pool,
                                    scratch, one->has_gpu() ? &session.gpu : nullptr,
                                    session.records_timeline, diag);
    one->executor.set_cancel(&session.is_cancelled);
    if (one->steps.is_ahead()) one->executor.set_flags(&session.gpu_flags);
    codl_diag_t reason = {};
    if (status == CODL_OK && one->inputs.most_recorded != 0 &&
        !one->executor.record(session.allocator, session.gpu_recorder, &reason))
      refuse_recordings(session, reason);
    if (options.variant_count != 0) one->executor.set_timed();
    if (status == CODL_OK) status = create_checker(session, options, *one, diag);
  }
  return status;
}

// Makes an empty session ready to run. `has_gpu`: see list_variants().
codl_status_t prepare(codl_session& session, const codl_session_options_t& options, bool has_gpu,
                      const ClApi* api, codl_diag_t* diag) {
  session.records_timeline = options.record_timeline != 0;
  codl_status_t status = list_variants(session, options, has_gpu, diag);
  // This comes next, so that a machine without a GPU finds out before anything else is done.
  if (status == CODL_OK && session.has_gpu()) status = open_gpu(session, options, api, diag);
  if (status == CODL_OK) status = allocate_host_memory(session, diag);
  if (status == CODL_OK) status = create_steps(session, options, diag);
  if (status == CODL_OK) status = prefetch_weights(session, diag);
  if (status == CODL_OK && session.has_gpu()) status = finish_warm_up(session, diag);
  if (status == CODL_OK)
    status = session.pool.start(session.allocator, workers_of(*session.plan, options),
                                options.cpu_cores, options.cpu_core_count, diag);
  if (status == CODL_OK && session.pool.worker_count() < session.pool.wanted_worker_count())
    session.record.say("CPU threads: expected %d, found %d: the system grants no more",
                       session.pool.wanted_worker_count(), session.pool.worker_count());
  return status == CODL_OK ? create_executors(session, options, diag) : status;
}

// Sets what a session has before anything is prepared.
void begin(codl_session& session, const codl_allocator_t& allocator, const codl_plan_t* plan,
           const codl_log_t& log) {
  session.memory.set_source(allocator);
  session.allocator = session.memory.allocator();
  session.plan = plan;
  session.record.set_log(log);
}

// Empties a session.
void restart(codl_session& session) {
  const codl_allocator_t allocator = session.memory.source();
  const codl_plan_t* plan = session.plan;
  const codl_log_t log = session.record.log();
  session.~codl_session();
  begin(*new (&session) codl_session(), allocator, plan, log);
}

// Prepares the variants asked for or, where the GPU is the obstacle, those without it.
codl_status_t prepare_some_variant(codl_session& session, const codl_session_options_t& options,
                                   const ClApi* api, codl_diag_t* diag) {
  codl_diag_t reason = {};
  const codl_status_t status = prepare(session, options, true, api, &reason);
  const bool is_gpu_fault = status == CODL_NO_DEVICE || status == CODL_DEVICE_ERROR;
  bool has_way_out = is_gpu_fault && options.require_variant == 0;
  for (const plan::EntryDef* entry : *session.plan->def->entries())
    has_way_out = has_way_out && first_of(*entry, options, false) != nullptr;
  if (!has_way_out) {
    if (status != CODL_OK) set_diag(diag, "%s", reason.message);
    return is_gpu_fault ? CODL_NO_DEVICE : status;
  }
  restart(session);
  session.fallback = reason;
  session.record.say("variant %s in place of the one asked for: %s",
                     first_of(session.plan->entry(), options, false)->name()->c_str(),
                     reason.message);
  return prepare(session, options, false, api, diag);
}

}  // namespace

codl_status_t create_session(const codl_plan_t* plan, const codl_session_options_t* options,
                             const ClApi* api, codl_session_t** out_session, codl_diag_t* diag) {
  clear_diag(diag);
  if (out_session == nullptr) return refuse_null("out_session", diag);
  *out_session = nullptr;
  if (plan == nullptr) return refuse_null("a plan", diag);
  const int64_t start_ns = now_ns();
  codl_session_options_t given;
  if (!read_options("codl_session_options_t", options, &given, diag)) return CODL_INVALID_ARGUMENT;
  codl_status_t status = check_options(*plan, given, diag);
  if (status != CODL_OK) return status;
  const codl_allocator_t allocator =
      given.allocator != nullptr ? *given.allocator : default_allocator();
  codl_session_t* session = create_object<codl_session_t>(allocator);
  if (session == nullptr) {
    set_diag(diag, "no memory for a session");
    return CODL_OUT_OF_MEMORY;
  }
  begin(*session, allocator, plan, given.log != nullptr ? *given.log : codl_log_t());
  status = prepare_some_variant(*session, given, api, diag);
  if (status != CODL_OK) {
    codl_session_destroy(session);
    return status;
  }
  session->load_us = static_cast<double>(now_ns() - start_ns) / 1000;
  *out_session = session;
  return CODL_OK;
}

}  // namespace codl::rt

codl_status_t codl_session_create(const codl_plan_t* plan, const codl_session_options_t* options,
                                  codl_session_t** out_session, codl_diag_t* diag) {
  return codl::rt::create_session(plan, options, nullptr, out_session, diag);
}

void codl_session_destroy(codl_session_t* session) {
  if (session == nullptr) return;
  const codl_allocator_t allocator = session->memory.source();
  codl::rt::destroy_object(allocator, session);
}
