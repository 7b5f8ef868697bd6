#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_resize(StepDraw& draw) {
  const int32_t in = draw.chance(0.5)
                         ? draw.pick({7, 8, 10, 13, 14, 16, 20, 26, 28, 32, 40, 52, 56, 64})
                         : draw.log_between(4, 100);
  const int32_t factor = draw.pick({2, 2, 2, 3, 4});
  const int32_t c = draw.channels(in * factor);
  ResizeParams params;
  params.kind = draw.chance(0.5) ? kResizeNearest : kResizeLinear;
  params.coordinates = params.kind == kResizeNearest ? kResizeAsymmetric : kResizeHalfPixel;
  params.nearest = kResizeFloor;
  params.scale_0 = params.scale_1 = 1;
  params.scale_2 = params.scale_3 = static_cast<float>(factor);
  draw.set(params);
  draw.add(draw.map({1, c, in, in}));
  draw.add(draw.map({1, c, in * factor, in * factor}));
  return true;
}

}  // namespace

extern const StepSamples kResizeSamples;
const StepSamples kResizeSamples = {OpKind::Resize, draw_resize};

}  // namespace codl::kernels
