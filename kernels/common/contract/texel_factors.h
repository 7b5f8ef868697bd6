// Says how products read images of bytes.
#pragma once

#include "schema/step_shape.h"

namespace codl::kernels {

// Returns whether the texels are factors as they are read: the zero point is the lowest byte, as
// after a Relu.
constexpr bool has_texels_of_factors(const StepShape& step) {
  const OperandShape& x = step.operands[0];
  return x.layout == Layout::Image2d && is_quantised(x) && x.zero_point == -128 &&
         step.kernel->packing != PackingKind::None;
}

}  // namespace codl::kernels
