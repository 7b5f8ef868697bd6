#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_softmax(StepDraw& draw) {
  const OperandShape x =
      draw.chance(0.6)
          ? draw.plain({draw.pick({1, 2, 3, 4, 6, 8, 12}), draw.tokens(), draw.tokens()})
          : draw.activation();
  SoftmaxParams params;
  params.axis = x.layout == Layout::Plain ? x.rank - 1 : 1;
  draw.set(params);
  draw.add(x);
  draw.add(x);
  return true;
}

}  // namespace

extern const StepSamples kSoftmaxSamples;
const StepSamples kSoftmaxSamples = {OpKind::Softmax, draw_softmax};

}  // namespace codl::kernels
