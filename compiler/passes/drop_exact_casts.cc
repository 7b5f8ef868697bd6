// Removes casts of floats to integers and back, where the floats hold these integers.
//
// Needs:   f32 values that are integers by the nodes that compute them (Round, Cast, sums and
//          products of integers), within the range of the integer type by the intervals of their
//          operands; for a sum between the casts, within the integers that floats hold.
// Gives:   the floats themselves; Quantize8 in the place of a clamp to 8 bits. Numerics are
//          unchanged, except that a NaN stays NaN: casts to integers leave it open.
// Order:   after merge_common, which counts equal casts as one; after raise_dequantize, which
//          goes by casts to 8 bits; before the fusions: a quantised product then is one chain of
//          floats.
#include <cmath>

#include "compiler/accuracy/intervals.h"
#include "compiler/passes/grids.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "kernels/common/reference/elements.h"

namespace codl::compiler {
namespace {

constexpr double kMaxExactInteger = 1 << 24;

class ExactCasts {
 public:
  explicit ExactCasts(ir::Graph& graph)
      : graph_(graph), intervals_(intervals_of(graph)), is_integer_(graph.values().size()) {
    for (ir::ValueId id = 0; id < graph.values().size(); ++id)
      is_integer_[id] = is_integer(graph.value(id).type.dtype) || is_integer_constant(id);
    for (const ir::Node& node : graph.nodes())
      if (computes_integers(node)) is_integer_[node.output] = true;
  }

  void run() {
    for (ir::NodeId id = 0; id < graph_.nodes().size(); ++id) {
      ir::Node& node = graph_.node(id);
      if (node.op != OpKind::Cast || graph_.value(node.output).type.dtype != DType::F32) continue;
      const ir::ValueId floats = floats_behind(node.inputs[0]);
      if (floats != ir::kNoId) {
        replace_by(node, floats);
        continue;
      }
      const ir::NodeId sum = graph_.value(node.inputs[0]).producer;
      if (sum == ir::kNoId || graph_.node(sum).op != OpKind::Binary ||
          graph_.node(sum).params.as<BinaryParams>().kind != kBinaryAdd)
        continue;
      const ir::ValueId a = floats_behind(graph_.node(sum).inputs[0]);
      const ir::ValueId b = floats_behind(graph_.node(sum).inputs[1]);
      // Either way the exact sum is rounded once.
      if (a == ir::kNoId || b == ir::kNoId || !holds_exactly(a) || !holds_exactly(b)) continue;
      node.op = OpKind::Binary;
      node.params = graph_.node(sum).params;
      node.inputs = {a, b};
    }
  }

 private:
  bool is_integer_constant(ir::ValueId id) const {
    const ir::Value& value = graph_.value(id);
    return value.is_constant && value.type.dtype == DType::F32 &&
           llvm::all_of(value.as<float>(), [](float x) { return std::trunc(x) == x; });
  }

  bool computes_integers(const ir::Node& node) const {
    const auto are_integers = [&](size_t first, size_t last) {
      for (size_t i = first; i < last; ++i)
        if (!is_integer_[node.inputs[i]]) return false;
      return first < last;
    };
    switch (node.op) {
      case OpKind::Cast:
        return are_integers(0, 1);
      case OpKind::Unary: {
        const auto params = node.params.as<UnaryParams>();
        const bool is_rounded =
            params.kind == kUnaryRound || params.kind == kUnaryFloor || params.kind == kUnaryCeil;
        const bool is_bounded = params.kind == kUnaryClip &&
                                std::trunc(params.alpha) == params.alpha &&
                                std::trunc(params.beta) == params.beta;
        const bool keeps = is_bounded || params.kind == kUnaryRelu || params.kind == kUnaryIdentity;
        return is_rounded || (keeps && are_integers(0, 1));
      }
      case OpKind::Binary: {
        const auto params = node.params.as<BinaryParams>();
        const bool keeps = params.kind == kBinaryAdd || params.kind == kBinarySub ||
                           params.kind == kBinaryMul || params.kind == kBinaryMin ||
                           params.kind == kBinaryMax;
        return keeps && params.activation == kUnaryIdentity && are_integers(0, 2);
      }
      default: {
        const auto [first, last] = moved_operands(node);
        return are_integers(first, last);
      }
    }
  }

  // Returns the floats whose cast to integers is `value` and changes nothing; kNoId if there are
  // none.
  ir::ValueId floats_behind(ir::ValueId value) const {
    const ir::NodeId cast = graph_.value(value).producer;
    if (cast == ir::kNoId || graph_.node(cast).op != OpKind::Cast) return ir::kNoId;
    const ir::ValueId floats = graph_.node(cast).inputs[0];
    if (graph_.value(floats).type.dtype != DType::F32 || !is_integer_[floats]) return ir::kNoId;
    const DType dtype = graph_.value(value).type.dtype;
    if (!is_integer(dtype)) return ir::kNoId;
    const double count = std::exp2(8 * dtype_bytes(dtype));
    const double low = kernels::is_signed_integer(dtype) ? -count / 2 : 0;
    const Interval range = intervals_[floats];
    return range.low >= low && range.high < low + count ? floats : ir::kNoId;
  }

  // Makes a cast from integers of the floats that these came from. Those of 8 bits are on a grid,
  // which the clamp that took them into the range does not tell.
  void replace_by(ir::Node& cast, ir::ValueId floats) {
    const DType from = graph_.value(cast.inputs[0]).type.dtype;
    const ir::NodeId clamp = graph_.value(floats).producer;
    UnaryParams function = {.kind = kUnaryIdentity};
    if ((from == DType::U8 || from == DType::I8) && clamp != ir::kNoId &&
        graph_.node(clamp).op == OpKind::Unary &&
        graph_.node(clamp).params.as<UnaryParams>().kind == kUnaryClip) {
      function = quantize8({1, from == DType::U8 ? -128 : 0});
      const auto limits = graph_.node(clamp).params.as<UnaryParams>();
      if (limits.alpha == -function.beta && limits.beta == 255 - function.beta)
        floats = graph_.node(clamp).inputs[0];
    }
    cast.op = OpKind::Unary;
    cast.params = ir::OpParams::of(OpKind::Unary, function);
    cast.inputs = {floats};
  }

  bool holds_exactly(ir::ValueId value) const {
    return intervals_[value].magnitude() <= kMaxExactInteger;
  }

  ir::Graph& graph_;
  std::vector<Interval> intervals_;
  std::vector<bool> is_integer_;
};

}  // namespace

llvm::Error drop_exact_casts(ir::Graph& graph) {
  ExactCasts(graph).run();
  return llvm::Error::success();
}

}  // namespace codl::compiler
