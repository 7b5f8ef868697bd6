#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_reduce(StepDraw& draw) {
  ReduceParams params;
  params.kind = draw.pick({kReduceMean, kReduceSum, kReduceMax});
  const OperandShape x = draw.activation();
  OperandShape y = x;
  const bool is_map = x.rank == 4 && draw.chance(0.6);
  params.axes_mask = is_map ? 12 : 1 << (x.rank - 1 - (draw.chance(0.4) ? 1 : 0));
  for (int32_t i = 0; i < x.rank; ++i)
    if ((params.axes_mask >> i & 1) != 0) y.dims[i] = 1;
  if (y.layout != Layout::Plain) y.row_end = y.dims[2];
  y.bytes = memory_bytes(y);
  draw.set(params);
  draw.add(x);
  draw.add(y);
  return true;
}

}  // namespace

extern const StepSamples kReduceSamples;
const StepSamples kReduceSamples = {OpKind::Reduce, draw_reduce};

}  // namespace codl::kernels
