// Says where the weights of an output channel are among a node's.
#pragma once

#include "compiler/ir/graph.h"

namespace codl::compiler {

// Returns true for operators that multiply by weights, their second operand.
inline bool has_weights(const ir::Node& node) {
  return node.op == OpKind::Conv2d || node.op == OpKind::DepthwiseConv2d ||
         node.op == OpKind::MatMul;
}

// Element i of the `depth` elements of channel c is at `c * first_step + i * step`.
struct ChannelPlaces {
  int64_t channels, depth, first_step, step;
};

// Returns the places in weights of a node of this operator.
inline ChannelPlaces places_of(const ir::Value& weights, OpKind op) {
  const bool are_columns = op == OpKind::MatMul;
  const int64_t channels = weights.type.dims[are_columns ? 1 : 0];
  const int64_t depth = weights.type.element_count() / channels;
  return {channels, depth, are_columns ? 1 : depth, are_columns ? channels : 1};
}

}  // namespace codl::compiler
