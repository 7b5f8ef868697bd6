#include "kernels/common/step_work.h"
#include "kernels/resize/resize.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const auto& params = step.params_as<ResizeParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const double taps = params.kind == kResizeNearest ? 1 : params.kind == kResizeLinear ? 2 : 4;
  const double written = static_cast<double>(part_elements(step));
  double looks = written;
  for (int32_t i = 0; i < y.rank; ++i)
    if (x.dims[i] != y.dims[i]) looks *= taps;
  // Each input element of the part once.
  const double read = traffic_bytes(x) * written / static_cast<double>(stored_elements(y));
  const double element = static_cast<double>(dtype_bytes(y.dtype));
  out_features->add("mmacs", looks * 1e-6);
  out_features->add("mbytes", (read + written * element) * 1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kResizeWork;
const OpWork kResizeWork = {features};

}  // namespace codl::kernels
