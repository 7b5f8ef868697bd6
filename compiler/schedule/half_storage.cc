#include "compiler/schedule/half_storage.h"

#include "compiler/partition/kernel_choice.h"
#include "kernels/common/check_step_shape.h"

namespace codl::compiler {
namespace {

bool is_gpu_alone(Storage storage) {
  return storage == Storage::Device || storage == Storage::Image;
}

// By tensor: whether it can be stored as halves.
std::vector<bool> candidates_of(const Schedule& schedule) {
  std::vector<bool> can_be_half(schedule.tensors.size());
  for (TensorId id = 0; id < schedule.tensors.size(); ++id) {
    const Tensor& tensor = schedule.tensors[id];
    can_be_half[id] = is_gpu_alone(tensor.storage) && tensor.shape.dtype == DType::F32 &&
                      kernels::has_pixels(tensor.shape);
  }
  for (const Step& step : schedule.steps)
    for (TensorId id : step.operands)
      if (step.kind != StepKind::Kernel ||
          !step.kernel->takes_half(schedule.tensors[id].shape.layout))
        can_be_half[id] = false;
  return can_be_half;
}

}  // namespace

void store_halves(Schedule& schedule, const DeviceProfile& profile) {
  const std::vector<bool> can_be_half = candidates_of(schedule);
  for (TensorId id = 0; id < schedule.tensors.size(); ++id) {
    if (!can_be_half[id]) continue;
    kernels::OperandShape& shape = schedule.tensors[id].shape;
    shape.dtype = DType::F16;
    if (shape.layout != Layout::Image2d)
      shape.bytes =
          static_cast<uint64_t>(kernels::stored_elements(shape)) * dtype_bytes(DType::F16);
  }
  const LatencyPredictor predictor(profile);
  for (Step& step : schedule.steps) {
    const auto is_half = [&](TensorId id) { return can_be_half[id]; };
    if (step.kind != StepKind::Kernel || !llvm::any_of(step.operands, is_half)) continue;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    const bool is_split = !step.owned.empty();  // the other lane works meanwhile
    step.predicted_us = predictor.predict_us(step.shape(schedule.tensors, shapes), is_split) +
                        launch_us(*step.kernel, profile);
  }
}

GpuTensorCounts count_gpu_tensors(const Schedule& schedule) {
  GpuTensorCounts counts;
  for (const Tensor& tensor : schedule.tensors) {
    if (!is_gpu_alone(tensor.storage)) continue;
    ++counts.all;
    if (tensor.shape.dtype == DType::F16) ++counts.halves;
  }
  return counts;
}

}  // namespace codl::compiler
