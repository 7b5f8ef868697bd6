// Sums over channels: nodes that weigh the channels of their first operand, and what calibration
// data says of those.
#pragma once

#include "compiler/ops/op_spec.h"
#include "compiler/shrink/matrix.h"
#include "compiler/shrink/pruning.h"

namespace codl::compiler {

// Returns true if the node sums up the channels of its first operand, each with constant weights of
// its own.
bool sums_channels(const ir::NodeView& node);

// Maps an element of such a node's weight to its place in [its channel of the operand, everything
// else].
struct WeightIndex {
  explicit WeightIndex(const ir::NodeView& node);
  int64_t at(int64_t output, int64_t channel, int64_t tap) const {
    return output * output_step + channel * channel_step + tap;
  }
  int64_t channels = 0, outputs = 0, taps = 1, channel_step = 0, output_step = 0;
};

// Returns the sums of products, [channels + 1, channels + 1], with a little on the diagonal: it
// keeps small what few samples leave open.
Matrix regularized(const Moments& moments);

}  // namespace codl::compiler
