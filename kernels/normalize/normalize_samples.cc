#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_normalize(StepDraw& draw) {
  NormalizeParams params;
  params.epsilon = 1e-5f;
  params.has_scale = params.has_bias = 1;
  // as an instance norm's often is
  if (draw.chance(0.4)) params.activation = draw.activation_kind();
  params.activation_beta = 6;
  const OperandShape x = draw.activation();
  draw.add(x);
  if (x.rank == 4) {  // instance normalisation
    params.axes_mask = 12;
    draw.add(draw.plain({x.dims[1], 1, 1}));
  } else {  // layer normalisation
    params.axes_mask = 1 << (x.rank - 1);
    draw.add(draw.plain({x.dims[x.rank - 1]}));
  }
  draw.add(draw.step().operands[1]);
  draw.add(x);
  draw.set(params);
  return true;
}

}  // namespace

extern const StepSamples kNormalizeSamples;
const StepSamples kNormalizeSamples = {OpKind::Normalize, draw_normalize};

}  // namespace codl::kernels
