// What could be computed at the same time as a node.
#pragma once

#include <vector>

#include "compiler/partition/cost_model.h"

namespace codl::compiler {

// By node: microseconds, each on the processor that is faster at it, of the nodes that neither need
// it nor are needed by it.
std::vector<double> work_beside_us(const CostModel& costs);

// Of a node whole, where it takes least; 0 where nothing runs it.
double least_whole_us(const CostModel& costs, ir::NodeId node);

}  // namespace codl::compiler
