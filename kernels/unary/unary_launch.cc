#include "kernels/common/launch/cl_launch.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {

void unary_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<UnaryParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  out_launch->define("ACTIVATION", params.kind);
  if (y.layout == Layout::Image2d) {
    set_texels(step, out_launch);
    add_image_rows(step, x, out_launch);
    add_image_rows(step, y, out_launch);
    add_pixel_texels(x, out_launch);
    add_pixel_texels(y, out_launch);
  } else {
    set_runs(step, cl_runs(step, /*may_join=*/true), out_launch);
    add_runs_operand(step, x, out_launch);
    add_runs_operand(step, y, out_launch);
  }
  out_launch->add_float(params.alpha);
  out_launch->add_float(params.beta);
}

}  // namespace codl::kernels
