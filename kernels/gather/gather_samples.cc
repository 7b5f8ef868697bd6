#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_gather(StepDraw& draw) {
  const int32_t rows = draw.log_between(16, 8192);
  const int32_t width = draw.log_between(16, 1024);
  const int32_t count = draw.log_between(1, 512);
  GatherParams params;
  draw.set(params);
  draw.add(draw.plain({rows, width}));
  draw.add(draw.plain({count}, DType::I64));
  draw.add(draw.plain({count, width}));
  return true;
}

}  // namespace

extern const StepSamples kGatherSamples;
const StepSamples kGatherSamples = {OpKind::Gather, draw_gather};

}  // namespace codl::kernels
