// codlc --dump=partition.
#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "compiler/partition/partition_plan.h"

namespace codl::compiler {

// A line a node: its chain, and of each part the processor, kernel, ranges, whether its boundary is
// to be computed first, and the predicted time of all of it in one step.
std::string print_partition(const ir::Graph& graph, const PartitionPlan& plan);

}  // namespace codl::compiler
