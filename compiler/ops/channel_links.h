// Tells which elements of the dims of a node's operands and result can only be removed together.
// Pruning of channels asks each operator.
//
// A place is one index of one dim of an operand or of the result: a channel of a map, a row of a
// weight. A rule ties places; places that it does not name cannot be removed. Every rule must
// guarantee this: removing a set of tied places leaves the same rest as setting the weights of the
// set to zero. So the node either passes a place on (tied to the result), or sums it up with
// weights tied to it.
#pragma once

#include "compiler/ir/graph.h"
#include "llvm/ADT/BitVector.h"

namespace codl::compiler {

class ChannelLinks {
 public:
  // `slot` is the number of an operand, or kResult.
  static constexpr uint32_t kResult = UINT32_MAX;
  struct Dim {
    uint32_t slot = 0;
    int32_t dim = 0;
  };

  virtual ~ChannelLinks() = default;
  // Ties two places, so that they are removed together. Both dims are named.
  virtual void tie(Dim a, int32_t index_a, Dim b, int32_t index_b) = 0;
  // Says that this dim of a constant operand belongs to weights that make the places tied to it.
  // Their size tells how much the places matter.
  virtual void makes(Dim weights) = 0;

  // Ties two dims of one extent, place by place.
  void tie(Dim a, Dim b, int32_t extent) {
    for (int32_t i = 0; i < extent; ++i) tie(a, i, b, i);
  }
};

// Given a dim of an operand or the result, returns which of its indices stay.
using KeptPlaces = llvm::function_ref<const llvm::BitVector&(ChannelLinks::Dim)>;

// ---- shared by rules ----

// Ties every dim of the result to the same dim (aligned at the last) of the operands where the
// extents are equal; broadcast dims stay. `but` has the bits of result dims that are left alone.
void link_same_dims(const ir::NodeView& node, ChannelLinks& links, uint32_t but);
// Ties all dims, for an element-wise operator.
void link_all_dims(const ir::NodeView& node, ChannelLinks& links);
// Ties the channels of a map: dim 1 of the first operand and of the result.
void link_channels(const ir::NodeView& node, ChannelLinks& links);
// Links a convolution x, w, bias [, residual] with `groups`: every group loses the same channels.
void link_convolution(const ir::NodeView& node, ChannelLinks& links, int32_t groups);
void link_depthwise(const ir::NodeView& node, ChannelLinks& links);

}  // namespace codl::compiler
