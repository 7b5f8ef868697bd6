// How many multiply-adds sums of products take, from shapes: what reports and shares count. Padding
// counts as work; 0 for operators without such sums. Latency models have features of their own.
#pragma once

#include "compiler/ir/graph.h"
#include "kernels/common/contract/contract.h"

namespace codl::compiler {

// Returns the multiply-adds of a whole node, or of the part that a step computes.
double multiply_adds(const ir::NodeView& node);
double multiply_adds(const kernels::StepShape& step);

}  // namespace codl::compiler
