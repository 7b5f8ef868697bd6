// The import rules, by group: import_<group>.cc has the rules and their rows. Rows of an operator
// whose form differs between opsets stand next to each other.
#pragma once

#include "compiler/frontend/importer.h"

namespace codl::compiler {

// Newest opset whose operators the rules know; opsets in the rows are those of ONNX's operator
// changelog in which the rule's reading of attributes and inputs holds.
inline constexpr int64_t kNewestOpset = 28;

llvm::ArrayRef<ImportRow> constant_rows();
llvm::ArrayRef<ImportRow> conv_rows();
llvm::ArrayRef<ImportRow> elementwise_rows();
llvm::ArrayRef<ImportRow> matmul_rows();
llvm::ArrayRef<ImportRow> pool_rows();
llvm::ArrayRef<ImportRow> shape_rows();

}  // namespace codl::compiler
