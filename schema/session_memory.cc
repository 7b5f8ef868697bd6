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

bool has_gpu_step(const plan::VariantDef& variant) {
  for (const plan::StepDef* step : *variant.steps())
    if (queue_of(*step) != Queue::Cpu) return true;
  return false;
}

void raise(uint64_t* bytes, uint64_t to) {
  if (*bytes < to) *bytes = to;
}

}  // namespace

ArenaSizes arena_sizes(const VariantList& variants) {
  ArenaSizes sizes;
  for (const plan::VariantDef* variant : variants) {
    const bool is_svm = sharing_of(*variant) == Sharing::FineSvm;
    raise(&sizes.host_bytes, variant->host_bytes());
    raise(is_svm ? &sizes.svm_bytes : &sizes.buffer_bytes, variant->shared_bytes());
    raise(&sizes.device_bytes, variant->device_bytes());
  }
  return sizes;
}

uint32_t session_image_count(const VariantList& variants, DType dtype) {
  uint32_t most = 0;
  for (const plan::VariantDef* variant : variants) {
    uint32_t count = 0;
    for (const plan::ImageDef* image : *variant->images())
      count += static_cast<DType>(image->dtype()) == dtype ? 1 : 0;
    if (most < count) most = count;
  }
  return most;
}

void session_images(const VariantList& variants, DType dtype, ImageSize* out_images) {
  const uint32_t count = session_image_count(variants, dtype);
  for (uint32_t i = 0; i < count; ++i) out_images[i] = {0, 0, dtype};
  for (const plan::VariantDef* variant : variants) {
    ImageSize* size = out_images;
    for (const plan::ImageDef* image : *variant->images()) {
      if (static_cast<DType>(image->dtype()) != dtype) continue;
      if (size->width < image->width()) size->width = image->width();
      if (size->height < image->height()) size->height = image->height();
      ++size;
    }
  }
}

uint64_t list_bytes(const plan::PlanDef& plan, const VariantList& variants,
                    const SessionLists& lists, uint64_t page_bytes) {
  uint64_t sum = 0;
  const auto add = [&](uint64_t count, uint64_t bytes) {
    sum += block_bytes(count * bytes, page_bytes);
  };
  uint64_t gpu_steps = 0, gpu_tensors = 0;
  for (const plan::VariantDef* variant : variants) {
    const uint64_t steps = variant->steps()->size();
    const uint64_t tensors = variant->tensors()->size();
    uint64_t cpu_operands = 0;
    for (const plan::StepDef* step : *variant->steps())
      if (queue_of(*step) == Queue::Cpu) cpu_operands += step->operands()->size();
    add(1, kPreparedBytes);
    // StepList
    add(steps, kStepBytes);
    add(steps, kPointerBytes);  // where its Map put a tensor,
    add(steps, sizeof(bool));   // and whether it is still there
    add(cpu_operands, kViewBytes);
    add(cpu_operands, kPointerBytes);
    add(tensors, kPointerBytes);
    add(tensors, sizeof(uint32_t));
    add(plan.inputs()->size() + uint64_t{plan.outputs()->size()}, kPointerBytes);
    if (lists.records_timeline) add(steps, kStepTimeBytes);
    if (!has_gpu_step(*variant)) continue;
    add(steps, kPointerBytes);  // the executor's events
    gpu_steps += steps;
    gpu_tensors += tensors;
  }
  add(1, kSessionBytes);
  add(variants.count, kPointerBytes);
  add(variants.count, kPointerBytes);
  add(plan.outputs()->size() - visible_output_count(plan), sizeof(int64_t));
  add(lists.worker_count, kWorkerBytes);
  if (lists.is_adaptive) add(variants.count, kForecastBytes);
  if (gpu_steps == 0) return sum;
  // GpuMemory, GpuPrograms
  for (const DType dtype : {DType::F32, DType::F16})
    add(session_image_count(variants, dtype), kPointerBytes);
  add(plan.blobs()->size(), kPointerBytes);
  add(gpu_tensors, kPointerBytes);
  add(gpu_tensors, kPointerBytes);
  add(gpu_tensors, sizeof(uint64_t));
  add(gpu_steps, kProgramBytes);
  add(gpu_steps, kPointerBytes);
  return sum;
}

}  // namespace codl
