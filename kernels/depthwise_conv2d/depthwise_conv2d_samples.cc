#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_depthwise_conv2d(StepDraw& draw) {
  const int32_t kernel = draw.chance(0.65) ? 3 : draw.chance(0.7) ? 5 : draw.pick({1, 7});
  const int32_t stride = draw.chance(0.3) ? 2 : 1;
  const int32_t in = draw.side();
  const int32_t out = draw.out_side(in, kernel, stride, (kernel - 1) / 2);
  const int32_t c = draw.channels(in);
  DepthwiseConv2dParams params;
  draw.set_window(params, kernel, stride);
  draw.set(params);
  draw.add(draw.map({1, c, in, in}));
  draw.add(draw.packed({c, 1, kernel, kernel}, 1));
  draw.add(draw.packed({c}, 2));
  draw.add(draw.map({1, c, out, out}));
  return true;
}

}  // namespace

extern const StepSamples kDepthwiseConv2dSamples;
const StepSamples kDepthwiseConv2dSamples = {OpKind::DepthwiseConv2d, draw_depthwise_conv2d};

}  // namespace codl::kernels
