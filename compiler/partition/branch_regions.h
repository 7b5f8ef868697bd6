// Finds a graph's branches: groups of nodes that do not depend on each other, between two nodes
// that every path passes.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace codl::compiler {

// Holds nodes up to one that every path passes, which is the last, and the branches before it. Each
// branch has its nodes in graph order; branches are in the order of their first nodes.
struct BranchRegion {
  std::vector<std::vector<ir::NodeId>> branches;
  ir::NodeId meeting = ir::kNoId;
};

// Returns regions in graph order; every node is in one of them.
std::vector<BranchRegion> branch_regions(const ir::Graph& graph);

}  // namespace codl::compiler
