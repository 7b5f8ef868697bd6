// The import rules, by group: <group>.cc has the rules and their rows. Rows of an operator
// whose form differs between opsets stand next to each other.
#pragma once

#include <initializer_list>

#include "compiler/frontend/graph/importer.h"
#include "compiler/support/error.h"

namespace codl::compiler {

// Attributes that a rule knows of and that change nothing for codl.
inline void ignore_attributes(const OnnxNode& node,
                              std::initializer_list<llvm::StringRef> attributes) {
  for (llvm::StringRef attribute : attributes) static_cast<void>(node.find(attribute));
}

// Before opset 7 an operator that also trains did so unless its attribute `is_test` said otherwise.
inline llvm::Error expect_inference(const OnnxNode& node) {
  if (node.opset >= 7) return llvm::Error::success();
  CODL_ASSIGN_OR_RETURN(is_test, node.int_or("is_test", 0));
  if (is_test != 0) return llvm::Error::success();
  return unsupported_error(node.name, "expected is_test 1, found 0: a model in training");
}

llvm::ArrayRef<ImportRow> attention_rows();
llvm::ArrayRef<ImportRow> concat_rows();
llvm::ArrayRef<ImportRow> constant_rows();
llvm::ArrayRef<ImportRow> contrib_rows();
llvm::ArrayRef<ImportRow> control_rows();
llvm::ArrayRef<ImportRow> conv_rows();
llvm::ArrayRef<ImportRow> einsum_rows();
llvm::ArrayRef<ImportRow> elementwise_rows();
llvm::ArrayRef<ImportRow> gather_rows();
llvm::ArrayRef<ImportRow> image_rows();
llvm::ArrayRef<ImportRow> loss_rows();
llvm::ArrayRef<ImportRow> matmul_rows();
llvm::ArrayRef<ImportRow> normalize_rows();
llvm::ArrayRef<ImportRow> pad_rows();
llvm::ArrayRef<ImportRow> pool_rows();
llvm::ArrayRef<ImportRow> quantize_rows();
llvm::ArrayRef<ImportRow> recurrent_rows();
llvm::ArrayRef<ImportRow> reduce_rows();
llvm::ArrayRef<ImportRow> resize_rows();
llvm::ArrayRef<ImportRow> sample_rows();
llvm::ArrayRef<ImportRow> select_rows();
llvm::ArrayRef<ImportRow> sequence_rows();
llvm::ArrayRef<ImportRow> shape_rows();
llvm::ArrayRef<ImportRow> signal_rows();
llvm::ArrayRef<ImportRow> slice_rows();

}  // namespace codl::compiler
