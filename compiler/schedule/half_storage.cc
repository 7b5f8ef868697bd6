#include "compiler/schedule/half_storage.h"

#include "kernels/common/contract/check_step_shape.h"
#include "schema/step_shape.h"

namespace codl::compiler {
namespace {

bool is_gpu_alone(Storage storage) {
  return storage == Storage::Device || storage == Storage::Image;
}

// Returns for each tensor whether it can be stored as halves.
std::vector<bool> candidates_of(const Variant& variant) {
  std::vector<bool> can_be_half(variant.tensors.size());
  for (TensorId id = 0; id < variant.tensors.size(); ++id) {
    const Tensor& tensor = variant.tensors[id];
    can_be_half[id] = is_gpu_alone(tensor.storage) && tensor.shape.dtype == DType::F32 &&
                      kernels::has_pixels(tensor.shape);
  }
  for (const Step& step : variant.steps)
    for (TensorId id : step.operands)
      if (step.kind != StepKind::Kernel || !step.kernel->takes_halves()) can_be_half[id] = false;
  return can_be_half;
}

}  // namespace

void store_halves(Variant& variant) {
  const std::vector<bool> can_be_half = candidates_of(variant);
  for (TensorId id = 0; id < variant.tensors.size(); ++id) {
    if (!can_be_half[id]) continue;
    kernels::OperandShape& shape = variant.tensors[id].shape;
    shape.dtype = DType::F16;
    if (shape.layout != Layout::Image2d)
      shape.bytes =
          static_cast<uint64_t>(kernels::stored_elements(shape)) * dtype_bytes(DType::F16);
  }
}

GpuTensorCounts count_gpu_tensors(const Variant& variant) {
  GpuTensorCounts counts;
  for (const Tensor& tensor : variant.tensors) {
    if (!is_gpu_alone(tensor.storage)) continue;
    ++counts.all;
    if (tensor.shape.dtype == DType::F16) ++counts.halves;
  }
  return counts;
}

}  // namespace codl::compiler
