// Removes random numbers that are multiplied by zero before they are added.
//
// Needs:   fold_constants, which makes the factor a constant.
// Gives:   a copy in the place of the sum; what computed the noise is dead. An infinity or a NaN
//          that would have met the zero is gone.
// Order:   before eliminate_dead, which removes both.
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace codl::compiler {
namespace {

bool is_zero(const ir::Value& value) {
  return value.is_constant && value.type.dtype == DType::F32 &&
         llvm::all_of(value.as<float>(), [](float x) { return x == 0; });
}

class Silence {
 public:
  explicit Silence(ir::Graph& graph)
      : graph_(graph), is_noise_(graph.values().size()), is_silent_(graph.values().size()) {}

  void run() {
    for (ir::NodeId id = 0; id < graph_.nodes().size(); ++id) {
      ir::Node& node = graph_.node(id);
      if (node.op == OpKind::Random) {
        const auto params = node.params.as<RandomParams>();
        is_noise_[node.output] = true;
        is_silent_[node.output] = params.location == 0 && params.scale == 0;
      } else if (is_binary(graph_, node, kBinaryMul)) {
        multiply(node);
      } else if (node.op == OpKind::Reshape || node.op == OpKind::Transpose) {
        is_noise_[node.output] = is_noise_[node.inputs[0]];
        is_silent_[node.output] = is_silent_[node.inputs[0]];
      } else if (is_binary(graph_, node, kBinaryAdd)) {
        add(node);
      }
    }
  }

 private:
  void multiply(const ir::Node& node) {
    const ir::ValueId a = node.inputs[0], b = node.inputs[1];
    is_noise_[node.output] = is_noise_[a] || is_noise_[b];
    is_silent_[node.output] = is_silent_[a] || is_silent_[b] ||
                              (is_noise_[a] && is_zero(graph_.value(b))) ||
                              (is_noise_[b] && is_zero(graph_.value(a)));
  }

  void add(ir::Node& node) {
    for (size_t i = 0; i < 2; ++i) {
      const ir::ValueId kept = node.inputs[1 - i];
      if (!is_silent_[node.inputs[i]] || graph_.value(kept).type != graph_.value(node.output).type)
        continue;
      node.op = OpKind::Unary;
      node.params = ir::OpParams::of(OpKind::Unary, UnaryParams{.kind = kUnaryIdentity});
      node.inputs = {kept};
      return;
    }
  }

  ir::Graph& graph_;
  // Hold for each value whether it is a product of random numbers, and whether it is zero.
  std::vector<bool> is_noise_;
  std::vector<bool> is_silent_;
};

}  // namespace

llvm::Error drop_silent_noise(ir::Graph& graph) {
  Silence(graph).run();
  return llvm::Error::success();
}

}  // namespace codl::compiler
