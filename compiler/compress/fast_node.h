// Nodes evaluated as the plain kernels do it, the long ones many times as fast.
#pragma once

#include "compiler/interp/interpreter.h"

namespace codl::compiler {

// As evaluate_node(). Convolutions without groups and MatMuls as products of matrices in f32: their
// sums are rounded in another order.
llvm::Expected<LargeBytes> evaluate_fast(const ir::NodeView& node,
                                         llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs);

}  // namespace codl::compiler
