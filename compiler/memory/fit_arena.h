// Fits a variant into less memory: it computes nodes tile by tile, so that their feature maps never
// exist as a whole, as DeepThings does (Zhao, Barijough, Gerstlauer, 2018).
#pragma once

#include "compiler/device/latency_predictor.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

// Reduces the variant's arenas and images to `max_bytes`, or stops when nothing helps. Where the
// most bytes are live, consecutive nodes of one queue are computed in tiles of the last one's rows.
// Maps between them are held for one tile at a time; rows that two tiles need are computed twice.
// Each round takes the cheapest change that reaches the goal, else the one that saves most. Fills
// the places in memory, as plan_memory() does, but no predicted times. Errors: Internal.
llvm::Error fit_arena(const ir::Graph& graph, Schedule& schedule, const LatencyPredictor& predictor,
                      uint64_t max_bytes);

}  // namespace codl::compiler
