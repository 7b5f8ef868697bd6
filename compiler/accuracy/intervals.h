// Finds what the values of a network may be from its constants and operators alone.
#pragma once

#include <vector>

#include "compiler/ops/interval.h"

namespace codl::compiler {

// Returns the interval of every value, indexed by value. That of a constant is exact; an input of
// the network has that of its type, which a float's does not bound.
std::vector<Interval> intervals_of(const ir::Graph& graph);

}  // namespace codl::compiler
