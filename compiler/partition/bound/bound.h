// A time that no plan of these kernels and costs can be below.
#pragma once

#include "compiler/partition/cost_model.h"
#include "compiler/partition/options.h"

namespace codl::compiler {

// Microseconds; the larger of two bounds, and never more than the CPU alone takes. One knows the
// order of nodes (ordered_bound.h). The other one is for whatever order:
//
// Each processor has to do its share of every node, so for any weight w in [0, 1] a plan takes at
// least w * (CPU's work) + (1 - w) * (GPU's work), and that is at least the sum over the nodes of
// the cheapest way to share each alone. The result is the largest such sum over a grid of weights.
// What both processors take of each other counts: where w and 1 - w are near each other, what is
// done in a microsecond is most while both work, and each is slower then. So does that the GPU has
// nothing to do before the first synchronisation and behind the last.
//
// Both hold where a part's time does not fall as it gets larger, and two steps that share it take
// no less than one: of the cuts between two tried ones they take the smaller part of each side.
// Chains have at most `max_chain` nodes; `hands_over`: rows at a cut may be computed first
// (Part::boundary_first).
double lower_bound_us(const CostModel& costs, int32_t max_chain = kMaxChainLength,
                      bool hands_over = true);

}  // namespace codl::compiler
