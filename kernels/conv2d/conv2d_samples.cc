#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_conv2d(StepDraw& draw) {
  // First layers have three channels. A map of one pixel has the means of a squeezed map. Last
  // layers make colours or masks of a large map with filters as large as first layers have.
  const bool is_first = draw.chance(0.05);
  const bool is_pixel = !is_first && draw.chance(0.06);
  const bool is_last = !is_first && !is_pixel && draw.chance(0.04);
  const int32_t kernel = is_first || is_last            ? draw.pick({3, 3, 7, 9})
                         : is_pixel || draw.chance(0.5) ? 1
                         : draw.chance(0.8)             ? 3
                                                        : draw.pick({5, 7});
  const int32_t stride = !is_pixel && !is_last && draw.chance(is_first ? 0.7 : 0.2) ? 2 : 1;
  const int32_t in = is_first || is_last ? draw.pick({112, 160, 224, 256, 300, 320})
                     : is_pixel          ? 1
                                         : draw.side();
  const int32_t out = draw.out_side(in, kernel, stride, (kernel - 1) / 2);
  const int32_t in_c = is_first   ? 3
                       : is_last  ? 8 * draw.log_between(2, 8)
                       : is_pixel ? 4 * draw.log_between(1, 320)
                                  : draw.channels(in);
  const int32_t out_c = is_first   ? 8 * draw.log_between(2, 8)
                        : is_last  ? draw.between(1, 4)
                        : is_pixel ? 4 * draw.log_between(1, 320)
                                   : draw.output_channels(in_c, out);
  Conv2dParams params;
  draw.set_window(params, kernel, stride);
  params.groups = 1;
  if (draw.chance(0.05)) {
    params.groups = draw.pick({2, 4, 8});
    if (in_c % (4 * params.groups) != 0 || out_c % (4 * params.groups) != 0) return false;
  }
  params.has_residual = draw.chance(0.15) ? 1 : 0;
  draw.set(params);
  draw.add(draw.map({1, in_c, in, in}));
  draw.add(draw.packed({out_c, in_c / params.groups, kernel, kernel}, 1, params.groups));
  draw.add(draw.packed({out_c}, 2));
  if (params.has_residual != 0) draw.add(draw.map({1, out_c, out, out}));
  draw.add(draw.map({1, out_c, out, out}));
  return true;
}

}  // namespace

extern const StepSamples kConv2dSamples;
const StepSamples kConv2dSamples = {OpKind::Conv2d, draw_conv2d};

}  // namespace codl::kernels
