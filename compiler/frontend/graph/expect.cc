#include "compiler/frontend/graph/expect.h"

#include "compiler/support/error.h"

namespace codl::compiler {

llvm::Error expect_rank(const OnnxNode& node, Importer& importer, size_t i, size_t rank) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, i));
  if (dims.size() == rank) return llvm::Error::success();
  return input_error(node.name, "expected '{0}' of rank {1}, found {2}", node.inputs[i], rank,
                     dims.size());
}

llvm::Error expect_absent(const OnnxNode& node, size_t i, llvm::StringRef what) {
  if (!node.has_input(i)) return llvm::Error::success();
  return unsupported_error(node.name, "expected no {0}, found '{1}'", what, node.inputs[i]);
}

llvm::Error expect_zero(const OnnxNode& node, llvm::StringRef attribute, llvm::StringRef why) {
  CODL_ASSIGN_OR_RETURN(value, node.int_or(attribute, 0));
  if (value == 0) return llvm::Error::success();
  return unsupported_error(node.name, "expected {0} 0, found {1}: {2}", attribute, value, why);
}

llvm::Error expect_no_output(const OnnxNode& node, const Compose& c, size_t output,
                             llvm::StringRef what) {
  if (!c.has_output(output)) return llvm::Error::success();
  return unsupported_error(node.name, "expected no output of {0}, found '{1}'", what,
                           node.outputs[output]);
}

llvm::Expected<int64_t> read_count(const OnnxNode& node, llvm::StringRef attribute) {
  CODL_ASSIGN_OR_RETURN(heads, node.int_or(attribute, 0));
  if (heads >= 1) return heads;
  return input_error(node.name, "expected {0} of 1 or more, found {1}", attribute, heads);
}

llvm::Error expect_multiple(const OnnxNode& node, int64_t width, int64_t heads) {
  if (width >= heads && width % heads == 0) return llvm::Error::success();
  return input_error(node.name, "expected a number of heads that divides {0}, found {1}", width,
                     heads);
}

}  // namespace codl::compiler
