#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_where(StepDraw& draw) {
  const int32_t rows = draw.log_between(1, 512);
  const int32_t columns = draw.log_between(16, 2048);
  draw.add(draw.plain({rows, columns}, DType::Bool));
  draw.add(draw.plain({rows, columns}));
  draw.add(draw.chance(0.5) ? draw.plain({1}) : draw.plain({rows, columns}));
  draw.add(draw.plain({rows, columns}));
  return true;
}

}  // namespace

extern const StepSamples kWhereSamples;
const StepSamples kWhereSamples = {OpKind::Where, draw_where};

}  // namespace codl::kernels
