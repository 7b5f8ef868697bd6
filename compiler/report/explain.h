// Explains why steps of a plan take what they are predicted to take (codlc --explain).
#pragma once

#include <string>

#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "compiler/report/printouts.h"
#include "compiler/variants/candidate.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Prints for each step of the variant, in order: its kernel, the terms of its time by name, largest
// first, the basis of the kernel's shares, and the interval. After a node's steps it prints the
// time of each kernel that could run all of it. If `node` is not empty, it prints only that one.
// Returns an Input error if the graph has no such node.
llvm::Expected<std::string> explain(const ir::Graph& graph, const Variant& variant,
                                    const DeviceProfile& profile, llvm::StringRef node);

// Prints that, and what else could be done with one node (alternatives.h), where it is asked for.
// `limits` are those that the variant was made with.
llvm::Error print_explanation(const ir::Graph& graph, const Candidate& variant,
                              const LatencyPredictor& predictor, const PlanLimits& limits,
                              const Printouts& prints);

}  // namespace codl::compiler
