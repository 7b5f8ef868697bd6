#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_transpose(StepDraw& draw) {
  TransposeParams params;
  OperandShape x;
  if (draw.chance(0.5)) {  // attention's heads look so
    x = draw.plain({1, draw.tokens(), draw.log_between(1, 16),
                    draw.chance(0.7) ? draw.pick({32, 64, 96}) : draw.tokens()});
    params.perm_1 = 2;
    params.perm_2 = draw.chance(0.5) ? 1 : 3;
    params.perm_3 = params.perm_2 == 1 ? 3 : 1;
  } else if (draw.chance(0.5)) {
    x = draw.square_map(Layout::Plain);
    params.perm_1 = 2;
    params.perm_2 = 3;
    params.perm_3 = 1;
  } else {
    x = draw.plain({1, draw.tokens(), draw.width()});
    params.perm_1 = 2;
    params.perm_2 = 1;
  }
  const int32_t perm[] = {0, params.perm_1, params.perm_2, params.perm_3};
  draw.set(params);
  draw.add(x);
  OperandShape y = x;
  for (int32_t i = 0; i < y.rank; ++i) y.dims[i] = x.dims[perm[i]];
  draw.add(y);
  return true;
}

}  // namespace

extern const StepSamples kTransposeSamples;
const StepSamples kTransposeSamples = {OpKind::Transpose, draw_transpose};

}  // namespace codl::kernels
