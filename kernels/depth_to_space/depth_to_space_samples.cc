#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_depth_to_space(StepDraw& draw) {
  const int32_t block = draw.pick({2, 2, 3, 4});
  // Draws the channels of images, or of maps of a transposed convolution.
  const int32_t c =
      draw.chance(0.75) ? draw.pick({1, 2, 3, 8, 16, 32, 64, 128}) : draw.log_between(1, 128);
  const int32_t in = draw.log_between(4, 112);
  DepthToSpaceParams params;
  params.block_h = params.block_w = block;
  params.is_channel_major = draw.chance(0.5) ? 1 : 0;
  draw.set(params);
  draw.add(draw.map({1, c * block * block, in, in}));
  draw.add(draw.map({1, c, in * block, in * block}));
  return true;
}

}  // namespace

extern const StepSamples kDepthToSpaceSamples;
const StepSamples kDepthToSpaceSamples = {OpKind::DepthToSpace, draw_depth_to_space};

}  // namespace codl::kernels
