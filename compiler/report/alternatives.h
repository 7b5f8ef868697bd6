// Explains what else could be done with a node of a plan, and why the plan does not (codlc
// --explain=NODE).
#pragma once

#include <string>

#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "compiler/variants/candidate.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// The node on either processor, in each layout of the GPU, and split along each dim, all other
// nodes as in `chosen`; its halo transferred where it is in the middle of a chain, computed twice
// where it could be in one with the node before; its boundary computed first on no, one or both
// processors: of each the whole plan's predicted time, as the variant that finish_candidate()
// makes of it, and what makes the difference: balance of the queues, transfers (conversions and
// maps), synchronisations, or waiting, how much is done at the same time. The chain of the node is
// cut around it. Empty where there is no such node. `limits` are those that `chosen` was made
// with. Errors: those of finish_candidate().
llvm::Expected<std::string> explain_alternatives(const ir::Graph& graph, const Candidate& chosen,
                                                 const LatencyPredictor& predictor,
                                                 const PlanLimits& limits, llvm::StringRef node);

}  // namespace codl::compiler
