// The plain kernels loop over strides and take any layout but Image2d and any part. The tests
// compare with them, and the interpreter runs them. They are not in kernels.def; the runtime does
// not link them.
#pragma once

#include "kernels/common/contract/contract.h"

namespace codl::kernels {

// Returns the reference kernel of an operator. Weights are taken unpacked (layout Plain, ONNX
// order: OIHW for convolutions, [k, n] for MatMul). Tasks are ignored: one call does the part.
CpuKernel ref_kernel(OpKind op);

}  // namespace codl::kernels
