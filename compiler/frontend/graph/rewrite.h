// Rewrite writes an ONNX operator as a few others of ONNX: FusedConv is a Conv, an Add and a Relu.
//
//   Rewrite r(node, importer);
//   const std::string sum = r.op("Add", {node.inputs[0], node.inputs[1]});
//   return r.bind("Relu", {sum});
//
// The nodes' own rules of opset kNewestOpset import them. So the operator can do whatever these
// rules can do (forms, broadcasting, values without elements, extents). The first error sticks, as
// with Compose.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/graph/compose.h"
#include "compiler/frontend/graph/first_error.h"
#include "compiler/frontend/graph/importer.h"

namespace codl::compiler {

class Rewrite {
 public:
  using Names = std::vector<std::string>;
  using Attributes = std::vector<OnnxAttribute>;

  Rewrite(const OnnxNode& node, Importer& importer) : node_(node), importer_(importer) {}

  // Adds an operator. Returns its first output, or `count` of them. Operands are names; an empty
  // one is absent.
  std::string op(llvm::StringRef op_type, Names inputs, Attributes attributes = {});
  Names ops(llvm::StringRef op_type, Names inputs, Attributes attributes, size_t count);
  // The same, but the first output is output `output` of the node.
  llvm::Error bind(llvm::StringRef op_type, Names inputs, Attributes attributes = {},
                   size_t output = 0);

  std::string ints(llvm::ArrayRef<int64_t> elements);  // a constant vector
  std::string scalar(float element);                   // its rank is 0

  // Returns the name of operand `i` of the node; empty if it is absent.
  std::string input(size_t i) const { return node_.has_input(i) ? node_.inputs[i] : ""; }

  void fail(llvm::Error error) { error_.keep(std::move(error)); }  // ignores success
  llvm::Error take_error() { return error_.take(node_.name); }

  static OnnxAttribute attribute(llvm::StringRef name, int64_t value);
  static OnnxAttribute attribute(llvm::StringRef name, float value);
  static OnnxAttribute attribute(llvm::StringRef name, llvm::StringRef value);
  static OnnxAttribute attribute(llvm::StringRef name, std::vector<int64_t> values);
  // Returns those attributes of the node that an operator of ONNX has under the same name.
  static Attributes taken(const OnnxNode& node, std::initializer_list<llvm::StringRef> names);

 private:
  void import(llvm::StringRef op_type, Names inputs, Attributes attributes, Names outputs);

  const OnnxNode& node_;
  Importer& importer_;
  FirstError error_;
};

// Move the channels of a map of `rank` dims between the end and axis 1.
std::string with_channels_first(Rewrite& r, const std::string& x, size_t rank);
std::string with_channels_last(Rewrite& r, const std::string& x, size_t rank);

// Binds output `output` of the node to the tensors joined along a new axis.
llvm::Error bind_stack(const OnnxNode& node, Importer& importer, Rewrite::Names tensors,
                       int64_t axis, size_t output = 0);

}  // namespace codl::compiler
