#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_slice(StepDraw& draw) {
  SliceParams params;
  params.step_0 = params.step_1 = params.step_2 = params.step_3 = 1;
  const int32_t s = draw.side();
  const int32_t c = draw.channels(s) + 1;
  const int32_t kept = draw.between(1, c - 1);
  params.start_1 = draw.chance(0.5) ? 0 : c - kept;
  params.count_0 = 1;
  params.count_1 = kept;
  params.count_2 = params.count_3 = s;
  draw.set(params);
  draw.add(draw.plain({1, c, s, s}));
  draw.add(draw.plain({1, kept, s, s}));
  return true;
}

}  // namespace

extern const StepSamples kSliceSamples;
const StepSamples kSliceSamples = {OpKind::Slice, draw_slice};

}  // namespace codl::kernels
