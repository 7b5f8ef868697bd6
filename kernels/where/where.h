// Where computes y = condition ? a : b, element by element with ONNX (numpy) broadcasting.
//
//   condition  bool; any byte but 0 counts as true
//   a, b, y    one dtype, any
//
// All Plain, of rank <= 8; dims of the inputs aligned to y's from the right, each y's or 1, and of
// each dim at least one input has y's. y must not overlap an input. No parts; one task.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void where_ref(const KernelArgs& args);

}  // namespace codl::kernels
