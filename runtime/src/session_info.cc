// Tells the facts about a session and its last run.
#include <algorithm>
#include <cstring>

#include "runtime/src/session.h"
#include "schema/verify_plan.h"

codl_status_t codl_session_get_info(const codl_session_t* session, codl_session_info_t* out_info) {
  if (session == nullptr || out_info == nullptr ||
      !codl::rt::is_known_size<codl_session_info_t>(out_info->struct_size))
    return CODL_INVALID_ARGUMENT;
  codl_session_info_t info = {};
  info.struct_size = out_info->struct_size;
  const codl::rt::RunRecord& record = session->record;
  const bool has_given_up = record.has_given_up();
  const codl::rt::PreparedEntry& entry = *session->entry.load();
  info.variant = (has_given_up ? entry.spare : entry.current.load())->name();
  info.fallback_reason = has_given_up ? record.first_failure() : session->fallback.message;
  info.failed_runs = record.failed_runs();
  info.run_failure = record.first_failure();
  info.opencl_platform = session->gpu.device().platform_name;
  info.opencl_device = session->gpu.device().device_name;
  info.thread_count = session->pool.worker_count();
  info.wanted_thread_count = session->pool.wanted_worker_count();
  const auto taken_by = [session](const codl::rt::Arena& arena) {
    return static_cast<size_t>(codl::rt::taken_bytes(session->allocator, arena.size_bytes()));
  };
  info.host_bytes = taken_by(session->host_arena) + taken_by(session->spare_arena);
  info.state_bytes = taken_by(session->states.memory());
  info.scratch_bytes = taken_by(session->scratch);
  for (const codl::rt::PreparedVariant* one : session->prepared)
    if (one->checker != nullptr)
      info.scratch_bytes += taken_by(one->checker->memory()) + taken_by(one->checker->widened());
  info.shared_bytes = static_cast<size_t>(session->gpu_memory.shared_bytes());
  info.device_bytes = static_cast<size_t>(session->gpu_memory.device_bytes());
  info.image_bytes = static_cast<size_t>(session->gpu_memory.image_bytes());
  info.weight_bytes = static_cast<size_t>(session->weight_bytes);
  info.weight_copy_bytes = static_cast<size_t>(session->gpu_memory.weight_copy_bytes());
  info.table_bytes =
      static_cast<size_t>(session->plan->file.private_bytes() + session->memory.held_bytes()) +
      sizeof(*session) - info.host_bytes - info.scratch_bytes - info.state_bytes;
  info.load_us = session->load_us;
  info.program_us = session->program_us;
  for (const codl::rt::PreparedVariant* one : session->prepared)
    info.variant_count += one->entry == &entry ? 1 : 0;
  info.entry = static_cast<size_t>(&entry - session->entries.begin());
  info.entry_count = session->entries.count();
  info.flag_refusal = session->flag_refusal.message;
  info.recording_refusal = session->recording_refusal.message;
  std::memcpy(out_info, &info, info.struct_size);
  return CODL_OK;
}

codl_status_t codl_session_get_output_dims(const codl_session_t* session, size_t index,
                                           int64_t* out_dims, size_t capacity, int32_t* out_rank) {
  if (out_rank == nullptr) return CODL_INVALID_ARGUMENT;
  *out_rank = 0;
  if (session == nullptr || out_dims == nullptr || session->is_running)
    return CODL_INVALID_ARGUMENT;
  const codl::plan::EntryDef& entry = *session->entry.load()->def;
  const uint32_t visible_count = codl::visible_output_count(entry);
  if (index >= codl_plan_output_count(session->plan)) return CODL_INVALID_ARGUMENT;
  const uint32_t output = codl::application_output(entry, static_cast<uint32_t>(index));
  const auto& dims = *entry.outputs()->Get(output)->dims();
  if (capacity < dims.size()) return CODL_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < dims.size(); ++i) out_dims[i] = dims.Get(i);
  *out_rank = static_cast<int32_t>(dims.size());
  if (entry.extents() == nullptr) return CODL_OK;
  for (const codl::plan::ExtentDef* extent : *entry.extents()) {
    if (extent->output() != output) continue;
    int64_t& dim = out_dims[extent->dim()];
    dim = std::clamp<int64_t>(session->hidden_outputs[extent->count_output() - visible_count], 0,
                              dim);
  }
  return CODL_OK;
}

const codl_step_time_t* codl_session_timeline(const codl_session_t* session, size_t* out_count) {
  if (out_count == nullptr) return nullptr;
  *out_count = 0;
  if (session == nullptr || session->is_running) return nullptr;
  const codl::rt::PreparedVariant* shown =
      session->last != nullptr ? session->last : session->current();
  const codl::rt::Array<codl_step_time_t>& timeline = shown->executor.timeline();
  *out_count = timeline.count();
  return timeline.data();
}
