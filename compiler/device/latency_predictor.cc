#include "compiler/device/latency_predictor.h"

#include <algorithm>
#include <cmath>

namespace codl::compiler {

double moved_bytes(const kernels::OperandShape& shape, SplitDim dim, Range part) {
  const auto bytes = static_cast<double>(shape.bytes);
  if (dim == SplitDim::None || part.empty()) return bytes;
  const int32_t extent = dim == SplitDim::Height ? shape.row_end - shape.row_begin : shape.dims[1];
  return bytes * std::min(static_cast<double>(part.count()) / std::max(extent, 1), 1.0);
}

double moved_bytes(const Variant& variant, const Step& step) {
  return moved_bytes(variant.tensors[step.operands[0]].shape, step.part_dim, step.part);
}

StepDemand LatencyPredictor::demand(const kernels::StepShape& step) const {
  const TermTimes times = this->times(step);
  const double us = profiled_us(step, times);
  if (profile_.learned.empty() || step.is_in_place) return {us, times.memory_bytes};
  const LearnedSteps::Correction correction = learned(step, us);
  // Rounds to whole nanoseconds, as weigh() does. Other work slowed the measured step down by as
  // much as the profile predicts of that many bytes in that time, so its demand for memory stays
  // the same.
  return {std::round(us * correction.factor * 1e3) / 1e3, times.memory_bytes * correction.factor,
          correction.open};
}

LearnedSteps::Correction LatencyPredictor::learned(const kernels::StepShape& step,
                                                   double us) const {
  const bool is_cpu = step.kernel->processor == Processor::Cpu;
  return profile_.learned.correction(step, is_cpu ? us / profile_.cpu_slow_down : us);
}

LearnedSteps::Correction LatencyPredictor::correction(const kernels::StepShape& step) const {
  if (step.is_in_place) return {};
  return learned(step, profiled_us(step, times(step)));
}

double LatencyPredictor::predict_us(const kernels::StepShape& step,
                                    bool other_processor_busy) const {
  const double us = demand(step).us;
  if (!other_processor_busy) return us;
  return us *
         (1 +
          transfer().contention_percent[static_cast<size_t>(step.kernel->processor)].value / 100);
}

double LatencyPredictor::transfer_us(StepKind kind, double bytes) const {
  switch (kind) {
    case StepKind::Map:
      return transfer().map_time_us(bytes);
    case StepKind::Upload:
    case StepKind::Download:
      return transfer().copy_time_us(bytes, kind == StepKind::Upload);
    case StepKind::Unmap:  // the Map's time counts both
    case StepKind::Kernel:
      break;
  }
  return 0;
}

double LatencyPredictor::launch_us(const Variant& variant, const Step& step) const {
  if (step.kernel == nullptr) return 0;
  kernels::OperandShape shapes[kernels::kMaxOperands];
  return launch_us(variant.shape_of(step, shapes));
}

StepDemand LatencyPredictor::demand(const Variant& variant, const Step& step) const {
  if (step.kind != StepKind::Kernel) return {transfer_us(step.kind, moved_bytes(variant, step))};
  kernels::OperandShape shapes[kernels::kMaxOperands];
  return demand(variant.shape_of(step, shapes));
}

}  // namespace codl::compiler
