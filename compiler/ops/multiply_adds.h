// Counts multiply-adds of sums of products from shapes, for reports and shares. Padding counts as
// work; operators without such sums have 0. Latency models have features of their own.
#pragma once

#include "compiler/ir/graph.h"
#include "schema/step_shape.h"

namespace codl::compiler {

// Returns the multiply-adds of a whole node, or of the part that a step computes.
double multiply_adds(const ir::NodeView& node);
double multiply_adds(const kernels::StepShape& step);

}  // namespace codl::compiler
