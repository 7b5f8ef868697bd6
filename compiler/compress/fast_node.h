// Nodes evaluated as the plain kernels do it, the long ones many times as fast.
#pragma once

#include "compiler/interp/interpreter.h"

namespace codl::compiler {

// Bytes of a value of dtype F32.
inline const float* floats(llvm::ArrayRef<uint8_t> bytes) {
  return reinterpret_cast<const float*>(bytes.data());
}

// As evaluate_node(). Convolutions without groups and MatMuls as products of matrices in f32: their
// sums are rounded in another order.
llvm::Expected<LargeBytes> evaluate_fast(const ir::NodeView& node,
                                         llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs);

// The same without the node's activation, and that by itself: what stands between the two is a sum
// of products. For a Conv2d, DepthwiseConv2d or MatMul.
llvm::Expected<LargeBytes> evaluate_sum(const ir::NodeView& node,
                                        llvm::ArrayRef<llvm::ArrayRef<uint8_t>> inputs);
void apply_activation(const ir::NodeView& node, LargeBytes& sum);

}  // namespace codl::compiler
