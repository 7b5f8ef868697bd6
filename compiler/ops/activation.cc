#include "compiler/ops/activation.h"

namespace codl::compiler {
namespace {

// Calls use(params) with the parameters of a node that takes an activation. Returns false, without
// a call, for other nodes.
template <typename Use>
bool with_activated_params(const ir::Node& node, Use use) {
  switch (node.op) {
    case OpKind::Conv2d:
      use(node.params.as<Conv2dParams>());
      return true;
    case OpKind::DepthwiseConv2d:
      use(node.params.as<DepthwiseConv2dParams>());
      return true;
    case OpKind::MatMul:
      use(node.params.as<MatMulParams>());
      return true;
    case OpKind::Binary:
      use(node.params.as<BinaryParams>());
      return true;
    case OpKind::Normalize:
      use(node.params.as<NormalizeParams>());
      return true;
    default:
      return false;
  }
}

}  // namespace

bool takes_activation(const ir::Node& node) {
  return with_activated_params(node, [](const auto&) {});
}

UnaryParams last_function(const ir::Node& node) {
  if (node.op == OpKind::Unary) return node.params.as<UnaryParams>();
  UnaryParams last{.kind = kUnaryIdentity};
  with_activated_params(node, [&](const auto& params) {
    last = {.kind = params.activation,
            .alpha = params.activation_alpha,
            .beta = params.activation_beta};
  });
  return last;
}

void set_activation(ir::Node& node, const UnaryParams& activation) {
  with_activated_params(node, [&](auto params) {
    params.activation = activation.kind;
    params.activation_alpha = activation.alpha;
    params.activation_beta = activation.beta;
    node.params = ir::OpParams::of(node.op, params);
  });
}

ir::Node without_activation(const ir::Node& node) {
  ir::Node plain = node;
  set_activation(plain, {.kind = kUnaryIdentity});
  return plain;
}

}  // namespace codl::compiler
