// Prints partitions for codlc --dump=partition.
#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "compiler/partition/partition_plan.h"

namespace codl::compiler {

// Returns a line for each node: its chain, and for each part the processor, kernel, ranges, whether
// its boundary is to be computed first, and its predicted time as one step.
std::string print_partition(const ir::Graph& graph, const PartitionPlan& plan);

}  // namespace codl::compiler
