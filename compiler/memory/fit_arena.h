// Feature maps that never stand whole: nodes computed tile by tile, as DeepThings does (Zhao,
// Barijough, Gerstlauer, 2018), to fit a variant into less memory.
#pragma once

#include "compiler/device/latency_predictor.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

// Until the variant needs at most `max_bytes` of arenas and images, or nothing helps: where most of
// them are alive, consecutive nodes of one queue are computed tile by tile of their last one's
// rows; what lies between them is held for one tile at a time, with the rows that two tiles need
// computed twice. Each time what costs least time where that is enough, else what saves most.
// Fills the places in memory, as plan_memory() does, and no predicted times. Errors: Internal.
llvm::Error fit_arena(const ir::Graph& graph, Schedule& schedule, const LatencyPredictor& predictor,
                      uint64_t max_bytes);

}  // namespace codl::compiler
