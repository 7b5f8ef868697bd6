#include "kernels/common/step_work.h"
#include "kernels/pool2d/pool2d.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const auto& params = step.params_as<Pool2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const double written = static_cast<double>(part_elements(step));
  const Range rows =
      pool2d_input_range(rows_of_part(step.part_dim, step.part, y), params.stride_h,
                         params.dilation_h, params.kernel_h, params.pad_top, x.dims[2]);
  const double channel_share =
      static_cast<double>(channels_of_part(step.part_dim, step.part, y).count()) / y.dims[1];
  const double read = static_cast<double>(x.dims[0]) * rows.count() * x.dims[3] *
                      padded_channels(x) * channel_share;
  out_features->add("mops", written * params.kernel_h * params.kernel_w * 1e-6);
  out_features->add("mbytes", (read * static_cast<double>(dtype_bytes(x.dtype)) +
                               written * static_cast<double>(dtype_bytes(y.dtype))) *
                                  1e-6);
  out_features->add("steps", 1.0);
}

}  // namespace

extern const OpWork kPool2dWork;
const OpWork kPool2dWork = {features};

}  // namespace codl::kernels
