#include "compiler/passes/allow_forms.h"

#include <algorithm>
#include <cmath>

#include "compiler/accuracy/intervals.h"
#include "compiler/ops/activation.h"
#include "compiler/ops/multiply_adds.h"
#include "compiler/ops/op_spec.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "schema/half.h"

namespace codl::compiler {
namespace {

constexpr double kMaxHalf = 65504;
constexpr double kMinNormalHalf = 0x1p-14;  // smaller ones lose digits, and devices flush them

// A value that grows in proportion to the inputs may be so many times as large as seen. Samples of
// a network's own inputs are like its others, but for a few. Random ones reach about 4, and pixels
// of -128 to 127 are 32 times as large.
constexpr double kFactorOfData = 8;
constexpr double kFactorOfRandom = 32;

constexpr char kNotRun[] =
    "nothing bounds it, and the network is too large to be run; with --calibration it is";

std::string text_of(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", number);
  return text;
}

bool is_real(const ir::Value& value) {
  return value.type.dtype == DType::F32 && !value.is_constant;
}

class FormsOfValues {
 public:
  FormsOfValues(const ir::Graph& graph, const SeenMagnitudes& seen)
      : graph_(graph),
        seen_(seen),
        factor_(seen.is_of_data ? kFactorOfData : kFactorOfRandom),
        intervals_(intervals_of(graph)),
        reasons_(graph.values().size()),
        reader_reasons_(graph.values().size()),
        is_unlike_seen_(graph.values().size()),
        is_before_logarithm_(graph.values().size()) {
    for (const ir::Node& node : graph.nodes()) {
      keep_steep(node);
      if (is_steep_logarithm(node)) keep_before_logarithm(node);
    }
    for (const ir::Node& node : graph.nodes())
      if (is_real(graph.value(node.output)) && reasons_[node.output].empty())
        reasons_[node.output] = reason_of(node);
  }

  // Returns why a value stays in float; empty where it need not.
  const std::string& reason(ir::ValueId value) const {
    return reasons_[value].empty() ? reader_reasons_[value] : reasons_[value];
  }

 private:
  bool is_proven(ir::ValueId value) const { return intervals_[value].magnitude() <= kMaxHalf; }

  Growth growth_of(const ir::Node& node) const {
    const OpSpec& spec = op_spec(node.op);
    if (spec.growth == nullptr) return Growth::Linear;
    llvm::SmallVector<Interval, 4> operands;
    for (ir::ValueId input : node.inputs) operands.push_back(intervals_[input]);
    return spec.growth(ir::NodeView{graph_, node}, operands);
  }

  // Keeps what a steep operator reads and gives: it makes more of what rounding takes away.
  void keep_steep(const ir::Node& node) {
    if (!is_real(graph_.value(node.output)) || is_proven(node.output) ||
        growth_of(node) != Growth::Steep)
      return;
    is_unlike_seen_[node.output] = true;
    reasons_[node.output] =
        "it squares, grows exponentially, or divides by or takes the logarithm of numbers that may "
        "be next to zero, and nothing bounds it";
    for (ir::ValueId input : node.inputs)
      if (is_real(graph_.value(input)))
        reader_reasons_[input] =
            llvm::formatv("{0} reads it, which stays in float", node.name).str();
  }

  // Returns whether the node takes the logarithm of numbers that may be next to zero.
  bool is_steep_logarithm(const ir::Node& node) const {
    if (node.op == OpKind::Reduce && node.params.as<ReduceParams>().kind == kReduceLogSum)
      return growth_of(node) == Growth::Steep;
    if (last_function(node).kind != kUnaryLog) return false;
    if (node.op == OpKind::Unary) return growth_of(node) == Growth::Steep;
    const ir::Node before = without_activation(node);
    llvm::SmallVector<Interval, 4> operands;
    for (ir::ValueId input : node.inputs) operands.push_back(intervals_[input]);
    return growth_of_quotient(op_spec(node.op).bounds(ir::NodeView{graph_, before}, operands)) ==
           Growth::Steep;
  }

  // A small result is then an exponential: its relative error is its operand's absolute error.
  static bool is_probability(const ir::Node& node) {
    const int32_t last = last_function(node).kind;
    return node.op == OpKind::Softmax || last == kUnaryExp || last == kUnarySigmoid;
  }

  // Keeps all that the operand of a logarithm is made of, back to inputs and probabilities. A small
  // element of a spectrum is a difference of large products, so that rounding those changes it by a
  // multiple. The logarithm shows that in full, even where the result is bounded.
  void keep_before_logarithm(const ir::Node& logarithm) {
    std::vector<ir::ValueId> todo(logarithm.inputs.begin(), logarithm.inputs.end());
    while (!todo.empty()) {
      const ir::ValueId value = todo.back();
      todo.pop_back();
      if (!is_real(graph_.value(value)) || is_before_logarithm_[value]) continue;
      is_before_logarithm_[value] = true;
      reader_reasons_[value] =
          llvm::formatv("{0} takes the logarithm of what is made of it", logarithm.name).str();
      const ir::NodeId producer = graph_.value(value).producer;
      if (producer == ir::kNoId || is_probability(graph_.nodes()[producer])) continue;
      llvm::append_range(todo, graph_.nodes()[producer].inputs);
    }
  }

  std::string reason_of(const ir::Node& node) {
    if (std::string reason = reason_of_constants(node); !reason.empty()) return reason;
    if (std::string reason = reason_of_sums(node); !reason.empty()) return reason;
    if (is_proven(node.output)) return "";
    if (std::string reason = reason_of_operand(node); !reason.empty()) return reason;
    return reason_of_seen(node);
  }

  // A kernel holds constants in the form of the values around them, except for bias and scales.
  std::string reason_of_constants(const ir::Node& node) const {
    if (node.op == OpKind::Normalize) return "";
    const bool has_weights = multiply_adds(ir::NodeView{graph_, node}) > 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::Value& value = graph_.value(node.inputs[i]);
      const double magnitude = intervals_[node.inputs[i]].magnitude();
      const bool is_bias = node.op == OpKind::Attention
                               ? i == 3
                               : has_weights && i != 1 && node.op != OpKind::Recurrent;
      if (!value.is_constant || value.type.dtype != DType::F32 || is_bias) continue;
      if (magnitude == 0 || (magnitude >= kMinNormalHalf && magnitude <= kMaxHalf)) continue;
      return llvm::formatv("its constant of {0} is outside of what halves hold", text_of(magnitude))
          .str();
    }
    return "";
  }

  // Kernels add kHalfSumProducts products in halves, but those of Attention none.
  std::string reason_of_sums(const ir::Node& node) const {
    if (node.op == OpKind::Attention) return "";
    const ir::NodeView view{graph_, node};
    const double terms = multiply_adds(view) / static_cast<double>(view.output().element_count());
    if (terms == 0) return "";
    const double in_halves = std::min(terms, static_cast<double>(kHalfSumProducts));
    const double sum = in_halves * mean_product(node, terms);
    if (sum <= kMaxHalf) return "";
    if (seen_.largest.empty()) return kNotRun;
    return llvm::formatv("sums of {0:f0} of its products may reach {1}", in_halves, text_of(sum))
        .str();
  }

  // Returns the mean of a sum's products, if operands are as large as they can be and all products
  // have one sign.
  double mean_product(const ir::Node& node, double terms) const {
    const double x = factor_of_sum(node.inputs[0]);
    if (node.op == OpKind::Recurrent || !graph_.value(node.inputs[1]).is_constant)
      return x * factor_of_sum(node.inputs[1]);
    const ir::Node sums = without_activation(node);
    llvm::SmallVector<Interval, 4> operands(node.inputs.size(), Interval::of(0));  // no residual
    operands[0] = Interval::within(x);
    return op_spec(node.op).bounds(ir::NodeView{graph_, sums}, operands).magnitude() / terms;
  }

  // That all products have one sign is far from likely, so that it is worth the square root of
  // their number of the factor for inputs that were not seen.
  double factor_of_sum(ir::ValueId value) const {
    const double bound = intervals_[value].magnitude();
    if (!is_real(graph_.value(value)) || seen_.largest.empty()) return bound;
    const double unlikely = std::sqrt(static_cast<double>(kHalfSumProducts));
    return std::min(bound, double{seen_.largest[value]} * std::max(factor_ / unlikely, 1.0));
  }

  // Scaled, moved, added up or put through a function, a value is like itself.
  std::string reason_of_operand(const ir::Node& node) {
    if (multiply_adds(ir::NodeView{graph_, node}) > 0) return "";
    const auto count = llvm::count_if(
        node.inputs, [&](ir::ValueId input) { return is_real(graph_.value(input)); });
    for (ir::ValueId input : node.inputs) {
      if (count != 1 || !is_unlike_seen_[input]) continue;
      is_unlike_seen_[node.output] = true;
      return llvm::formatv("it is made of {0}, which stays in float", graph_.value(input).name)
          .str();
    }
    return "";
  }

  std::string reason_of_seen(const ir::Node& node) {
    const Growth growth = growth_of(node);
    is_unlike_seen_[node.output] = growth == Growth::Product && !seen_.is_of_data;
    if (is_unlike_seen_[node.output])
      return "it is a product of two values that nothing bounds; with --calibration its values "
             "decide";
    if (seen_.largest.empty()) return kNotRun;
    const double largest = double{seen_.largest[node.output]};
    if (largest > 0 && largest < kMinNormalHalf)
      return llvm::formatv("its largest is {0} {1}, where halves have few digits", text_of(largest),
                           seen_.where())
          .str();
    const double factor = growth == Growth::Product ? factor_ * factor_ : factor_;
    if (largest * factor <= kMaxHalf) return "";
    return llvm::formatv(
               "it reaches {0} {1}, which leaves less than the factor of {2:f0} for "
               "other inputs",
               text_of(largest), seen_.where(), factor)
        .str();
  }

  const ir::Graph& graph_;
  const SeenMagnitudes& seen_;
  const double factor_;
  const std::vector<Interval> intervals_;
  std::vector<std::string> reasons_;         // indexed by value; for its own sake
  std::vector<std::string> reader_reasons_;  // for that of an operator that reads it
  std::vector<bool> is_unlike_seen_;         // on other inputs it may be of any size
  std::vector<bool> is_before_logarithm_;
};

}  // namespace

AllowedForms allow_forms(ir::Graph& graph, ir::Precision precision, const SeenMagnitudes& seen) {
  AllowedForms allowed;
  for (ir::ValueId id = 0; id < graph.values().size(); ++id) graph.value(id).precision = precision;
  if (precision == ir::Precision::Fp32) return allowed;
  const FormsOfValues forms(graph, seen);
  for (const ir::Node& node : graph.nodes()) {
    ir::Value& value = graph.value(node.output);
    if (!is_real(value)) continue;
    const std::string& reason = forms.reason(node.output);
    if (!reason.empty()) value.precision = ir::Precision::Fp32;
    if (node.op == OpKind::Convert) continue;  // it is no node of the network
    ++allowed.value_count;
    if (!reason.empty()) allowed.floats.push_back({node.name, reason});
  }
  return allowed;
}

}  // namespace codl::compiler
