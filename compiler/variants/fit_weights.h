// Counts a graph's weights, and keeps a variant to PlanLimits::max_weights.
#pragma once

#include "compiler/partition/weight_forms.h"
#include "compiler/variants/candidate.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

// Return the bytes of the graph's constants as the model has them: what kernels make of these is
// not known before kernels are chosen (weight_mbytes() of a variant). Halves of the model are
// floats if no value may be held as halves.
uint64_t constant_bytes(const ir::Graph& graph);
double constant_mbytes(const ir::Graph& graph);

// Returns how many bytes of weights a plan of the graph may have.
std::optional<uint64_t> most_weight_bytes(const ir::Graph& graph, const WeightLimit& limit);

// Holds the bytes of weights that a plan may have with all of its variants, and those of the
// variants that it has already. It borrows all.
struct WeightRoom {
  const ir::Graph& graph;
  const LatencyPredictor& predictor;
  const StoredWeights& stored;
  uint64_t most_bytes = 0;

  bool is_enough_for(const PartitionPlan& plan) const;
};

using MakeCandidate = llvm::function_ref<llvm::Expected<Candidate>(const PartitionOptions& options,
                                                                   const SearchStart& start)>;

// Says how good a candidate is: less is better.
using ScoreCandidate = llvm::function_ref<llvm::Expected<double>(const Candidate& candidate)>;

// Makes the candidate with weights of any size. Where there is no room for these, that candidate
// tells which of them save most time for their bytes, and another one is made with those. All
// searches together keep to options.search_budget: a short search finds the first candidate.
// Weights that suit it may suit no plan that keeps the limit, so those that suit the plan of
// `segments` are tried, too, by a short search each.
llvm::Expected<Candidate> fit_weights(const WeightRoom& room, PartitionOptions options,
                                      MakeCandidate make, ScoreCandidate score);

}  // namespace codl::compiler
