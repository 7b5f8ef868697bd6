#include "schema/session_memory.h"

#include "schema/plan_layout.h"
#include "schema/types.h"
#include "schema/verify_plan.h"

namespace codl {

uint64_t block_bytes(uint64_t size_bytes, uint64_t page_bytes) {
  if (page_bytes == 0 || size_bytes < kHugePageBytes) return size_bytes;
  const uint64_t rest = size_bytes % kHugePageBytes;
  return round_up(size_bytes, rest >= kHugePageBytes / 2 ? kHugePageBytes : page_bytes);
}

bool scratch_sizes(uint64_t bytes_per_worker, uint64_t bytes_of_all, uint64_t worker_count,
                   ScratchSizes* out_sizes) {
  out_sizes->stride_bytes = (bytes_per_worker + kHostAlignment - 1) & ~(kHostAlignment - 1);
  return out_sizes->stride_bytes >= bytes_per_worker &&
         !__builtin_mul_overflow(out_sizes->stride_bytes, worker_count, &out_sizes->total_bytes) &&
         !__builtin_add_overflow(out_sizes->total_bytes, bytes_of_all, &out_sizes->total_bytes);
}

uint64_t image_bytes(uint32_t width, uint32_t height, DType dtype, uint64_t row_texels) {
  return round_up(uint64_t{width}, row_texels) * height * kChannelPad * dtype_bytes(dtype);
}

uint64_t mapped_bytes(const plan::BlobDef& blob) { return round_up(blob.bytes(), kBlobAlignment); }

namespace {

constexpr uint64_t kPointerBytes = 8;

}  // namespace

uint64_t variant_list_bytes(const plan::PlanDef& plan, const plan::VariantDef& variant,
                            bool records_timeline, uint64_t page_bytes) {
  const uint64_t steps = variant.steps()->size();
  const uint64_t tensors = variant.tensors()->size();
  uint64_t cpu_operands = 0;
  for (const plan::StepDef* step : *variant.steps())
    if (lane_of(*step) == Lane::Cpu) cpu_operands += step->operands()->size();
  uint64_t sum = 0;
  const auto add = [&](uint64_t count, uint64_t bytes) {
    sum += block_bytes(count * bytes, page_bytes);
  };
  // StepList
  add(steps, kStepBytes);
  add(steps, kPointerBytes);  // where its Map put a tensor,
  add(steps, sizeof(bool));   // and whether it is still there
  add(cpu_operands, kViewBytes);
  add(cpu_operands, kPointerBytes);
  add(tensors, kPointerBytes);
  add(tensors, sizeof(uint32_t));
  add(plan.inputs()->size() + uint64_t{plan.outputs()->size()}, kPointerBytes);
  if (records_timeline) add(steps, kStepTimeBytes);
  return sum;
}

uint64_t list_bytes(const plan::PlanDef& plan, const plan::VariantDef& variant,
                    const SessionLists& lists, uint64_t page_bytes) {
  const uint64_t steps = variant.steps()->size();
  const uint64_t tensors = variant.tensors()->size();
  uint64_t sum = variant_list_bytes(plan, variant, lists.records_timeline, page_bytes);
  const auto add = [&](uint64_t count, uint64_t bytes) {
    sum += block_bytes(count * bytes, page_bytes);
  };
  add(1, kSessionBytes);
  add(plan.outputs()->size() - visible_output_count(plan), sizeof(int64_t));
  add(lists.worker_count, kWorkerBytes);
  if (!lists.has_gpu) return sum;
  // GpuMemory, GpuPrograms, the executor's events
  add(variant.images()->size(), kPointerBytes);
  add(plan.blobs()->size(), kPointerBytes);
  add(tensors, kPointerBytes);
  add(tensors, kPointerBytes);
  add(tensors, sizeof(uint32_t));
  add(steps, kProgramBytes);
  add(steps, kPointerBytes);
  add(steps, kPointerBytes);
  return sum;
}

}  // namespace codl
