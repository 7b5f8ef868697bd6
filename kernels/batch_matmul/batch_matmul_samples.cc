#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_batch_matmul(StepDraw& draw) {
  // As in an attention: queries with keys, or their products with values.
  const int32_t batch =
      draw.chance(0.8) ? draw.pick({1, 2, 3, 4, 6, 8, 12, 16}) : draw.log_between(1, 24);
  const int32_t seen = draw.tokens();
  const int32_t head =
      draw.chance(0.7) ? draw.pick({32, 48, 64, 80, 96, 128}) : draw.log_between(8, 160);
  const bool is_first = draw.chance(0.5);
  const int32_t m = draw.chance(0.7) ? seen : draw.tokens();
  const int32_t k = is_first ? head : seen;
  const int32_t n = is_first ? seen : head;
  BatchMatMulParams params;
  params.is_b_transposed = draw.chance(0.4) ? 1 : 0;
  draw.set(params);
  draw.add(draw.plain({batch, m, k}));
  draw.add(params.is_b_transposed != 0 ? draw.plain({batch, n, k}) : draw.plain({batch, k, n}));
  draw.add(draw.plain({batch, m, n}));
  return true;
}

}  // namespace

extern const StepSamples kBatchMatMulSamples;
const StepSamples kBatchMatMulSamples = {OpKind::BatchMatMul, draw_batch_matmul};

}  // namespace codl::kernels
