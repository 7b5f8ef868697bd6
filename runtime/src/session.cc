#include "runtime/src/session.h"

#include <algorithm>
#include <cstring>

#include "runtime/src/affinity.h"
#include "runtime/src/diag.h"
#include "schema/plan_layout.h"
#include "schema/session_memory.h"
#include "schema/verify_plan.h"

namespace codl::rt {
namespace {

static_assert(sizeof(void*) != 8 ||
                  (kSessionBytes == sizeof(codl_session) && kStepBytes == sizeof(Step) &&
                   kStepTimeBytes == sizeof(codl_step_time_t) &&
                   kProgramBytes == GpuPrograms::kProgramBytes &&
                   kViewBytes == sizeof(kernels::TensorView) &&
                   kWorkerBytes == CpuPool::kWorkerBytes),
              "schema/session_memory.h has the sizes of what a session keeps");

// Host arenas start on a page, like blobs: what shares no page with other memory can be handed to a
// device as a whole.
constexpr size_t kArenaAlignment = kBlobAlignment;

codl_status_t check_cores(const char* option, const int32_t* cores, size_t count,
                          codl_diag_t* diag) {
  if (cores == nullptr && count != 0) {
    set_diag(diag, "%s: expected %zu core numbers, found null", option, count);
    return CODL_INVALID_ARGUMENT;
  }
  const int64_t unusable = first_unusable_core(cores, count);
  if (unusable < 0) return CODL_OK;
  set_diag(diag, "%s: expected cores that this thread may use, found %d", option,
           static_cast<int32_t>(unusable));
  return CODL_INVALID_ARGUMENT;
}

// 0 or 1.
codl_status_t check_flag(const char* option, int32_t value, codl_diag_t* diag) {
  if (value == 0 || value == 1) return CODL_OK;
  set_diag(diag, "%s: expected 0 or 1, found %d", option, value);
  return CODL_INVALID_ARGUMENT;
}

codl_status_t check_options(const codl_session_options_t& options, codl_diag_t* diag) {
  if (check_allocator(options.allocator, diag) != CODL_OK ||
      check_flag("require_variant", options.require_variant, diag) != CODL_OK ||
      check_flag("record_timeline", options.record_timeline, diag) != CODL_OK)
    return CODL_INVALID_ARGUMENT;
  if (options.fallback != CODL_FALLBACK_NEVER && options.fallback != CODL_FALLBACK_PER_RUN) {
    set_diag(diag, "fallback: expected a codl_fallback_t, found %d", options.fallback);
    return CODL_INVALID_ARGUMENT;
  }
  if (options.check_every < 0) {
    set_diag(diag, "check_every: expected 0 or a number of runs, found %d", options.check_every);
    return CODL_INVALID_ARGUMENT;
  }
  if (options.log != nullptr && options.log->write == nullptr)
    return refuse_null("a log's write", diag);
  const codl_program_cache_t* cache = options.program_cache;
  if (cache != nullptr && (cache->load == nullptr || cache->store == nullptr))
    return refuse_null("a program cache's load and store", diag);
  if (options.thread_count < 0 || options.thread_count > static_cast<int32_t>(kMaxThreads)) {
    set_diag(diag, "thread_count: expected 0 to %u, found %d", kMaxThreads, options.thread_count);
    return CODL_INVALID_ARGUMENT;
  }
  const codl_status_t status =
      check_cores("cpu_cores", options.cpu_cores, options.cpu_core_count, diag);
  return status == CODL_OK
             ? check_cores("gpu_cores", options.gpu_cores, options.gpu_core_count, diag)
             : status;
}

// CPU workers: those asked for, else those the plan was made for, as far as there are cores.
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

const plan::VariantDef* find_variant(const codl_plan& plan, const char* name) {
  if (name == nullptr) return plan.def->variants()->Get(0);
  for (const plan::VariantDef* variant : *plan.def->variants())
    if (std::strcmp(variant->name()->c_str(), name) == 0) return variant;
  return nullptr;
}

codl_status_t open_gpu(codl_session& session, const codl_session_options_t& options,
                       const ClApi* api, codl_diag_t* diag) {
  GpuQueueOptions queue_options;
  queue_options.platform_part = options.opencl_platform;
  queue_options.device_part = options.opencl_device;
  queue_options.cores = options.gpu_cores;
  queue_options.core_count = options.gpu_core_count;
  queue_options.record_times = options.record_timeline != 0;
  codl_status_t status = session.gpu.open(api, *session.variant, queue_options, diag);
  if (status == CODL_OK)
    status = session.gpu_memory.create(session.allocator, session.gpu, *session.plan,
                                       *session.variant, diag);
  if (status == CODL_OK)
    status = session.gpu_programs.create(session.allocator, session.gpu, options.program_cache,
                                         session.variant->steps()->size(), diag);
  return status;
}

// The variant's, unless it is more than the driver can do. One that refuses a command while it is
// enqueued ahead takes the same command when its turn has come.
Gate usable_gate(codl_session& session) {
  const plan::VariantDef& variant = *session.variant;
  const bool maps_ahead =
      sharing_of(variant) == Sharing::SubBuffer && gate_of(variant) == Gate::UserEvent;
  if (!session.has_gpu || !maps_ahead || session.gpu.takes_early_unmap()) return gate_of(variant);
  session.record.say(
      "%s: no unmap is enqueued before its map is complete; user events are not used",
      session.gpu.device().platform_name);
  return Gate::HostEnqueue;
}

// Waits for the kernels that GpuPrograms::add() ran for the first time.
codl_status_t finish_warm_up(codl_session& session, codl_diag_t* diag) {
  const int64_t start_ns = now_ns();
  const codl_status_t status = session.gpu.finish(kComputeQueue, diag);
  session.program_us =
      session.gpu_programs.build_us() + static_cast<double>(now_ns() - start_ns) / 1000;
  return status;
}

// The first run reads no weight from the disk and takes no page faults for them. Weights of other
// variants stay where they are.
codl_status_t prefetch_weights(codl_session& session, codl_diag_t* diag) {
  const codl_plan& plan = *session.plan;
  Array<bool> is_done;  // by blob: several tensors may be one
  if (!is_done.allocate(session.allocator, plan.def->blobs()->size())) {
    set_diag(diag, "no memory for a list of %u weights", plan.def->blobs()->size());
    return CODL_OUT_OF_MEMORY;
  }
  for (const plan::TensorDef* tensor : *session.variant->tensors()) {
    if (storage_of(*tensor) != Storage::Weights || is_done[tensor->index()]) continue;
    is_done[tensor->index()] = true;
    const plan::BlobDef& blob = *plan.def->blobs()->Get(tensor->index());
    plan.file.prefetch(plan.blob_data(tensor->index()), static_cast<size_t>(blob.bytes()));
    session.weight_bytes += mapped_bytes(blob);
  }
  return CODL_OK;
}

// They stay where they are; inputs and visible outputs are bound for each run.
void bind_hidden_outputs(const codl_session& session, StepList& steps) {
  const plan::PlanDef& plan = *session.plan->def;
  const size_t first = size_t{plan.inputs()->size()} + visible_output_count(plan);
  for (size_t i = 0; i < session.hidden_outputs.count(); ++i)
    steps.set_io(first + i, &session.hidden_outputs[i]);
}

codl_status_t prepare_checker(codl_session& session, const codl_session_options_t& options,
                              codl_diag_t* diag) {
  if (!session.has_gpu || options.check_every == 0) return CODL_OK;
  session.checker = create_object<StepChecker>(session.allocator);
  if (session.checker == nullptr) {
    set_diag(diag, "no memory for checks");
    return CODL_OUT_OF_MEMORY;
  }
  const StepCheckerInputs inputs = {
      session.plan, session.variant, &session.gpu_memory,
      &session.gpu, &session.pool,   static_cast<uint32_t>(options.check_every)};
  const codl_status_t status = session.checker->create(session.allocator, inputs, diag);
  session.executor.set_checker(session.checker);
  return status;
}

// What a run with GPU steps falls back to, if the host allowed that.
codl_status_t prepare_spare(codl_session& session, const codl_session_options_t& options,
                            codl_diag_t* diag) {
  if (!session.has_gpu || options.fallback == CODL_FALLBACK_NEVER) return CODL_OK;
  const plan::VariantDef* variant = find_cpu_variant(*session.plan);
  if (variant == nullptr) {
    set_diag(diag, "fallback: expected a plan with a CPU variant, found none");
    return CODL_INVALID_ARGUMENT;
  }
  session.spare = create_object<SpareVariant>(session.allocator);
  if (session.spare == nullptr) {
    set_diag(diag, "no memory for a variant to fall back to");
    return CODL_OUT_OF_MEMORY;
  }
  const codl_status_t status = session.spare->create(session.allocator, *session.plan, *variant,
                                                     session.pool, session.records_timeline, diag);
  session.spare->set_cancel(&session.is_cancelled);
  if (status == CODL_OK) bind_hidden_outputs(session, session.spare->steps());
  return status;
}

// Makes an empty session ready to run session.variant.
codl_status_t prepare(codl_session& session, const codl_session_options_t& options,
                      const ClApi* api, codl_diag_t* diag) {
  const plan::VariantDef& variant = *session.variant;
  session.has_gpu = needs_gpu(variant);
  session.records_timeline = options.record_timeline != 0;
  codl_status_t status = CODL_OK;
  // First, so that a machine without a GPU finds out before anything else is done.
  if (session.has_gpu) status = open_gpu(session, options, api, diag);
  if (status != CODL_OK) return status;
  if (!session.host_arena.allocate(session.allocator, variant.host_bytes(), kArenaAlignment)) {
    set_diag(diag, "no memory for a host arena of %llu bytes",
             static_cast<unsigned long long>(variant.host_bytes()));
    return CODL_OUT_OF_MEMORY;
  }
  const uint32_t visible_count = visible_output_count(*session.plan->def);
  if (!session.hidden_outputs.allocate(session.allocator,
                                       session.plan->def->outputs()->size() - visible_count)) {
    set_diag(diag, "no memory for the extents of outputs");
    return CODL_OUT_OF_MEMORY;
  }
  StepListInputs inputs;
  inputs.plan = session.plan;
  inputs.variant = &variant;
  inputs.host_arena = session.host_arena.data();
  inputs.memory = session.has_gpu ? &session.gpu_memory : nullptr;
  inputs.programs = session.has_gpu ? &session.gpu_programs : nullptr;
  inputs.gate = usable_gate(session);
  inputs.record_timeline = options.record_timeline != 0;
  status = session.steps.create(session.allocator, inputs, diag);
  if (status == CODL_OK) bind_hidden_outputs(session, session.steps);
  if (status == CODL_OK) status = prefetch_weights(session, diag);
  if (status == CODL_OK && session.has_gpu) status = finish_warm_up(session, diag);
  if (status == CODL_OK)
    status = session.pool.start(session.allocator, workers_of(*session.plan, options),
                                options.cpu_cores, options.cpu_core_count, diag);
  if (status == CODL_OK)
    status = session.executor.create(session.allocator, inputs.gate, session.steps, session.pool,
                                     session.has_gpu ? &session.gpu : nullptr,
                                     options.record_timeline != 0, diag);
  session.executor.set_cancel(&session.is_cancelled);
  if (status == CODL_OK) status = prepare_checker(session, options, diag);
  return status == CODL_OK ? prepare_spare(session, options, diag) : status;
}

// Empties a session and aims it at another variant.
void restart(codl_session& session, const plan::VariantDef* variant) {
  const codl_allocator_t allocator = session.allocator;
  const codl_plan_t* plan = session.plan;
  const codl_log_t log = session.record.log();
  session.~codl_session();
  new (&session) codl_session();
  session.allocator = allocator;
  session.plan = plan;
  session.variant = variant;
  session.record.set_log(log);
}

// Prepares the variant asked for or, where the GPU is the obstacle, the plan's CPU variant.
codl_status_t prepare_some_variant(codl_session& session, const codl_session_options_t& options,
                                   const ClApi* api, codl_diag_t* diag) {
  codl_diag_t reason = {};
  const codl_status_t status = prepare(session, options, api, &reason);
  const bool is_gpu_fault = status == CODL_NO_DEVICE || status == CODL_DEVICE_ERROR;
  const plan::VariantDef* cpu_variant =
      is_gpu_fault && options.require_variant == 0 ? find_cpu_variant(*session.plan) : nullptr;
  if (cpu_variant == nullptr) {
    if (status != CODL_OK) set_diag(diag, "%s", reason.message);
    return is_gpu_fault ? CODL_NO_DEVICE : status;
  }
  restart(session, cpu_variant);
  session.fallback = reason;
  session.record.say("variant %s in place of the one asked for: %s", cpu_variant->name()->c_str(),
                     reason.message);
  return prepare(session, options, api, diag);
}

codl_status_t check_buffers(const char* kind,
                            const flatbuffers::Vector<flatbuffers::Offset<plan::IoDef>>& ios,
                            size_t expected_count, const codl_buffer_t* buffers, size_t count,
                            codl_diag_t* diag) {
  if (count != expected_count || (buffers == nullptr && count != 0)) {
    set_diag(diag, "%ss: expected %zu, found %zu", kind, expected_count,
             buffers == nullptr ? 0 : count);
    return CODL_INVALID_ARGUMENT;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const plan::IoDef& io = *ios.Get(i);
    if (buffers[i].bytes != io.bytes()) {
      set_diag(diag, "%s %s: expected %llu bytes, found %zu", kind, io.name()->c_str(),
               static_cast<unsigned long long>(io.bytes()), buffers[i].bytes);
      return CODL_INVALID_ARGUMENT;
    }
    if (io.bytes() == 0) continue;
    const size_t alignment = std::max<size_t>(4, dtype_bytes(static_cast<DType>(io.dtype())));
    if (buffers[i].data == nullptr ||
        reinterpret_cast<uintptr_t>(buffers[i].data) % alignment != 0) {
      set_diag(diag, "%s %s: expected data aligned to %zu, found %p", kind, io.name()->c_str(),
               alignment, buffers[i].data);
      return CODL_INVALID_ARGUMENT;
    }
  }
  return CODL_OK;
}

bool overlap(const codl_buffer_t& a, const codl_buffer_t& b) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data);
  const auto b_begin = reinterpret_cast<uintptr_t>(b.data);
  return a.bytes != 0 && b.bytes != 0 && a_begin < b_begin + b.bytes && b_begin < a_begin + a.bytes;
}

// The lanes read inputs and write outputs in the plan's order, which a caller does not know.
codl_status_t check_overlaps(const plan::PlanDef& plan, const codl_buffer_t* inputs,
                             size_t input_count, const codl_buffer_t* outputs, size_t output_count,
                             codl_diag_t* diag) {
  const plan::IoDef* other = nullptr;
  for (uint32_t i = 0; i < output_count; ++i) {
    for (uint32_t k = 0; k < input_count && other == nullptr; ++k)
      if (overlap(outputs[i], inputs[k])) other = plan.inputs()->Get(k);
    for (uint32_t k = 0; k < i && other == nullptr; ++k)
      if (overlap(outputs[i], outputs[k])) other = plan.outputs()->Get(k);
    if (other == nullptr) continue;
    set_diag(diag, "output %s: expected memory of its own, found some of %s",
             plan.outputs()->Get(i)->name()->c_str(), other->name()->c_str());
    return CODL_INVALID_ARGUMENT;
  }
  return CODL_OK;
}

// The run's steps, on the variant in use; what the device fails at is finished on the spare one.
codl_status_t run_steps(codl_session& session, codl_diag_t* diag) {
  RunRecord& record = session.record;
  session.is_last_on_spare = record.has_given_up();
  if (!session.is_last_on_spare) {
    codl_diag_t reason = {};
    const codl_status_t status = session.executor.run(&reason);
    if (status == CODL_OK) {
      record.note_success();
      return status;
    }
    if (status == CODL_CANCELLED) {
      set_diag(diag, "%s", reason.message);
      return status;
    }
    const char* end = status == CODL_WRONG_RESULT  ? "it computed a wrong result"
                      : session.executor.is_lost() ? "it does not come back from a failed run"
                                                   : nullptr;
    record.note_failure(reason, session.spare != nullptr, end);
    if (session.spare == nullptr) {
      set_diag(diag, "%s", reason.message);
      return status;
    }
    session.is_last_on_spare = true;
  }
  return session.spare->run(diag);
}

// Holds a session for one run, unless another thread does.
class RunScope {
 public:
  explicit RunScope(codl_session& session)
      : session_(session), is_entered_(!session.is_running.exchange(true)) {}
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  ~RunScope() {
    if (is_entered_) session_.is_running = false;
  }
  bool is_entered() const { return is_entered_; }

 private:
  codl_session& session_;
  const bool is_entered_;
};

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
  codl_status_t status = check_options(given, diag);
  if (status != CODL_OK) return status;
  const plan::VariantDef* variant = find_variant(*plan, given.variant);
  if (variant == nullptr) {
    set_diag(diag, "variant: expected one of the plan's, found %s", given.variant);
    return CODL_INVALID_ARGUMENT;
  }
  const codl_allocator_t allocator =
      given.allocator != nullptr ? *given.allocator : default_allocator();
  codl_session_t* session = create_object<codl_session_t>(allocator);
  if (session == nullptr) {
    set_diag(diag, "no memory for a session");
    return CODL_OUT_OF_MEMORY;
  }
  session->allocator = allocator;
  session->plan = plan;
  session->variant = variant;
  if (given.log != nullptr) session->record.set_log(*given.log);
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
  const codl_allocator_t allocator = session->allocator;
  codl::rt::destroy_object(allocator, session);
}

codl_status_t codl_session_run(codl_session_t* session, const codl_buffer_t* inputs,
                               size_t input_count, const codl_buffer_t* outputs,
                               size_t output_count, codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (session == nullptr) return codl::rt::refuse_null("a session", diag);
  const codl::rt::RunScope scope(*session);
  if (!scope.is_entered()) {
    codl::rt::set_diag(diag, "session: expected one run at a time, found another thread in a run");
    return CODL_INVALID_ARGUMENT;
  }
  const codl::plan::PlanDef& plan = *session->plan->def;
  codl_status_t status = codl::rt::check_buffers(
      "input", *plan.inputs(), codl_plan_input_count(session->plan), inputs, input_count, diag);
  if (status == CODL_OK)
    status =
        codl::rt::check_buffers("output", *plan.outputs(), codl_plan_output_count(session->plan),
                                outputs, output_count, diag);
  if (status == CODL_OK)
    status = codl::rt::check_overlaps(plan, inputs, input_count, outputs, output_count, diag);
  if (status != CODL_OK) return status;
  session->is_cancelled = false;
  const auto bind = [&](codl::rt::StepList& steps) {
    for (size_t i = 0; i < input_count; ++i) steps.set_io(i, inputs[i].data);
    for (size_t i = 0; i < output_count; ++i) steps.set_io(input_count + i, outputs[i].data);
  };
  bind(session->steps);
  if (session->spare != nullptr) bind(session->spare->steps());
  return codl::rt::run_steps(*session, diag);
}

codl_status_t codl_session_cancel(codl_session_t* session) {
  if (session == nullptr) return CODL_INVALID_ARGUMENT;
  session->is_cancelled = true;
  return CODL_OK;
}

codl_status_t codl_session_self_test(codl_session_t* session, codl_step_report_t report,
                                     void* context, codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (session == nullptr) return codl::rt::refuse_null("a session", diag);
  const codl::rt::RunScope scope(*session);
  if (!scope.is_entered() || session->checker == nullptr) {
    codl::rt::set_diag(diag, session->checker == nullptr
                                 ? "session: expected GPU steps and check_every, found none"
                                 : "session: expected one run at a time, found another thread");
    return CODL_INVALID_ARGUMENT;
  }
  return session->checker->test_all(session->steps, report, context, diag);
}
