#include "compiler/emit/plan_memory.h"

#include <algorithm>
#include <cstring>

#include "kernels/kernel_table.h"
#include "llvm/Support/FormatVariadic.h"
#include "schema/plan_layout.h"
#include "schema/verify_plan.h"

namespace codl::compiler {

namespace {

uint64_t scratch_bytes(const plan::PlanDef& plan, const VariantList& variants) {
  uint64_t bytes_per_worker = 0, bytes_of_all = 0;
  for (const plan::VariantDef* variant : variants) {
    for (const plan::StepDef* step : *variant->steps()) {
      if (queue_of(*step) != Queue::Cpu) continue;
      kernels::OperandShape shapes[kernels::kMaxOperands];
      kernels::StepNeeds needs;
      kernels::check_step(step_shape_of(*variant, *step, shapes), &needs);
      bytes_per_worker = std::max(bytes_per_worker, needs.scratch_bytes);
      bytes_of_all = std::max(bytes_of_all, needs.shared_bytes);
    }
  }
  ScratchSizes sizes;
  return scratch_sizes(bytes_per_worker, bytes_of_all, plan.cpu_threads(), &sizes)
             ? sizes.total_bytes
             : UINT64_MAX;  // no session can be made
}

void add_weights(const plan::PlanDef& plan, const VariantList& variants, bool copies_weights,
                 SessionMemory& memory) {
  std::vector<bool> is_mapped(plan.blobs()->size()), is_copied(plan.blobs()->size());
  const auto is_new = [](std::vector<bool>& list, uint32_t index) {
    const bool is_known = list[index];
    list[index] = true;
    return !is_known;
  };
  for (const plan::VariantDef* variant : variants) {
    for (const plan::TensorDef* tensor : *variant->tensors())
      if (storage_of(*tensor) == Storage::Weights && is_new(is_mapped, tensor->index()))
        memory.weight_bytes += mapped_bytes(*plan.blobs()->Get(tensor->index()));
    if (!copies_weights) continue;
    for (const plan::StepDef* step : *variant->steps()) {
      if (queue_of(*step) == Queue::Cpu) continue;
      for (uint32_t id : *step->operands()) {
        const plan::TensorDef& tensor = *variant->tensors()->Get(id);
        if (storage_of(tensor) == Storage::Weights && is_new(is_copied, tensor.index()))
          memory.weight_copy_bytes += plan.blobs()->Get(tensor.index())->bytes();
      }
    }
  }
}

SessionMemory memory_of_session(const plan::PlanDef& plan, const VariantList& variants,
                                uint64_t structure_bytes, const DeviceProfile& profile) {
  const SessionLists lists = {plan.cpu_threads(), false, variants.count > 1};
  const ArenaSizes arenas = arena_sizes(variants);
  SessionMemory memory;
  memory.host_bytes = block_bytes(arenas.host_bytes, kPageBytes);
  memory.scratch_bytes = block_bytes(scratch_bytes(plan, variants), kPageBytes);
  memory.shared_bytes = arenas.svm_bytes + arenas.buffer_bytes;
  memory.device_bytes = arenas.device_bytes;
  for (const DType dtype : {DType::F32, DType::F16}) {
    std::vector<ImageSize> images(session_image_count(variants, dtype));
    session_images(variants, dtype, images.data());
    for (const ImageSize& image : images)
      memory.image_bytes += image_bytes(image, static_cast<uint64_t>(profile.image_row_texels));
  }
  add_weights(plan, variants, profile.copies_weights, memory);
  memory.table_bytes =
      round_up(structure_bytes, kPageBytes) + list_bytes(plan, variants, lists, kPageBytes);
  return memory;
}

}  // namespace

PlanMemory memory_of_plan(llvm::ArrayRef<uint8_t> file, const DeviceProfile& profile) {
  PlanHead head;
  std::memcpy(&head, file.data(), sizeof(head));
  const plan::PlanDef& plan = *plan::GetPlanDef(file.data() + head.table_offset);
  const uint64_t structure_bytes = head.table_offset + head.table_bytes;
  const std::vector<const plan::VariantDef*> variants(plan.variants()->begin(),
                                                      plan.variants()->end());
  PlanMemory memory;
  for (const plan::VariantDef* const& variant : variants)
    memory.variants.push_back(memory_of_session(plan, {&variant, 1}, structure_bytes, profile));
  memory.all =
      memory_of_session(plan, {variants.data(), variants.size()}, structure_bytes, profile);
  return memory;
}

std::string print(const SessionMemory& memory) {
  std::string text;
  const auto add = [&](const char* name, uint64_t bytes) {
    if (bytes != 0)
      text += llvm::formatv("{0}{1} {2:f2}", text.empty() ? "" : ", ", name,
                            static_cast<double>(bytes) / 1e6)
                  .str();
  };
#define CODL_MEMORY(name, text_of_kind) add(text_of_kind, memory.name##_bytes);
#include "schema/memory.def"
#undef CODL_MEMORY
  return text;
}

uint64_t total_bytes(const SessionMemory& memory) {
  uint64_t sum = 0;
#define CODL_MEMORY(name, text) sum += memory.name##_bytes;
#include "schema/memory.def"
#undef CODL_MEMORY
  return sum;
}

}  // namespace codl::compiler
