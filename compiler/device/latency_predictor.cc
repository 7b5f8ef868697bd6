#include "compiler/device/latency_predictor.h"

#include <algorithm>

namespace codl::compiler {

double moved_bytes(const Variant& variant, const Step& step) {
  const kernels::OperandShape& shape = variant.tensors[step.operands[0]].shape;
  const auto bytes = static_cast<double>(shape.bytes);
  if (step.part_dim == SplitDim::None || step.part.empty()) return bytes;
  const int32_t extent =
      step.part_dim == SplitDim::Height ? shape.row_end - shape.row_begin : shape.dims[1];
  return bytes * std::min(static_cast<double>(step.part.count()) / std::max(extent, 1), 1.0);
}

double LatencyPredictor::predict_us(const kernels::StepShape& step,
                                    bool other_processor_busy) const {
  const double us = weigh(times(step), profile_.calibration_of(*step.row).shares);
  if (!other_processor_busy) return us;
  return us *
         (1 + transfer().contention_percent[static_cast<size_t>(step.row->processor)].value / 100);
}

double LatencyPredictor::step_us(const Variant& variant, const Step& step) const {
  switch (step.kind) {
    case StepKind::Map:
      return transfer().map_time_us(moved_bytes(variant, step));
    case StepKind::Unmap:
      return 0;  // that of the map counts both
    case StepKind::Upload:
    case StepKind::Download:
      return transfer().copy_time_us(moved_bytes(variant, step), step.kind == StepKind::Upload);
    case StepKind::Kernel:
      break;
  }
  kernels::OperandShape shapes[kernels::kMaxOperands];
  return predict_us(variant.shape_of(step, shapes), false);
}

}  // namespace codl::compiler
