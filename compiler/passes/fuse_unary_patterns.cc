// Makes one Unary of the formulas that exporters write for an activation.
//
//   x sigmoid(a x)                                 Swish
//   x hardsigmoid(x), x clip(x + 3, 0, 6) / 6      HardSwish
//   x tanh(softplus(x))                            Mish
//   x (1 + erf(x / sqrt 2)) / 2                    Gelu
//   x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2   GeluTanh
//
// Needs:   products of f32 in any order and grouping, with constants (multiplied or divided by)
//          anywhere between the factors; nobody else reads the values between x and the product.
// Gives:   one Unary in the place of the last multiplication; the nodes before go. Numerics change
//          by rounding only: constants are recognised up to the digits that exporters keep.
// Order:   after fold_constants and eliminate_dead, which leave the bare formula; before
//          fuse_activation, which makes the Unary the activation of a convolution, and before the
//          other fusions, which would take pieces of the formula.
#include <cmath>
#include <optional>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

// Compares loosely, because formulas have rounded constants: 0.7071, 0.70710678, 1.41421354.
bool is_about(double found, double expected) {
  return std::fabs(found - expected) <= 1e-4 * std::fabs(expected);
}

// Holds the factors of a product.
struct Product {
  double scale = 1;
  llvm::SmallVector<ir::ValueId, 3> factors;  // not constant
  llvm::SmallVector<ir::NodeId, 8> nodes;     // nodes that only the product reads
};

class Matcher {
 public:
  Matcher(const ir::Graph& graph, const Readers& readers) : graph_(graph), readers_(readers) {}

  // Holds the function of one value that node `root`, a multiplication or division, computes, its
  // operand, and the earlier nodes that it replaces.
  struct Match {
    UnaryParams function;
    ir::ValueId x;
    llvm::SmallVector<ir::NodeId, 8> nodes;
  };
  std::optional<Match> match(ir::NodeId root) const {
    Product product;
    const ir::Node& node = graph_.node(root);
    if (!is_product(node)) return std::nullopt;
    if (!expand(node, 1, &product) || product.factors.size() != 2) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      Match match = {{}, product.factors[i], product.nodes};
      const ir::ValueId gate = product.factors[1 - i];
      const auto& x_type = graph_.value(match.x).type;
      if (x_type.dims != graph_.value(node.output).type.dims) continue;
      if (match_gate(gate, product.scale, &match)) return match;
    }
    return std::nullopt;
  }

 private:
  bool is_product(const ir::Node& node) const {
    return is_binary(graph_, node, kBinaryMul) || is_binary(graph_, node, kBinaryDiv);
  }
  bool is_product(ir::ValueId value) const {
    const ir::NodeId producer = graph_.value(value).producer;
    return producer != ir::kNoId && is_product(graph_.node(producer));
  }

  // Returns the node that computes `value` if only one node reads it, and adds it to `nodes`. Else
  // returns null.
  const ir::Node* producer_of(ir::ValueId value, llvm::SmallVectorImpl<ir::NodeId>* nodes) const {
    const ir::NodeId producer = graph_.value(value).producer;
    if (producer == ir::kNoId || graph_.is_output(value)) return nullptr;
    if (readers_.count(value) != 1) return nullptr;
    nodes->push_back(producer);
    return &graph_.node(producer);
  }

  // Multiplies the node's factors into the product. Returns false if it divides by a computed
  // value.
  bool expand(const ir::Node& node, int depth, Product* product) const {
    const bool is_division = is_binary(graph_, node, kBinaryDiv);
    for (size_t i = 0; i < 2; ++i) {
      const ir::ValueId operand = node.inputs[i];
      if (const auto constant = number_of(graph_, operand)) {
        product->scale *= is_division && i == 1 ? 1 / *constant : *constant;
        continue;
      }
      if (is_division && i == 1) return false;
      if (!expand_operand(operand, depth, product)) product->factors.push_back(operand);
    }
    return product->factors.size() <= 3;
  }

  // Does the same for an operand that is a product, too. Formulas are at most 4 deep.
  bool expand_operand(ir::ValueId operand, int depth, Product* product) const {
    if (depth == 4 || !is_product(operand)) return false;
    Product deeper = *product;
    const ir::Node* node = producer_of(operand, &deeper.nodes);
    if (node == nullptr || !expand(*node, depth + 1, &deeper)) return false;
    *product = deeper;
    return true;
  }

  // Returns true if value = scale x, for a scale near `scale`.
  bool is_scaled(ir::ValueId value, ir::ValueId x, double scale,
                 llvm::SmallVectorImpl<ir::NodeId>* nodes) const {
    const auto found = scale_of(value, x, nodes);
    return found && is_about(*found, scale);
  }

  // Returns c of value = c x.
  std::optional<double> scale_of(ir::ValueId value, ir::ValueId x,
                                 llvm::SmallVectorImpl<ir::NodeId>* nodes) const {
    if (value == x) return 1.0;
    Product product;
    if (!expand_operand(value, 0, &product) || product.factors.size() != 1 ||
        product.factors[0] != x)
      return std::nullopt;
    nodes->append(product.nodes.begin(), product.nodes.end());
    return product.scale;
  }

  // If the node adds the number `addend`, returns the other operand; else kNoId.
  ir::ValueId other_summand(const ir::Node& node, double addend) const {
    if (!is_binary(graph_, node, kBinaryAdd)) return ir::kNoId;
    for (size_t i = 0; i < 2; ++i) {
      const auto constant = number_of(graph_, node.inputs[i]);
      if (constant && is_about(*constant, addend)) return node.inputs[1 - i];
    }
    return ir::kNoId;
  }

  // Returns true if scale * x * gate is a function of x.
  bool match_gate(ir::ValueId gate, double scale, Match* match) const {
    const ir::Node* node = producer_of(gate, &match->nodes);
    if (node == nullptr) return false;
    if (node->op == OpKind::Unary)
      return match_function(*node, node->params.as<UnaryParams>(), scale, match);
    const ir::ValueId summand = other_summand(*node, 1);
    if (summand == ir::kNoId || !is_about(scale, 0.5)) return false;
    node = producer_of(summand, &match->nodes);
    if (node == nullptr || node->op != OpKind::Unary) return false;
    const int32_t kind = node->params.as<UnaryParams>().kind;
    if (kind == kUnaryErf) {
      match->function = {.kind = kUnaryGelu};
      return is_scaled(node->inputs[0], match->x, std::sqrt(0.5), &match->nodes);
    }
    match->function = {.kind = kUnaryGeluTanh};
    return kind == kUnaryTanh && is_gelu_cubic(node->inputs[0], match);
  }

  // Matches a gate that is a Unary.
  bool match_function(const ir::Node& node, const UnaryParams& params, double scale,
                      Match* match) const {
    const ir::ValueId operand = node.inputs[0];
    if (params.kind == kUnaryClip)
      return params.alpha == 0.0f && is_about(double{params.beta}, 6) && is_about(scale, 1 / 6.0) &&
             match_hard_swish_clip(operand, match);
    if (!is_about(scale, 1)) return false;
    if (params.kind == kUnarySigmoid) {
      const auto slope = scale_of(operand, match->x, &match->nodes);
      if (!slope) return false;
      match->function = {.kind = kUnarySwish, .alpha = static_cast<float>(*slope)};
      return true;
    }
    if (params.kind == kUnaryHardSigmoid) {
      match->function = {.kind = kUnaryHardSwish};
      return operand == match->x && is_about(double{params.alpha}, 1 / 6.0) &&
             is_about(double{params.beta}, 0.5);
    }
    if (params.kind != kUnaryTanh) return false;
    const ir::Node* softplus = producer_of(operand, &match->nodes);
    match->function = {.kind = kUnaryMish};
    return softplus != nullptr && softplus->op == OpKind::Unary &&
           softplus->params.as<UnaryParams>().kind == kUnarySoftplus &&
           softplus->inputs[0] == match->x;
  }

  // Matches clip(x + 3, 0, 6), from its operand backwards.
  bool match_hard_swish_clip(ir::ValueId operand, Match* match) const {
    const ir::Node* sum = producer_of(operand, &match->nodes);
    match->function = {.kind = kUnaryHardSwish};
    return sum != nullptr && other_summand(*sum, 3) == match->x;
  }

  // Matches value = sqrt(2 / pi) (x + 0.044715 x^3).
  bool is_gelu_cubic(ir::ValueId value, Match* match) const {
    Product product;
    if (!expand_operand(value, 0, &product) || product.factors.size() != 1 ||
        !is_about(product.scale, 0.7978845608))
      return false;
    match->nodes.append(product.nodes.begin(), product.nodes.end());
    const ir::Node* sum = producer_of(product.factors[0], &match->nodes);
    if (sum == nullptr || !is_binary(graph_, *sum, kBinaryAdd)) return false;
    for (size_t i = 0; i < 2; ++i)
      if (sum->inputs[i] == match->x) return is_cube(sum->inputs[1 - i], match);
    return false;
  }

  // Matches value = 0.044715 x^3, as a power or a product.
  bool is_cube(ir::ValueId value, Match* match) const {
    Product product;
    if (!expand_operand(value, 0, &product) || !is_about(product.scale, 0.044715)) return false;
    match->nodes.append(product.nodes.begin(), product.nodes.end());
    if (product.factors.size() == 3)
      return llvm::all_of(product.factors, [&](ir::ValueId factor) { return factor == match->x; });
    if (product.factors.size() != 1) return false;
    const ir::Node* power = producer_of(product.factors[0], &match->nodes);
    if (power == nullptr || !is_binary(graph_, *power, kBinaryPow) || power->inputs[0] != match->x)
      return false;
    const auto exponent = number_of(graph_, power->inputs[1]);
    return exponent && *exponent == 3;
  }

  const ir::Graph& graph_;
  const Readers& readers_;
};

}  // namespace

llvm::Error fuse_unary_patterns(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  // Goes backwards: the last multiplication of a formula has all of it before it.
  for (ir::NodeId id = static_cast<ir::NodeId>(graph.nodes().size()); id-- > 0;) {
    if (dead[id]) continue;
    const auto match = Matcher(graph, readers).match(id);
    if (!match) continue;
    ir::Node node = graph.node(id);
    node.op = OpKind::Unary;
    node.params = ir::OpParams::of(OpKind::Unary, match->function);
    node.inputs = {match->x};
    readers.replace(id, std::move(node));
    for (ir::NodeId before : match->nodes) dead[before] = true;
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
