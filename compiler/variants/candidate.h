// Makes one way to run a graph on a device, through all stages that depend on how it is
// partitioned.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/limits.h"
#include "compiler/partition/options.h"
#include "compiler/partition/partition_plan.h"
#include "compiler/partition/search/optimal.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/measured/uncertainty.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// A plan is surely faster than another where it is in that share of the draws.
inline constexpr double kSureShare = 0.9;

// A plan counts as so many times slower for what it lacks of the share that is asked for.
inline constexpr double kDoubtWeight = 4;

// Holds a plan that others must surely be faster than.
struct Rival {
  struct InDraws {
    Draws draws;
    std::vector<double> us;
  };
  InDraws all;
  InDraws few;  // in which a search judges every plan
};

// Says where a search begins.
struct SearchStart {
  std::vector<PartitionPlan> seeds = {};  // beside the plans of all strategies
  // The search finds the best of the plans that are surely faster, if it judges any.
  const Rival* rival = nullptr;
};

// Says how a plan was kept to PlanLimits::max_weights.
struct WeightChoice {
  std::vector<PackingSet> packings;  // PartitionOptions::packings
  // The plan with weights of any size, as a short search finds it, and its figures.
  PartitionPlan free;
  PlanFigures free_figures;
  PartitionPlan start;  // for which these packings were taken
};

// Its schedule has places in memory and predicted times: it is ready to be emitted.
struct Candidate {
  PartitionPlan partition;
  Schedule schedule;
  PlanFigures figures;       // figures of the schedule
  uint32_t evaluations = 0;  // plans that were judged to find it; 0: it was not searched for
  std::optional<WeightChoice> weights = {};  // nothing: it has those of any size
};

bool uses_gpu(const PartitionPlan& plan);

// Candidates of one strategy, or of the search where that is `optimal`, which judges at most
// options.search_budget plans. The schedule has the strategy's name; with `optimal`, and with `cpu`
// if options place nodes on the GPU, it is "cpu" if nothing is on the GPU, "gpu" if nothing but
// conversions is on the CPU, else "coexec". Errors: Input (a place or a split that is not
// possible), Unsupported, Internal. A limit that is not met is none: see check_limits().
llvm::Expected<Candidate> make_candidate(const ir::Graph& graph, const LatencyPredictor& predictor,
                                         const PartitionOptions& options,
                                         const SearchStart& start = {});

// Returns the best candidate that is found. The search judges plans without tiles: where memory is
// limited, the best plan that fits by itself and the best of any memory, fitted into it, are
// compared.
llvm::Expected<Candidate> best_candidate(const ir::Graph& graph, const LatencyPredictor& predictor,
                                         const PartitionOptions& options,
                                         const SearchStart& start = {});

// Turns the plan into a variant of that name. Where it needs more memory than it may, some of it is
// computed in tiles.
llvm::Expected<Candidate> finish_candidate(const ir::Graph& graph,
                                           const LatencyPredictor& predictor,
                                           const PlanLimits& limits, Optimum optimum,
                                           llvm::StringRef name);

}  // namespace codl::compiler
