#include "compiler/frontend/graph/rewrite.h"

#include <algorithm>
#include <numeric>

#include "compiler/frontend/graph/shape_operands.h"

namespace codl::compiler {
namespace {

// Returns the entry with ONNX's meaning as of kNewestOpset.
const ImportEntry& newest_entry(llvm::StringRef op_type) {
  const auto entries = import_table();
  const auto entry = llvm::find_if(entries, [&](const ImportEntry& candidate) {
    return candidate.domain.empty() && candidate.op_type == op_type &&
           candidate.newest_opset == kNewestOpset;
  });
  assert(entry != entries.end() && "a rewrite names operators that are imported");
  return *entry;
}

}  // namespace

void Rewrite::import(llvm::StringRef op_type, Names inputs, Attributes attributes, Names outputs) {
  if (error_) return;
  OnnxNode written;
  written.name = node_.name;
  written.op_type = op_type.str();
  written.opset = kNewestOpset;
  written.inputs = std::move(inputs);
  written.outputs = std::move(outputs);
  written.attributes = std::move(attributes);
  fail(newest_entry(op_type).rule(written, importer_));
}

Rewrite::Names Rewrite::ops(llvm::StringRef op_type, Names inputs, Attributes attributes,
                            size_t count) {
  Names outputs;
  for (size_t i = 0; i < count; ++i) outputs.push_back(importer_.define_name(node_, op_type));
  import(op_type, std::move(inputs), std::move(attributes), outputs);
  return outputs;
}

std::string Rewrite::op(llvm::StringRef op_type, Names inputs, Attributes attributes) {
  return ops(op_type, std::move(inputs), std::move(attributes), 1)[0];
}

llvm::Error Rewrite::bind(llvm::StringRef op_type, Names inputs, Attributes attributes,
                          size_t output) {
  import(op_type, std::move(inputs), std::move(attributes), {node_.outputs[output]});
  return take_error();
}

std::string Rewrite::ints(llvm::ArrayRef<int64_t> elements) {
  return importer_.define_constant(node_, "ints", int_tensor(elements));
}

std::string Rewrite::scalar(float element) {
  OnnxTensor tensor;
  tensor.bytes = bytes_of(llvm::ArrayRef<float>(element));
  return importer_.define_constant(node_, "scalar", std::move(tensor));
}

OnnxAttribute Rewrite::attribute(llvm::StringRef name, int64_t value) {
  OnnxAttribute attribute;
  attribute.name = name.str();
  attribute.type = OnnxAttribute::Type::Int;
  attribute.int_value = value;
  return attribute;
}

OnnxAttribute Rewrite::attribute(llvm::StringRef name, float value) {
  OnnxAttribute attribute;
  attribute.name = name.str();
  attribute.type = OnnxAttribute::Type::Float;
  attribute.float_value = value;
  return attribute;
}

OnnxAttribute Rewrite::attribute(llvm::StringRef name, llvm::StringRef value) {
  OnnxAttribute attribute;
  attribute.name = name.str();
  attribute.type = OnnxAttribute::Type::String;
  attribute.string_value = value.str();
  return attribute;
}

OnnxAttribute Rewrite::attribute(llvm::StringRef name, std::vector<int64_t> values) {
  OnnxAttribute attribute;
  attribute.name = name.str();
  attribute.type = OnnxAttribute::Type::Ints;
  attribute.ints = std::move(values);
  return attribute;
}

Rewrite::Attributes Rewrite::taken(const OnnxNode& node,
                                   std::initializer_list<llvm::StringRef> names) {
  Attributes attributes;
  for (llvm::StringRef name : names)
    if (const OnnxAttribute* found = node.find(name)) attributes.push_back(*found);
  return attributes;
}

std::string with_channels_first(Rewrite& r, const std::string& x, size_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return r.op("Transpose", {x}, {Rewrite::attribute("perm", std::move(perm))});
}

std::string with_channels_last(Rewrite& r, const std::string& x, size_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return r.op("Transpose", {x}, {Rewrite::attribute("perm", std::move(perm))});
}

llvm::Error bind_stack(const OnnxNode& node, Importer& importer, Rewrite::Names tensors,
                       int64_t axis, size_t output) {
  Rewrite r(node, importer);
  const std::string axes = r.ints({axis});
  for (std::string& tensor : tensors) tensor = r.op("Unsqueeze", {tensor, axes});
  return r.bind("Concat", std::move(tensors), {Rewrite::attribute("axis", axis)}, output);
}

}  // namespace codl::compiler
