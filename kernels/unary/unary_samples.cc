#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_unary(StepDraw& draw) {
  UnaryParams params;
  // Draws functions that networks have and that are not fused into the step before.
  params.kind = draw.pick_activation([](const kernels::ActivationFacts& activation) {
    return activation.use == ActivationUse::Alone || activation.use == ActivationUse::Both;
  });
  params.beta = 6;
  draw.set(params);
  draw.add(draw.activation());
  draw.add(draw.step().operands[0]);
  return true;
}

}  // namespace

extern const StepSamples kUnarySamples;
const StepSamples kUnarySamples = {OpKind::Unary, draw_unary};

}  // namespace codl::kernels
