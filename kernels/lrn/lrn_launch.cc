#include "kernels/common/launch/cl_launch.h"
#include "kernels/lrn/lrn.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_LrnBuffer(A, G, N)                                           \
  G(Chunks, chunks) A(int, channels) A(int, below) A(int, above)               \
  A(float, scale) A(float, beta) A(float, bias) G(NhwcInput, x) G(NhwcOutput, y)
// clang-format on
CODL_CL_ARGS(LrnBuffer);

}  // namespace

void lrn_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<LrnParams>();
  const OperandShape& y = step.output();
  const LrnNeighbours neighbours = lrn_neighbours(params, y.dims[1]);
  out_launch->define("HAS_USUAL_BETA", params.beta == kLrnUsualBeta ? 1 : 0);
  out_launch->add(LrnBufferArgs{.chunks = set_chunks(step, out_launch),
                                .channels = y.dims[1],
                                .below = neighbours.below,
                                .above = neighbours.above,
                                .scale = lrn_scale(params),
                                .beta = params.beta,
                                .bias = params.bias,
                                .x = nhwc_input(step.operands[0]),
                                .y = nhwc_output(step)});
}

}  // namespace codl::kernels
