#include "kernels/common/work/step_draw.h"

namespace codl::kernels {
namespace {

bool draw_concat(StepDraw& draw) {
  const int32_t count = draw.between(2, 4);
  ConcatParams params;
  params.axis = 1;
  draw.set(params);
  const OperandShape first = draw.activation();
  int32_t extent = 0;
  for (int32_t i = 0; i < count; ++i) {
    OperandShape x = first;
    if (x.rank == 4) x.dims[1] = draw.channels(x.dims[2]);
    extent += x.dims[1];
    x.bytes = memory_bytes(x);
    draw.add(x);
  }
  OperandShape y = first;
  y.dims[1] = extent;
  y.bytes = memory_bytes(y);
  draw.add(y);
  return true;
}

}  // namespace

extern const StepSamples kConcatSamples;
const StepSamples kConcatSamples = {OpKind::Concat, draw_concat};

}  // namespace codl::kernels
