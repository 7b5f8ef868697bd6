// Declares the import rules by group: <group>.cc has the rules and their entries. Entries for the
// forms of an operator in different opsets stand next to each other.
#pragma once

#include <initializer_list>

#include "compiler/frontend/graph/importer.h"
#include "compiler/support/error.h"

namespace codl::compiler {

// Accepts attributes that a rule knows and that change nothing for codl.
inline void ignore_attributes(const OnnxNode& node,
                              std::initializer_list<llvm::StringRef> attributes) {
  for (llvm::StringRef attribute : attributes) static_cast<void>(node.find(attribute));
}

// The domain of ONNX Runtime's own operators has one version.
inline constexpr llvm::StringLiteral kContribDomain = "com.microsoft";
inline constexpr int64_t kContribVersion = 1;

// Before opset 7, an operator that could also train did so unless its attribute `is_test` was set.
inline llvm::Error expect_inference(const OnnxNode& node) {
  if (node.opset >= 7) return llvm::Error::success();
  CODL_ASSIGN_OR_RETURN(is_test, node.int_or("is_test", 0));
  if (is_test != 0) return llvm::Error::success();
  return unsupported_error(node.name, "expected is_test 1, found 0: a model in training");
}

llvm::ArrayRef<ImportEntry> attention_entries();
llvm::ArrayRef<ImportEntry> cast_entries();
llvm::ArrayRef<ImportEntry> concat_entries();
llvm::ArrayRef<ImportEntry> constant_entries();
llvm::ArrayRef<ImportEntry> contrib_attention_entries();
llvm::ArrayRef<ImportEntry> contrib_entries();
llvm::ArrayRef<ImportEntry> contrib_quantize_entries();
llvm::ArrayRef<ImportEntry> contrib_query_group_entries();
llvm::ArrayRef<ImportEntry> control_entries();
llvm::ArrayRef<ImportEntry> conv_entries();
llvm::ArrayRef<ImportEntry> einsum_entries();
llvm::ArrayRef<ImportEntry> elementwise_entries();
llvm::ArrayRef<ImportEntry> gather_entries();
llvm::ArrayRef<ImportEntry> image_entries();
llvm::ArrayRef<ImportEntry> integer_product_entries();
llvm::ArrayRef<ImportEntry> loss_entries();
llvm::ArrayRef<ImportEntry> matmul_entries();
llvm::ArrayRef<ImportEntry> normalize_entries();
llvm::ArrayRef<ImportEntry> pad_entries();
llvm::ArrayRef<ImportEntry> pool_entries();
llvm::ArrayRef<ImportEntry> quantize_entries();
llvm::ArrayRef<ImportEntry> random_entries();
llvm::ArrayRef<ImportEntry> recurrent_entries();
llvm::ArrayRef<ImportEntry> reduce_entries();
llvm::ArrayRef<ImportEntry> resize_entries();
llvm::ArrayRef<ImportEntry> sample_entries();
llvm::ArrayRef<ImportEntry> select_entries();
llvm::ArrayRef<ImportEntry> sequence_entries();
llvm::ArrayRef<ImportEntry> shape_entries();
llvm::ArrayRef<ImportEntry> signal_entries();
llvm::ArrayRef<ImportEntry> slice_entries();

}  // namespace codl::compiler
