#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_convert(StepDraw& draw) {
  const int32_t s = draw.side();
  const int32_t c = draw.channels(s);
  const bool from_image = draw.kernel_info().processor == Processor::Gpu && draw.chance(0.5);
  const bool to_image = draw.kernel_info().layout == Layout::Image2d;
  const Layout other =
      draw.kernel_info().is_reference() || draw.chance(0.6) ? Layout::Plain : Layout::Nhwc;
  const Layout x = from_image ? Layout::Image2d : other;
  const Layout nhwc = draw.kernel_info().is_reference() ? Layout::Plain : Layout::Nhwc;
  // Network inputs have few channels.
  const int32_t channel_count = s > 100 && draw.chance(0.5) ? 3 : c;
  if (!from_image && !to_image && draw.chance(0.5)) {
    draw.add(draw.operand(nhwc, {1, channel_count, s, s}));
    draw.add(draw.operand(other, {1, channel_count, s, s}));
    return true;
  }
  draw.add(draw.operand(x, {1, channel_count, s, s}));
  draw.add(draw.operand(to_image     ? Layout::Image2d
                        : from_image ? other
                                     : nhwc,
                        {1, channel_count, s, s}));
  return true;
}

}  // namespace

extern const StepSamples kConvertSamples;
const StepSamples kConvertSamples = {OpKind::Convert, draw_convert};

}  // namespace codl::kernels
