// Makes one Unary, Quantize8, of quantising to 8 bits and back, as quantised networks write it
// (QuantizeLinear, DequantizeLinear).
//
//   (clip(round(x / s) + z, low, low + 255) - z) s, with or without casts to 8 bits and back
//
// Needs:   f32; one scale s and one zero point z for all elements, constant and the same on both
//          sides; nobody else reads the values between x and the product.
// Gives:   one Unary in the place of the product: one pass over memory instead of six. It may
//          become an activation. The result is the same to the last bit, except for the sign
//          of a zero, and for a NaN, which stays NaN: casts to integers leave it open.
// Order:   after merge_common, which leaves one node that goes back to floats; before
//          fuse_activation and the passes that move nodes into the formula.
#include <cmath>
#include <optional>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

// Matches the formula backwards: each step goes to the operand of the node that it expects.
class QuantizeMatcher {
 public:
  QuantizeMatcher(const ir::Graph& graph, ir::ValueId value) : graph_(graph), value_(value) {}

  std::optional<UnaryParams> match() {
    const auto scale = take_number(kBinaryMul);
    if (!scale) return std::nullopt;
    const double zero_point = take_number(kBinarySub).value_or(0);
    const bool is_cast = take_cast(DType::F32);
    const DType dtype = graph_.value(value_).type.dtype;
    if (is_cast && ((dtype != DType::U8 && dtype != DType::I8) || !take_cast(dtype)))
      return std::nullopt;
    const auto limits = take_limits();
    if (!limits || double{limits->beta} - double{limits->alpha} != 255) return std::nullopt;
    if (is_cast && limits->alpha != (dtype == DType::U8 ? 0.0f : -128.0f)) return std::nullopt;
    if (take_number(kBinaryAdd).value_or(0) != zero_point) return std::nullopt;
    if (!take_unary(kUnaryRound)) return std::nullopt;
    const double lowest = zero_point - double{limits->alpha};
    if (take_number(kBinaryDiv) != scale || !(*scale > 0) || !std::isnormal(*scale) ||
        std::trunc(lowest) != lowest || lowest < 0 || lowest > 255)
      return std::nullopt;
    return UnaryParams{.kind = kUnaryQuantize8,
                       .alpha = static_cast<float>(*scale),
                       .beta = static_cast<float>(lowest)};
  }

  ir::ValueId x() const { return value_; }
  llvm::ArrayRef<ir::NodeId> nodes() const { return nodes_; }  // the product comes first

 private:
  const ir::Node* producer(OpKind op) const {
    const ir::NodeId id = graph_.value(value_).producer;
    return id != ir::kNoId && graph_.node(id).op == op ? &graph_.node(id) : nullptr;
  }
  void go_to(ir::ValueId operand) {
    nodes_.push_back(graph_.value(value_).producer);
    value_ = operand;
  }

  // Returns the number that the node combines its operand with. Does not match a number minus, or
  // divided by, a value.
  std::optional<double> take_number(int32_t kind) {
    const ir::Node* node = producer(OpKind::Binary);
    if (node == nullptr || !is_binary(graph_, *node, kind)) return std::nullopt;
    const bool commutes = kind == kBinaryAdd || kind == kBinaryMul;
    for (size_t i = 0; i < (commutes ? 2 : 1); ++i) {
      const ir::Value& x = graph_.value(node->inputs[i]);
      const auto number = number_of(graph_, node->inputs[1 - i]);
      if (x.is_constant || !number || x.type.dims != graph_.value(value_).type.dims) continue;
      go_to(node->inputs[i]);
      return number;
    }
    return std::nullopt;
  }

  bool take_cast(DType to) {
    const ir::Node* node = producer(OpKind::Cast);
    if (node == nullptr || graph_.value(value_).type.dtype != to) return false;
    go_to(node->inputs[0]);
    return true;
  }

  std::optional<UnaryParams> take_unary(int32_t kind) {
    const ir::Node* node = producer(OpKind::Unary);
    if (node == nullptr || graph_.value(value_).type.dtype != DType::F32) return std::nullopt;
    const auto params = node->params.as<UnaryParams>();
    if (params.kind != kind) return std::nullopt;
    go_to(node->inputs[0]);
    return params;
  }

  // A clamp to 8 bits, which drop_exact_casts may have made Quantize8 with a step of 1.
  std::optional<UnaryParams> take_limits() {
    if (const auto clamp = take_unary(kUnaryClip)) return clamp;
    const auto to_bytes = take_unary(kUnaryQuantize8);
    if (!to_bytes || to_bytes->alpha != 1) return std::nullopt;
    return UnaryParams{.kind = kUnaryClip, .alpha = -to_bytes->beta, .beta = 255 - to_bytes->beta};
  }

  const ir::Graph& graph_;
  ir::ValueId value_;
  llvm::SmallVector<ir::NodeId, 8> nodes_;
};

}  // namespace

llvm::Error fuse_quantize_pairs(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    ir::Node node = graph.node(id);
    QuantizeMatcher matcher(graph, node.output);
    const auto function = matcher.match();
    if (!function || !readers.only_among(matcher.nodes(), id)) continue;
    node.op = OpKind::Unary;
    node.params = ir::OpParams::of(OpKind::Unary, *function);
    node.inputs = {matcher.x()};
    for (ir::NodeId before : matcher.nodes().drop_front()) {
      dead[before] = true;
      readers.remove(before);
    }
    readers.replace(id, std::move(node));
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
