// Implements the part of Importer that knows which values have the same dims, and which dims the
// model declares.
#include <algorithm>

#include "compiler/frontend/graph/importer.h"

namespace codl::compiler {
namespace {

// The output of these ONNX operators has the dims of their first operand, whatever else they read.
constexpr llvm::StringRef kKeepsDims[] = {
    "Abs",   "Cast", "CastLike", "Ceil", "Clip",       "Cos",        "Erf",  "Exp",
    "Floor", "Gelu", "Identity", "Log",  "LogSoftmax", "Neg",        "Not",  "Relu",
    "Round", "Sign", "Sigmoid",  "Sin",  "Softmax",    "Reciprocal", "Sqrt", "Tanh",
};

// The operands of these broadcast.
constexpr llvm::StringRef kBroadcasts[] = {
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min",
    "Mod", "Mul", "Or",  "Pow",   "Sub",     "Where",
};

// Stands for the dims of every scalar; no value has an empty name.
constexpr llvm::StringRef kScalarDims = "";

bool is_scalar_constant(const OnnxNode& node) {
  if (node.op_type != "Constant" || node.attributes.size() != 1) return false;
  const OnnxAttribute& value = node.attributes[0];
  using Type = OnnxAttribute::Type;
  return value.type == Type::Int || value.type == Type::Float ||
         (value.type == Type::Tensor && value.tensor.dims.empty());
}

}  // namespace

std::string Importer::dims_root(llvm::StringRef name) const {
  const auto related = dims_roots_.find(name);
  if (related != dims_roots_.end()) return related->second;
  const auto bound = bindings_.find(name);
  if (bound == bindings_.end()) return name.str();
  const Binding& binding = bound->second;
  bool is_scalar = false;
  if (binding.constant != nullptr)
    is_scalar = binding.constant->tensor.dims.empty();
  else if (binding.value != ir::kNoId)
    is_scalar = type(binding.value).dims.empty();
  return is_scalar ? kScalarDims.str() : name.str();
}

// If all operands are scalars, one value, or results of that value, the dims are that value's.
std::string Importer::broadcast_root(const OnnxNode& node) const {
  std::string common = kScalarDims.str();
  for (const std::string& input : node.inputs) {
    std::string root = dims_root(input);
    if (root == kScalarDims || root == common) continue;
    if (common != kScalarDims) return node.outputs[0];
    common = std::move(root);
  }
  return common;
}

void Importer::relate_dims(llvm::ArrayRef<const OnnxNode*> nodes) {
  for (const OnnxNode* node : nodes) {
    if (!node->domain.empty() || node->outputs.empty() || node->outputs[0].empty()) continue;
    const std::string& output = node->outputs[0];
    if (is_scalar_constant(*node))
      dims_roots_[output] = kScalarDims.str();
    else if (node->has_input(0) && llvm::is_contained(kKeepsDims, node->op_type))
      dims_roots_[output] = dims_root(node->inputs[0]);
    else if (node->has_input(0) && llvm::is_contained(kBroadcasts, node->op_type))
      dims_roots_[output] = broadcast_root(*node);
  }
  for (const OnnxNode* node : nodes)
    for (const std::string& output : node->outputs) {
      const auto declared = declared_dims_.find(output);
      if (declared == declared_dims_.end()) continue;
      const llvm::SmallVector<int64_t, 4> dims = declared->second;
      declared_dims_.insert({dims_root(output), dims});
    }
}

std::optional<llvm::SmallVector<int64_t, 4>> Importer::declared_dims(const OnnxNode& node,
                                                                     size_t i) const {
  if (i >= node.outputs.size()) return std::nullopt;
  auto found = declared_dims_.find(node.outputs[i]);
  if (found == declared_dims_.end()) found = declared_dims_.find(dims_root(node.outputs[i]));
  if (found == declared_dims_.end()) return std::nullopt;
  believed_ = node.outputs[i];
  return found->second;
}

bool Importer::believes_declared_dims(const OnnxNode& node) const {
  return !believed_.empty() && llvm::is_contained(node.outputs, believed_);
}

}  // namespace codl::compiler
