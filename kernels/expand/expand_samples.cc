#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_expand(StepDraw& draw) {
  const int32_t s = draw.side();
  const int32_t c = draw.channels(s);
  draw.add(draw.plain({1, c, 1, 1}));
  draw.add(draw.plain({1, c, s, s}));
  return true;
}

}  // namespace

extern const StepSamples kExpandSamples;
const StepSamples kExpandSamples = {OpKind::Expand, draw_expand};

}  // namespace codl::kernels
