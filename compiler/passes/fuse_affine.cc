// Makes one Unary, alpha x + beta, of a product and a sum with one number each.
//
// Needs:   an f32 Add or Sub with a constant of one element, after a Mul with another that
//          nobody else reads.
// Gives:   a Unary (Affine) in the place of the sum. It saves one pass over memory, and may become
//          an activation. If the operand is a HardSwish that nobody else reads
//          (learnable scales: PP-LCNetV3), both become one AffineHardSwish. Numerics change by the
//          rounding of the product only. Sums before products stay, because (x - z) s is exactly 0
//          for x = z.
// Order:   after fold_batch_norm, which folds such numbers into the convolution before them;
//          before fuse_activation.
#include <optional>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

struct WithNumber {
  ir::ValueId x;
  float number;
};

// If the node computes `kind` of a value and one number, returns both. The value is the first
// operand if the order counts.
std::optional<WithNumber> with_number(const ir::Graph& graph, const ir::Node& node, int32_t kind) {
  if (!is_binary(graph, node, kind)) return std::nullopt;
  for (size_t i = 0; i < (kind == kBinarySub ? 1 : 2); ++i) {
    const ir::Value& x = graph.value(node.inputs[i]);
    const auto number = number_of(graph, node.inputs[1 - i]);
    if (!x.is_constant && number && x.type.dims == graph.value(node.output).type.dims)
      return WithNumber{node.inputs[i], static_cast<float>(*number)};
  }
  return std::nullopt;
}

bool is_hard_swish(const ir::Node& node) {
  return node.op == OpKind::Unary && node.params.as<UnaryParams>().kind == kUnaryHardSwish;
}

}  // namespace

llvm::Error fuse_affine(ir::Graph& graph) {
  std::vector<bool> dead(graph.nodes().size(), false);
  Readers readers(graph);
  for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
    ir::Node node = graph.node(id);
    auto sum = with_number(graph, node, kBinaryAdd);
    if (!sum) {
      sum = with_number(graph, node, kBinarySub);
      if (!sum) continue;
      sum->number = -sum->number;
    }
    const ir::NodeId producer = readers.sole_producer(sum->x, id);
    if (producer == ir::kNoId) continue;
    const auto product = with_number(graph, graph.node(producer), kBinaryMul);
    if (!product) continue;
    ir::ValueId x = product->x;
    int32_t kind = kUnaryAffine;
    const ir::NodeId curve = readers.sole_producer(x, producer);
    if (curve != ir::kNoId && is_hard_swish(graph.node(curve))) {
      x = graph.node(curve).inputs[0];
      kind = kUnaryAffineHardSwish;
      dead[curve] = true;
      readers.remove(curve);
    }
    node.op = OpKind::Unary;
    node.params = ir::OpParams::of(
        OpKind::Unary, UnaryParams{.kind = kind, .alpha = product->number, .beta = sum->number});
    node.inputs = {x};
    readers.replace(id, std::move(node));
    dead[producer] = true;
    readers.remove(producer);
  }
  remove_dead(graph, dead);
  return llvm::Error::success();
}

}  // namespace codl::compiler
