#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_matmul(StepDraw& draw) {
  const int32_t m = draw.chance(0.35)  ? 1
                    : draw.chance(0.1) ? draw.log_between(2, 16)
                                       : draw.tokens();
  const int32_t k = draw.width();
  const int32_t n = draw.chance(0.1) ? draw.pick({10, 1000, 1001, 2048, 4096}) : draw.width();
  MatMulParams params;
  params.activation = draw.activation_kind();
  params.activation_beta = 6;
  draw.set(params);
  draw.add(draw.plain({m, k}));
  draw.add(draw.packed({k, n}, 1));
  draw.add(draw.packed({n}, 2));
  draw.add(draw.plain({m, n}));
  return true;
}

}  // namespace

extern const StepSamples kMatMulSamples;
const StepSamples kMatMulSamples = {OpKind::MatMul, draw_matmul};

}  // namespace codl::kernels
