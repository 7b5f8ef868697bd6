#include "compiler/partition/split_geometry.h"

#include <algorithm>
#include <cmath>

namespace codl::compiler {

Range hull(Range a, Range b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Region hull(const Region& a, const Region& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {hull(a.rows, b.rows), hull(a.channels, b.channels)};
}

Region whole_region(const ir::TensorType& type) {
  Region region{{0, 1}, {0, 1}};
  if (type.rank() == 4) region.rows = {0, type.dims[2]};
  if (type.rank() >= 2) region.channels = {0, type.dims[1]};
  return region;
}

Region slab(const ir::TensorType& type, SplitDim dim, Range range) {
  Region region = whole_region(type);
  if (dim == SplitDim::Height) region.rows = range;
  if (dim == SplitDim::OutputChannel) region.channels = range;
  return region;
}

Region read_region(const ir::NodeView& node, uint32_t operand, SplitDim dim, Range range) {
  const ir::TensorType& type = node.input(operand);
  if (dim == SplitDim::None) return whole_region(type);
  return slab(type, dim, op_spec(node.node.op).input_range(node, operand, dim, range));
}

std::optional<SplitRule> split_rule(const ir::NodeView& node, SplitDim dim) {
  for (const SplitRule& rule : op_spec(node.node.op).splits(node))
    if (rule.dim == dim) return rule;
  return std::nullopt;
}

std::optional<int32_t> cut_at(const SplitRule& rule, double ratio) {
  // The last granule may be ragged: a cut is a multiple of the granularity short of the extent.
  const int32_t last =
      static_cast<int32_t>(ceil_div(rule.extent, rule.granularity) - 1) * rule.granularity;
  if (last < rule.granularity) return std::nullopt;
  const double granules = ratio * rule.extent / rule.granularity;
  const auto cut = static_cast<int32_t>(std::lround(granules)) * rule.granularity;
  return std::clamp(cut, rule.granularity, last);
}

std::vector<Range> computed_ranges(const ir::Graph& graph, llvm::ArrayRef<ir::NodeId> nodes,
                                   SplitDim dim, llvm::ArrayRef<Range> owned) {
  std::vector<Range> computed(owned.begin(), owned.end());
  for (size_t user = nodes.size(); user-- > 0;) {
    const ir::NodeView view{graph, graph.node(nodes[user])};
    for (uint32_t operand = 0; operand < view.input_count(); ++operand) {
      const auto producer = std::find(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(user),
                                      view.input_value(operand).producer);
      if (producer == nodes.begin() + static_cast<ptrdiff_t>(user)) continue;
      Range& range = computed[static_cast<size_t>(producer - nodes.begin())];
      range = hull(range, range_along(read_region(view, operand, dim, computed[user]), dim));
    }
  }
  return computed;
}

bool is_connected(const ir::Graph& graph, llvm::ArrayRef<ir::NodeId> nodes) {
  if (nodes.empty()) return false;
  std::vector<size_t> group(nodes.size());
  for (size_t i = 0; i < group.size(); ++i) group[i] = i;
  const auto root = [&](size_t i) {
    while (group[i] != i) i = group[i];
    return i;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ir::ValueId input : graph.node(nodes[i]).inputs) {
      const auto producer = std::find(nodes.begin(), nodes.end(), graph.value(input).producer);
      if (producer != nodes.end())
        group[root(i)] = root(static_cast<size_t>(producer - nodes.begin()));
    }
  }
  for (size_t i = 1; i < nodes.size(); ++i)
    if (root(i) != root(0)) return false;
  return true;
}

}  // namespace codl::compiler
