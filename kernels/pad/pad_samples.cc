#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_pad(StepDraw& draw) {
  const int32_t s = draw.side();
  const int32_t c = draw.channels(s);
  const int32_t border = draw.between(1, 4);
  if (border >= s) return false;
  PadParams params;
  params.kind = draw.pick({kPadConstant, kPadReflect, kPadEdge});
  params.begin_2 = params.begin_3 = params.end_2 = params.end_3 = border;
  draw.set(params);
  draw.add(draw.map({1, c, s, s}));
  draw.add(draw.map({1, c, s + 2 * border, s + 2 * border}));
  return true;
}

}  // namespace

extern const StepSamples kPadSamples;
const StepSamples kPadSamples = {OpKind::Pad, draw_pad};

}  // namespace codl::kernels
