#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_reshape(StepDraw& draw) {
  const int32_t s = draw.side();
  const int32_t c = draw.channels(s);
  draw.add(draw.plain({1, c, s, s}));
  draw.add(draw.plain({1, c, s * s}));
  return true;
}

}  // namespace

extern const StepSamples kReshapeSamples;
const StepSamples kReshapeSamples = {OpKind::Reshape, draw_reshape};

}  // namespace codl::kernels
