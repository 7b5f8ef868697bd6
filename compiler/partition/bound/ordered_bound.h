// A time that no plan can be below, by the order in which each processor computes.
#pragma once

#include "compiler/partition/cost_model.h"

namespace codl::compiler {

// Cuts of rows that are told apart at a node: more than an image has rows. Each takes three arrays
// of kWeightSteps numbers, and a model of a kilobyte can have 2^24 rows.
inline constexpr int32_t kMaxRowCuts = 1024;

// Microseconds. Chains have at most `max_chain` nodes; `hands_over`: rows at a cut may be computed
// first (Part::boundary_first).
//
// Each queue runs its steps in the graph's order. So for the ends c and g of what the CPU and the
// GPU do of the first nodes, and any weight w in [0, 1], w * c + (1 - w) * g grows with each node
// by at least w * (CPU's part) + (1 - w) * (GPU's part); the weight may change from node to node
// along a wait of one processor for the other, and then the wait takes its synchronisation, too.
// (It is a flow through the steps: any convex combination of paths is a lower bound.) Which weights
// are taken depends on what a plan does up to there, and so every plan has its bound; the result is
// the least over all plans, by dynamic programming over nodes in the graph's order. It prices
// halos, what chains compute twice included, synchronisations and maps.
//
// What makes it hold for any graph: of the values that a node reads only the one that the node
// before it made is looked at, the others are taken to be there. Where nodes could be computed
// beside each other, the weight stays what it is. So it does between nodes that are split along
// Height where rows may be handed over: who reads them waits for a few rows, not for a part.
//
// While both processors are at work, each slows the other. Let the parts of a plan that takes T
// take P in all, each alone, and let the processors lose shares k0 and k1 of their speed beside
// each other, k the lesser. They are busy for P and for what they lose, and so both at work for at
// least O = (P - T) / (1 - k0 - k1). All that while, of the flow what does not wait takes longer by
// k. So T is at least what the flow comes to alone, its synchronisations counted (1 - k) times, and
// k O more.
//
// Left out: conversions between layouts, copies, and what a profile with `host` costs says of
// synchronisations. Holds where a part's time does not fall as it gets larger, and two steps that
// share it, the rows at the cut first, take no less than one.
//
// Of more cuts of rows than `max_row_cuts` neighbours are taken for one, with the smaller part on
// either side: the bound is lower then.
double ordered_bound_us(const CostModel& costs, int32_t max_chain, bool hands_over,
                        int32_t max_row_cuts = kMaxRowCuts);

}  // namespace codl::compiler
