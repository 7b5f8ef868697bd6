// What a session tells of itself and of its last run.
#include <algorithm>
#include <cstring>

#include "runtime/src/session.h"
#include "schema/session_memory.h"
#include "schema/verify_plan.h"

namespace codl::rt {
namespace {

SessionMemory memory_of(const codl_session& session) {
  const uint64_t page_bytes = page_bytes_of(session.allocator);
  const SessionLists lists = {static_cast<uint64_t>(session.pool.worker_count()),
                              session.records_timeline, session.chooser.is_created()};
  SessionMemory memory;
  memory.host_bytes = block_bytes(session.host_arena.size_bytes(), page_bytes) +
                      block_bytes(session.spare_arena.size_bytes(), page_bytes);
  memory.scratch_bytes = block_bytes(session.scratch.size_bytes(), page_bytes);
  memory.shared_bytes = session.gpu_memory.shared_bytes();
  memory.device_bytes = session.gpu_memory.device_bytes();
  memory.image_bytes = session.gpu_memory.image_bytes();
  memory.weight_bytes = session.weight_bytes;
  memory.weight_copy_bytes = session.gpu_memory.weight_copy_bytes();
  memory.table_bytes = session.plan->file.private_bytes() +
                       list_bytes(*session.plan->def, session.variants(), lists, page_bytes);
  for (const PreparedVariant* one : session.prepared) {
    if (one->checker == nullptr) continue;
    memory.scratch_bytes += block_bytes(one->checker->memory_bytes(), page_bytes);
    memory.table_bytes += sizeof(StepChecker) + one->checker->list_bytes();
  }
  return memory;
}

}  // namespace
}  // namespace codl::rt

codl_status_t codl_session_get_info(const codl_session_t* session, codl_session_info_t* out_info) {
  if (session == nullptr || out_info == nullptr ||
      !codl::rt::is_known_size<codl_session_info_t>(out_info->struct_size))
    return CODL_INVALID_ARGUMENT;
  codl_session_info_t info = {};
  info.struct_size = out_info->struct_size;
  const codl::rt::RunRecord& record = session->record;
  const bool has_given_up = record.has_given_up();
  info.variant = (has_given_up ? session->spare : session->current.load())->name();
  info.fallback_reason = has_given_up ? record.first_failure() : session->fallback.message;
  info.failed_runs = record.failed_runs();
  info.run_failure = record.first_failure();
  info.opencl_platform = session->gpu.device().platform_name;
  info.opencl_device = session->gpu.device().device_name;
  info.thread_count = session->pool.worker_count();
  info.wanted_thread_count = session->pool.wanted_worker_count();
  const codl::SessionMemory memory = codl::rt::memory_of(*session);
#define CODL_MEMORY(name, text) info.name##_bytes = static_cast<size_t>(memory.name##_bytes);
#include "schema/memory.def"
#undef CODL_MEMORY
  info.load_us = session->load_us;
  info.program_us = session->program_us;
  info.variant_count = session->prepared.count();
  info.switch_count = session->switch_count;
  info.switch_reason = session->switch_reason;
  std::memcpy(out_info, &info, info.struct_size);
  return CODL_OK;
}

codl_status_t codl_session_get_output_dims(const codl_session_t* session, size_t index,
                                           int64_t* out_dims, size_t capacity, int32_t* out_rank) {
  if (out_rank == nullptr) return CODL_INVALID_ARGUMENT;
  *out_rank = 0;
  if (session == nullptr || out_dims == nullptr || session->is_running)
    return CODL_INVALID_ARGUMENT;
  const codl::plan::PlanDef& plan = *session->plan->def;
  const uint32_t visible_count = codl::visible_output_count(plan);
  if (index >= visible_count) return CODL_INVALID_ARGUMENT;
  const auto& dims = *plan.outputs()->Get(static_cast<uint32_t>(index))->dims();
  if (capacity < dims.size()) return CODL_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < dims.size(); ++i) out_dims[i] = dims.Get(i);
  *out_rank = static_cast<int32_t>(dims.size());
  if (plan.extents() == nullptr) return CODL_OK;
  for (const codl::plan::ExtentDef* extent : *plan.extents()) {
    if (extent->output() != index) continue;
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
      session->last != nullptr ? session->last : session->current.load();
  const codl::rt::Array<codl_step_time_t>& timeline = shown->executor.timeline();
  *out_count = timeline.count();
  return timeline.data();
}
