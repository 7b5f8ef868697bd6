// Makes one Normalize of the formulas that exporters write for a layer norm.
//
//   d = x - mean(x), deviation = sqrt(mean(d^2) + epsilon)
//   d / deviation * scale + bias                        over any axes, the same for both means
//   x g + (bias - mean(x) g), g = scale / deviation     as TensorFlow and Keras write it
//   x / sqrt(mean(x^2) + epsilon) * scale               RMSNorm
//
// Needs:   f32; epsilon one constant number; scale and bias, if there are any, constants that
//          broadcast to x; squares as a product or a power; roots and quotients as Sqrt,
//          Reciprocal, Div or Pow; the scale before or after the product with x; nobody else
//          reads the values between x and the result.
// Gives:   one Normalize in the place of the last node, instead of up to ten passes over memory.
//          Numerics change by rounding only.
// Order:   after fold_constants and merge_common, which leave the bare formula and x - mean(x) as
//          one node; before passes that take pieces of the formula, or move others into it.
#include <optional>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

struct NormalizeMatch {
  ir::ValueId x = ir::kNoId;
  ir::ValueId scale = ir::kNoId;
  ir::ValueId bias = ir::kNoId;
  NormalizeParams params = {};
  llvm::SmallVector<ir::NodeId, 12> nodes;  // the nodes of the formula, the last one last
};

class NormalizeMatcher {
 public:
  NormalizeMatcher(const ir::Graph& graph, const Readers& readers)
      : graph_(graph), readers_(readers) {}

  // Matches the formula that ends with node `root`.
  std::optional<NormalizeMatch> match(ir::NodeId root) const {
    const ir::ValueId y = graph_.node(root).output;
    for (const auto form : {&NormalizeMatcher::biased, &NormalizeMatcher::scaled,
                            &NormalizeMatcher::quotient, &NormalizeMatcher::folded})
      for (const bool is_rms : {false, true}) {
        NormalizeMatch match;
        match.params.is_rms = is_rms ? 1 : 0;
        if ((this->*form)(y, match) && is_whole(y, match) && readers_.only_among(match.nodes, root))
          return match;
      }
    return std::nullopt;
  }

 private:
  // The takes_* functions add their findings to the match, which is useless if one of them fails.

  const ir::Node* producer(ir::ValueId value, OpKind op, NormalizeMatch& match) const {
    const ir::NodeId id = graph_.value(value).producer;
    if (id == ir::kNoId || graph_.node(id).op != op) return nullptr;
    if (graph_.value(value).type.dtype != DType::F32) return nullptr;
    if (!llvm::is_contained(match.nodes, id)) match.nodes.push_back(id);
    return &graph_.node(id);
  }
  const ir::Node* binary(ir::ValueId value, int32_t kind, NormalizeMatch& match) const {
    const ir::NodeId id = graph_.value(value).producer;
    if (id == ir::kNoId || !is_binary(graph_, graph_.node(id), kind)) return nullptr;
    return producer(value, OpKind::Binary, match);
  }
  const ir::Node* unary(ir::ValueId value, int32_t kind, NormalizeMatch& match) const {
    const ir::NodeId id = graph_.value(value).producer;
    if (id == ir::kNoId || graph_.node(id).op != OpKind::Unary ||
        graph_.node(id).params.as<UnaryParams>().kind != kind)
      return nullptr;
    return producer(value, OpKind::Unary, match);
  }

  bool is_number(ir::ValueId id, double expected) const {
    return number_of(graph_, id) == expected;
  }

  // Returns the index of the constant operand, if the other one is not constant.
  std::optional<size_t> constant_operand(const ir::Node& node) const {
    const bool is_first = graph_.value(node.inputs[0]).is_constant;
    if (is_first == graph_.value(node.inputs[1]).is_constant) return std::nullopt;
    return is_first ? 0 : 1;
  }

  // ---- forms, from the last node backwards ----

  bool biased(ir::ValueId y, NormalizeMatch& match) const {
    const ir::Node* sum = binary(y, kBinaryAdd, match);
    const auto constant = sum != nullptr ? constant_operand(*sum) : std::nullopt;
    if (!constant) return false;
    match.bias = sum->inputs[*constant];
    const ir::ValueId rest = sum->inputs[1 - *constant];
    NormalizeMatch without_scale = match;
    if (scaled(rest, match)) return true;
    match = std::move(without_scale);
    return quotient(rest, match);
  }

  bool scaled(ir::ValueId y, NormalizeMatch& match) const {
    const ir::Node* product = binary(y, kBinaryMul, match);
    const auto constant = product != nullptr ? constant_operand(*product) : std::nullopt;
    if (!constant) return false;
    match.scale = product->inputs[*constant];
    return quotient(product->inputs[1 - *constant], match);
  }

  // Matches d / deviation, or d g.
  bool quotient(ir::ValueId y, NormalizeMatch& match) const {
    const NormalizeMatch before = match;
    if (const ir::Node* division = binary(y, kBinaryDiv, match))
      return deviation(division->inputs[1], division->inputs[0], match);
    for (size_t i = 0; i < 2; ++i) {
      match = before;
      const ir::Node* product = binary(y, kBinaryMul, match);
      if (product == nullptr) return false;
      if (factor(product->inputs[i], product->inputs[1 - i], match)) return true;
    }
    return false;
  }

  // Matches x g + (bias - mean(x) g).
  bool folded(ir::ValueId y, NormalizeMatch& match) const {
    if (match.params.is_rms != 0) return false;
    for (size_t i = 0; i < 4; ++i) {
      NormalizeMatch tried = match;
      const ir::Node* sum = binary(y, kBinaryAdd, tried);
      if (sum == nullptr) return false;
      const ir::Node* product = binary(sum->inputs[i % 2], kBinaryMul, tried);
      const ir::Node* shift = binary(sum->inputs[1 - i % 2], kBinarySub, tried);
      if (product == nullptr || shift == nullptr || !graph_.value(shift->inputs[0]).is_constant)
        continue;
      const ir::ValueId x = product->inputs[i / 2];
      const ir::ValueId g = product->inputs[1 - i / 2];
      const ir::Node* moved = binary(shift->inputs[1], kBinaryMul, tried);
      if (moved == nullptr) continue;
      const size_t at = moved->inputs[0] == g ? 1 : 0;
      if (moved->inputs[1 - at] != g) continue;
      tried.bias = shift->inputs[0];
      if (!factor(g, ir::kNoId, tried) || tried.x != x || !mean(moved->inputs[at], x, tried))
        continue;
      match = std::move(tried);
      return true;
    }
    return false;
  }

  // ---- pieces ----

  // Matches value = 1 / deviation of `d`, with or without a scale. kNoId for `d` allows any.
  bool factor(ir::ValueId value, ir::ValueId d, NormalizeMatch& match) const {
    const NormalizeMatch before = match;
    if (const ir::Node* reciprocal = unary(value, kUnaryReciprocal, match))
      return deviation(reciprocal->inputs[0], d, match);
    if (const ir::Node* power = binary(value, kBinaryPow, match))
      return is_number(power->inputs[1], -0.5) && variance(power->inputs[0], d, match);
    if (const ir::Node* division = binary(value, kBinaryDiv, match)) {
      if (!is_number(division->inputs[0], 1) && !take_scale(division->inputs[0], match))
        return false;
      return deviation(division->inputs[1], d, match);
    }
    const ir::Node* product = binary(value, kBinaryMul, match);
    const auto constant = product != nullptr ? constant_operand(*product) : std::nullopt;
    return constant && take_scale(product->inputs[*constant], match) &&
           factor(product->inputs[1 - *constant], d, match);
  }
  bool take_scale(ir::ValueId scale, NormalizeMatch& match) const {
    if (match.scale != ir::kNoId || !graph_.value(scale).is_constant) return false;
    match.scale = scale;
    return true;
  }

  // Matches value = sqrt(variance + epsilon).
  bool deviation(ir::ValueId value, ir::ValueId d, NormalizeMatch& match) const {
    if (const ir::Node* root = unary(value, kUnarySqrt, match))
      return variance(root->inputs[0], d, match);
    const ir::Node* power = binary(value, kBinaryPow, match);
    return power != nullptr && is_number(power->inputs[1], 0.5) &&
           variance(power->inputs[0], d, match);
  }

  // Matches value = mean(d^2) + epsilon.
  bool variance(ir::ValueId value, ir::ValueId d, NormalizeMatch& match) const {
    const ir::Node* sum = binary(value, kBinaryAdd, match);
    const auto constant = sum != nullptr ? constant_operand(*sum) : std::nullopt;
    if (!constant) return false;
    const auto epsilon = number_of(graph_, sum->inputs[*constant]);
    if (!epsilon || !(*epsilon > 0)) return false;
    match.params.epsilon = static_cast<float>(*epsilon);
    const ir::Node* mean = producer(sum->inputs[1 - *constant], OpKind::Reduce, match);
    if (mean == nullptr) return false;
    const auto reduce = mean->params.as<ReduceParams>();
    if (reduce.kind != kReduceMean) return false;
    match.params.axes_mask = reduce.axes_mask;
    const auto squared = operand_of_square(mean->inputs[0], match);
    return squared && (d == ir::kNoId || d == *squared) && centred(*squared, match);
  }

  std::optional<ir::ValueId> operand_of_square(ir::ValueId value, NormalizeMatch& match) const {
    if (const ir::Node* product = binary(value, kBinaryMul, match)) {
      if (product->inputs[0] == product->inputs[1]) return product->inputs[0];
      return std::nullopt;
    }
    const ir::Node* power = binary(value, kBinaryPow, match);
    if (power == nullptr || !is_number(power->inputs[1], 2)) return std::nullopt;
    return power->inputs[0];
  }

  // Matches d = x - mean(x), with the match's x. An RMSNorm uses d itself.
  bool centred(ir::ValueId d, NormalizeMatch& match) const {
    match.x = d;
    if (match.params.is_rms != 0) return true;
    const ir::Node* difference = binary(d, kBinarySub, match);
    if (difference == nullptr) return false;
    match.x = difference->inputs[0];
    return mean(difference->inputs[1], match.x, match);
  }
  bool mean(ir::ValueId value, ir::ValueId x, NormalizeMatch& match) const {
    const ir::Node* reduce = producer(value, OpKind::Reduce, match);
    if (reduce == nullptr || reduce->inputs[0] != x) return false;
    const auto params = reduce->params.as<ReduceParams>();
    return params.kind == kReduceMean && params.axes_mask == match.params.axes_mask;
  }

  // ---- the whole ----

  // Returns true if the result has the dims of x, as Normalize's has: scale and bias add none.
  bool is_whole(ir::ValueId y, NormalizeMatch& match) const {
    const ir::TensorType& x = graph_.value(match.x).type;
    if (graph_.value(match.x).is_constant || x.dims != graph_.value(y).type.dims) return false;
    match.params.has_scale = match.scale != ir::kNoId ? 1 : 0;
    match.params.has_bias = match.bias != ir::kNoId ? 1 : 0;
    return broadcasts(match.scale, x) && broadcasts(match.bias, x);
  }
  bool broadcasts(ir::ValueId constant, const ir::TensorType& x) const {
    if (constant == ir::kNoId) return true;
    const ir::TensorType& type = graph_.value(constant).type;
    const int32_t missing = x.rank() - type.rank();
    if (type.dtype != DType::F32 || missing < 0) return false;
    for (int32_t i = 0; i < type.rank(); ++i)
      if (type.dims[i] != 1 && type.dims[i] != x.dims[i + missing]) return false;
    return true;
  }

  const ir::Graph& graph_;
  const Readers& readers_;
};

}  // namespace

llvm::Error fuse_normalize(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  // Goes backwards: the last node of a formula has all of it before it.
  for (ir::NodeId id = static_cast<ir::NodeId>(graph.nodes().size()); id-- > 0;) {
    if (dead[id] || graph.node(id).op != OpKind::Binary) continue;
    const auto match = NormalizeMatcher(graph, readers).match(id);
    if (!match) continue;
    ir::Node node = graph.node(id);
    node.op = OpKind::Normalize;
    node.params = ir::OpParams::of(OpKind::Normalize, match->params);
    node.inputs = {match->x};
    if (match->scale != ir::kNoId) node.inputs.push_back(match->scale);
    if (match->bias != ir::kNoId) node.inputs.push_back(match->bias);
    readers.replace(id, std::move(node));
    for (ir::NodeId before : match->nodes) {
      if (before == id) continue;
      dead[before] = true;
      readers.remove(before);
    }
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
