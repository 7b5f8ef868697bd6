#include "compiler/partition/branch_regions.h"

#include <algorithm>

namespace codl::compiler {
namespace {

// Returns the parts of nodes [first, end) that no value connects.
std::vector<std::vector<ir::NodeId>> branches_of(const ir::Graph& graph, ir::NodeId first,
                                                 ir::NodeId end) {
  std::vector<ir::NodeId> group(end - first);
  for (ir::NodeId i = 0; i < group.size(); ++i) group[i] = i;
  const auto root = [&](ir::NodeId i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
  };
  for (ir::NodeId node = first; node < end; ++node)
    for (ir::ValueId input : graph.node(node).inputs) {
      const ir::NodeId maker = graph.value(input).producer;
      if (maker == ir::kNoId || maker < first) continue;
      const ir::NodeId a = root(maker - first), b = root(node - first);
      group[std::max(a, b)] = std::min(a, b);
    }
  std::vector<std::vector<ir::NodeId>> branches;
  std::vector<size_t> index(group.size());
  for (ir::NodeId i = 0; i < group.size(); ++i) {
    if (root(i) == i) {
      index[i] = branches.size();
      branches.emplace_back();
    }
    branches[index[root(i)]].push_back(first + i);
  }
  return branches;
}

}  // namespace

std::vector<BranchRegion> branch_regions(const ir::Graph& graph) {
  const auto node_count = static_cast<ir::NodeId>(graph.nodes().size());
  // The last node that reads something made before a node shows whether paths lead around it.
  std::vector<ir::NodeId> last_reader(node_count, 0);
  for (ir::NodeId node = 0; node < node_count; ++node)
    for (ir::ValueId input : graph.node(node).inputs)
      if (graph.value(input).producer != ir::kNoId) last_reader[graph.value(input).producer] = node;
  std::vector<BranchRegion> regions;
  ir::NodeId first = 0, read_until = 0;
  for (ir::NodeId node = 0; node < node_count; ++node) {
    if (read_until <= node || node + 1 == node_count) {
      regions.push_back({branches_of(graph, first, node), node});
      first = node + 1;
    }
    read_until = std::max(read_until, last_reader[node]);
  }
  return regions;
}

}  // namespace codl::compiler
