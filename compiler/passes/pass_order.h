// Says which passes run on every network, and in which order.
#pragma once

#include "compiler/passes/pass.h"
#include "llvm/ADT/ArrayRef.h"

namespace codl::compiler {

// Returns all passes: first those of fusion_passes(), then those of layout_passes().
llvm::ArrayRef<Pass> frontend_passes();

// They make a network of fewer, larger nodes, which ONNX can still say.
llvm::ArrayRef<Pass> fusion_passes();
// They bring it into the form that kernels compute.
llvm::ArrayRef<Pass> layout_passes();

}  // namespace codl::compiler
