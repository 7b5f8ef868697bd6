// Finds how much could be computed at the same time as a node.
#pragma once

#include <vector>

#include "compiler/partition/cost_model.h"

namespace codl::compiler {

// Returns for each node the microseconds of the nodes that neither need it nor are needed by it,
// each on the processor that is faster at it.
std::vector<double> work_beside_us(const CostModel& costs);

// Returns the least time of the whole node on one processor; 0 if nothing runs it.
double least_whole_us(const CostModel& costs, ir::NodeId node);

}  // namespace codl::compiler
