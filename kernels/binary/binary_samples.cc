#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_binary(StepDraw& draw) {
  BinaryParams params;
  params.kind = draw.pick({kBinaryAdd, kBinaryAdd, kBinaryMul, kBinarySub, kBinaryDiv});
  draw.set(params);
  const OperandShape y = draw.activation();
  draw.add(y);
  const double other = draw.uniform();
  if (y.layout == Layout::Image2d || other < 0.5)
    draw.add(y);
  else if (other < 0.65)
    draw.add(draw.plain({1}));
  else if (y.rank == 4)
    draw.add(draw.operand(y.layout, {1, y.dims[1], 1, 1}));
  else
    draw.add(draw.plain({y.dims[y.rank - 1]}));
  draw.add(y);
  return true;
}

}  // namespace

extern const StepSamples kBinarySamples;
const StepSamples kBinarySamples = {OpKind::Binary, draw_binary};

}  // namespace codl::kernels
