// Computes ranges, halos and cuts: integer arithmetic on nodes, without costs.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/op_spec.h"
#include "schema/types.h"

namespace codl::compiler {

// Returns the smallest range that holds both; an empty one adds nothing.
Range hull(Range a, Range b);

// Returns what both hold; empty if nothing.
inline Range intersection(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Spans rows and channels of a value; values without rows have rows [0, 1). It serves everything
// that a processor computes, reads or transfers.
struct Region {
  Range rows;
  Range channels;
  bool empty() const { return rows.empty() || channels.empty(); }
  bool contains(const Region& other) const {
    return rows.contains(other.rows) && channels.contains(other.channels);
  }
  bool overlaps(const Region& other) const {
    return rows.overlaps(other.rows) && channels.overlaps(other.channels);
  }
  friend bool operator==(const Region&, const Region&) = default;
};
Region hull(const Region& a, const Region& b);
Region whole_region(const ir::TensorType& type);
// Returns the region with `range` along `dim` and all of the other dimension.
Region slab(const ir::TensorType& type, SplitDim dim, Range range);
// Returns what computing the slab `range` along `dim` of the output reads of operand `operand`.
Region read_region(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range range);

// Returns the rule of a node for `dim`, if it can be cut there.
std::optional<SplitRule> split_rule(const ir::NodeView& node, SplitDim dim);

// Returns where to cut `rule.extent` so that the first part has about `ratio` of it: the multiple
// of the granularity nearest to ratio * extent, at least one granule from either end; nothing if no
// such cut exists.
std::optional<int32_t> cut_at(const SplitRule& rule, double ratio);

// Returns the rows (Height) or channels (OutputChannel) of a region; `dim` is one of the two.
inline Range range_along(const Region& region, SplitDim dim) {
  return dim == SplitDim::Height ? region.rows : region.channels;
}

// Returns the rows, or channels, that each node of `nodes` (in graph order) must compute on one
// processor so that every later node of the region finds what it reads, given what it owns. This is
// Equation 1 of the CoDL paper, generalised to a region of the graph and to either dim. result[i]
// belongs to nodes[i].
std::vector<Range> computed_ranges(const ir::Graph& graph, llvm::ArrayRef<ir::NodeId> nodes,
                                   SplitDim dim, llvm::ArrayRef<Range> owned);

// Returns true if the nodes hang together by values that one makes and another reads.
bool is_connected(const ir::Graph& graph, llvm::ArrayRef<ir::NodeId> nodes);

}  // namespace codl::compiler
