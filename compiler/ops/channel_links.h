// Which elements of the dims of a node's operands and result can only be removed together: what
// pruning of channels asks of an operator.
//
// A place is one index of one dim of an operand or of the result: a channel of a map, a row of a
// weight. A rule ties places; what it does not name cannot be removed. It holds for a rule that
// removing a set of tied places gives the same rest as setting the weights of the set to zero: the
// node either passes a place on (tied to the result), or sums it up with weights tied to it.
#pragma once

#include "compiler/ir/graph.h"
#include "llvm/ADT/BitVector.h"

namespace codl::compiler {

class ChannelLinks {
 public:
  // A number of an operand, or the result.
  static constexpr uint32_t kResult = UINT32_MAX;
  struct Dim {
    uint32_t slot = 0;
    int32_t dim = 0;
  };

  virtual ~ChannelLinks() = default;
  // The two places go together. Names both dims.
  virtual void tie(Dim a, int32_t index_a, Dim b, int32_t index_b) = 0;
  // The dim of a constant operand is of weights that make the places tied to it, and are measured
  // to tell how much they matter.
  virtual void makes(Dim weights) = 0;

  // Two dims of one extent, place by place.
  void tie(Dim a, Dim b, int32_t extent) {
    for (int32_t i = 0; i < extent; ++i) tie(a, i, b, i);
  }
};

// Given a dim of an operand or the result, returns which of its indices stay.
using KeptPlaces = llvm::function_ref<const llvm::BitVector&(ChannelLinks::Dim)>;

// ---- shared by rules ----

// Every dim of the result with the same dim (aligned at the last) of the operands, where it has the
// extent; what is broadcast stays as it is. `but`: bits of result dims that are left alone.
void link_same_dims(const ir::NodeView& node, ChannelLinks& links, uint32_t but);
// All dims, none left alone: of an element-wise operator.
void link_all_dims(const ir::NodeView& node, ChannelLinks& links);
// Channels of a map: dim 1 of the first operand and of the result.
void link_channels(const ir::NodeView& node, ChannelLinks& links);
// A convolution x, w, bias [, residual] with `groups`: of each group the same channels go.
void link_convolution(const ir::NodeView& node, ChannelLinks& links, int32_t groups);
void link_depthwise(const ir::NodeView& node, ChannelLinks& links);

}  // namespace codl::compiler
