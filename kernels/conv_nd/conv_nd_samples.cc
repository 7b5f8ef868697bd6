#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_conv_nd(StepDraw& draw) {
  const int32_t kernel = draw.pick({2, 3, 4});
  const int32_t in = draw.log_between(4, 32);
  const int32_t in_c = draw.log_between(4, 64);
  const int32_t out_c = draw.log_between(4, 64);
  ConvNdParams params;
  params.is_transposed = 1;
  params.groups = 1;
  params.stride_0 = params.stride_1 = 2;
  params.dilation_0 = params.dilation_1 = 1;
  const int32_t out = (in - 1) * 2 + kernel;
  draw.set(params);
  draw.add(draw.plain({1, in_c, in, in}));
  draw.add(draw.plain({in_c, out_c, kernel, kernel}));
  draw.add(draw.plain({1, out_c, out, out}));
  return true;
}

}  // namespace

extern const StepSamples kConvNdSamples;
const StepSamples kConvNdSamples = {OpKind::ConvNd, draw_conv_nd};

}  // namespace codl::kernels
