// The plain kernels: loops over strides, any layout but Image2d, any part; the oracle of the tests
// and the interpreter. Not kernels of kernels.def; the runtime does not link them.
#pragma once

#include "kernels/common/contract/contract.h"

namespace codl::kernels {

// Reference kernel of an operator. Weights are taken unpacked (layout Plain, ONNX order: OIHW for
// convolutions, [k, n] for MatMul). Tasks are ignored: one call does the part.
CpuKernel ref_kernel(OpKind op);

}  // namespace codl::kernels
