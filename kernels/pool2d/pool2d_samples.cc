#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_pool2d(StepDraw& draw) {
  const bool is_global = draw.chance(0.3);  // classifiers end with such maps
  const int32_t in =
      is_global ? draw.pick({4, 5, 7, 7, 7, 8, 8, 10, 12, 13, 14, 16, 20, 28, 32}) : draw.side();
  const int32_t c = draw.channels(in);
  const int32_t kernel = is_global ? in : draw.pick({2, 3, 3, 5});
  const int32_t stride = is_global ? 1 : draw.pick({1, 2, 2});
  if (kernel > in) return false;
  Pool2dParams params;
  params.kind = is_global || draw.chance(0.3) ? kPool2dAverage : kPool2dMax;
  params.kernel_h = params.kernel_w = kernel;
  params.stride_h = params.stride_w = stride;
  params.dilation_h = params.dilation_w = 1;
  const int32_t out = draw.out_side(in, kernel, stride, 0);
  draw.set(params);
  draw.add(draw.map({1, c, in, in}));
  draw.add(draw.map({1, c, out, out}));
  return true;
}

}  // namespace

extern const StepSamples kPool2dSamples;
const StepSamples kPool2dSamples = {OpKind::Pool2d, draw_pool2d};

}  // namespace codl::kernels
