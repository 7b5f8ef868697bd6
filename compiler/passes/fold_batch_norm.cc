// Folds a scale and shift per output channel into the weights and bias of the node before.
//
// Needs:   a Conv2d, DepthwiseConv2d or MatMul without activation or residual, with constant
//          weights and bias. Its only user is either a DepthwiseConv2d with a 1x1 filter, stride
//          1 and no padding (BatchNormalization is imported as one), or a Mul or Add with a
//          constant that has one element or one per channel.
// Gives:   one node. Numerics change by rounding only (tested to 1e-5 relative).
// Order:   after fold_constants (makes the operands constant) and eliminate_dead (removes copies
//          between the two); before fuse_residual and fuse_activation, which look at the
//          user of the convolution.
#include <map>
#include <optional>

#include "compiler/ops/activation.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

enum Operand : uint32_t { kX = 0, kW = 1, kBias = 2 };

// Limits the elements that the pass may add to those of the graph's constants, counted once:
// thousands of convolutions with the same weights would each get their own.
constexpr int64_t kMaxNewElements = int64_t{1} << 24;

// Stands for y[c] = scale[c] * x[c] + shift[c]. It is kept in double, so that several foldings
// round only once.
struct Affine {
  ir::ValueId x = ir::kNoId;
  std::vector<double> scale;
  std::vector<double> shift;
};

std::optional<Affine> depthwise_affine(const ir::NodeView& node) {
  const auto params = node.params<DepthwiseConv2dParams>();
  const ir::Value& w = node.input_value(kW);
  const ir::Value& bias = node.input_value(kBias);
  const bool is_pointwise = w.type.dims[2] == 1 && w.type.dims[3] == 1 && params.stride_h == 1 &&
                            params.stride_w == 1 && params.pad_top == 0 && params.pad_left == 0 &&
                            params.pad_bottom == 0 && params.pad_right == 0;
  if (!is_pointwise || params.has_residual || !w.is_constant || !bias.is_constant)
    return std::nullopt;
  Affine affine;
  affine.x = node.node.inputs[kX];
  for (float element : w.as<float>()) affine.scale.push_back(element);
  for (float element : bias.as<float>()) affine.shift.push_back(element);
  return affine;
}

// Reads a Mul or Add with a constant of one element, or of dims [1, c, 1, ...]: the importer gives
// constants the output's rank.
std::optional<Affine> binary_affine(const ir::NodeView& node) {
  const int32_t kind = node.params<BinaryParams>().kind;
  if (kind != kBinaryMul && kind != kBinaryAdd) return std::nullopt;
  const uint32_t constant_index = node.input_value(0).is_constant ? 0 : 1;
  const ir::Value& constant = node.input_value(constant_index);
  const ir::Dims& dims = node.output().dims;
  if (!constant.is_constant || constant.type.dims.size() != dims.size() || dims.size() < 2 ||
      node.input(1 - constant_index).dims != dims)
    return std::nullopt;
  const int64_t count = constant.type.element_count();
  if (count != 1 && (count != dims[1] || constant.type.dims[1] != dims[1])) return std::nullopt;
  Affine affine;
  affine.x = node.node.inputs[1 - constant_index];
  for (int32_t c = 0; c < dims[1]; ++c) {
    const double element = constant.as<float>()[count == 1 ? 0 : c];
    affine.scale.push_back(kind == kBinaryMul ? element : 1.0);
    affine.shift.push_back(kind == kBinaryMul ? 0.0 : element);
  }
  return affine;
}

// Returns x of a node that may be such a map; kNoId for others.
ir::ValueId operand_of_affine(const ir::NodeView& node) {
  if (node.output().rank() < 2) return ir::kNoId;
  if (node.node.op == OpKind::DepthwiseConv2d) return node.node.inputs[kX];
  if (node.node.op == OpKind::Binary) return node.node.inputs[node.input_value(0).is_constant];
  return ir::kNoId;
}

std::optional<Affine> affine_of(const ir::NodeView& node) {
  if (node.node.op == OpKind::DepthwiseConv2d) return depthwise_affine(node);
  if (node.node.op == OpKind::Binary) return binary_affine(node);
  return std::nullopt;
}

// Returns true if the node can take a scale and shift into its constant weights and bias.
bool can_absorb(const ir::NodeView& node) {
  switch (node.node.op) {
    case OpKind::Conv2d: {
      const auto params = node.params<Conv2dParams>();
      if (params.has_residual || params.activation != kUnaryIdentity) return false;
      break;
    }
    case OpKind::DepthwiseConv2d: {
      const auto params = node.params<DepthwiseConv2dParams>();
      if (params.has_residual || params.activation != kUnaryIdentity) return false;
      break;
    }
    case OpKind::MatMul:
      if (node.params<MatMulParams>().activation != kUnaryIdentity) return false;
      break;
    default:
      return false;
  }
  return node.input_value(kW).is_constant && node.input_value(kBias).is_constant;
}

ir::ValueId add_floats(ir::Graph& graph, const std::string& name, const ir::TensorType& type,
                       llvm::ArrayRef<float> elements) {
  return graph.add_constant(name, type, bytes_of(elements));
}

// Returns the weights with channel c times scale[c]. The output channel is the first dim of a
// convolution's weights, and the last of a MatMul's.
ir::ValueId scaled_weights(ir::Graph& graph, NewNames& names, OpKind op, ir::ValueId weights,
                           const std::vector<double>& scale) {
  const auto given = graph.value(weights).as<float>();
  LargeVector<float> elements(given.begin(), given.end());
  const size_t channels = scale.size();
  const size_t per_channel = elements.size() / channels;
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t c = op == OpKind::MatMul ? i % channels : i / per_channel;
    elements[i] = static_cast<float>(elements[i] * scale[c]);
  }
  const ir::TensorType type = graph.value(weights).type;
  return add_floats(graph, names.take(graph.value(weights).name + ".scaled"), type, elements);
}

ir::ValueId shifted_bias(ir::Graph& graph, NewNames& names, ir::ValueId bias,
                         const Affine& affine) {
  std::vector<float> elements = graph.value(bias).as<float>().vec();
  for (size_t c = 0; c < elements.size(); ++c)
    elements[c] = static_cast<float>(elements[c] * affine.scale[c] + affine.shift[c]);
  const ir::TensorType type = graph.value(bias).type;
  return add_floats(graph, names.take(graph.value(bias).name + ".shifted"), type, elements);
}

// Returns `second` applied to the result of `first`.
Affine composed(const Affine& first, const Affine& second) {
  Affine both = first;
  for (size_t c = 0; c < both.scale.size(); ++c) {
    both.scale[c] = first.scale[c] * second.scale[c];
    both.shift[c] = first.shift[c] * second.scale[c] + second.shift[c];
  }
  return both;
}

}  // namespace

llvm::Error fold_batch_norm(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  int64_t elements_left = kMaxNewElements;
  for (const ir::Value& value : graph.values())
    if (value.is_constant) elements_left += value.type.element_count();
  // Holds, by merged node, the factors that its constants still have to take.
  std::map<ir::NodeId, Affine> folded;
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    const ir::NodeView view{graph, graph.node(id)};
    const ir::ValueId x = operand_of_affine(view);
    if (x == ir::kNoId) continue;
    const ir::NodeId producer = readers.sole_producer(x, id);
    if (producer == ir::kNoId || !can_absorb(ir::NodeView{graph, graph.node(producer)})) continue;
    const auto before = folded.find(producer);
    int64_t elements = view.output().dims[1];
    if (before == folded.end())
      elements += graph.value(graph.node(producer).inputs[kW]).type.element_count();
    if (elements > elements_left) continue;
    const std::optional<Affine> affine = affine_of(view);
    if (!affine || affine->x != x) continue;
    elements_left -= elements;

    // The merged node takes the place and the output of the affine node; the other one goes.
    ir::Node merged = graph.node(producer);
    merged.output = graph.node(id).output;
    set_activation(merged, last_function(graph.node(id)));  // the affine node's comes after it
    folded[id] = before == folded.end() ? *affine : composed(before->second, *affine);
    folded.erase(producer);
    readers.replace(id, std::move(merged));
    dead[producer] = true;
  }
  NewNames names(graph);
  for (const auto& [id, affine] : folded) {
    ir::Node& node = graph.node(id);
    node.inputs[kBias] = shifted_bias(graph, names, node.inputs[kBias], affine);
    if (llvm::any_of(affine.scale, [](double s) { return s != 1.0; }))
      node.inputs[kW] = scaled_weights(graph, names, node.op, node.inputs[kW], affine.scale);
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
