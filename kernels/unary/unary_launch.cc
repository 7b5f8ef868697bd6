#include "kernels/common/launch/cl_launch.h"
#include "kernels/unary/unary.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_UnaryBuffer(A, G, N) \
  G(Runs, runs) G(RunOperand, x) G(RunOperand, y) G(Activation, activation)
#define CODL_ARGS_UnaryImage(A, G, N) \
  G(Texels, texels) G(PartImage, x) G(PartImage, y) G(Activation, activation)
// clang-format on
CODL_CL_ARGS(UnaryBuffer);
CODL_CL_ARGS(UnaryImage);

}  // namespace

void unary_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<UnaryParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  out_launch->define("ACTIVATION", params.kind);
  const ActivationArgs activation = {.alpha = params.alpha, .beta = params.beta};
  if (y.layout == Layout::Image2d)
    out_launch->add(UnaryImageArgs{.texels = set_texels(step, out_launch),
                                   .x = part_image(step, x),
                                   .y = part_image(step, y),
                                   .activation = activation});
  else
    out_launch->add(
        UnaryBufferArgs{.runs = set_runs(step, cl_runs(step, /*may_join=*/true), out_launch),
                        .x = run_operand(step, x),
                        .y = run_operand(step, y),
                        .activation = activation});
}

}  // namespace codl::kernels
