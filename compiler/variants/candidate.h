// One way to run a graph on a device, through all stages that depend on how it is partitioned.
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
#include "compiler/simulate/uncertainty.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

// How the GPU stores what it alone touches. Fp16: as halves where its kernels can (half_storage.h);
// results change.
enum class Precision { Fp32, Fp16 };

// The draws in which a search compares plans with a rival.
inline constexpr int kDrawsOfSearch = 40;

// A plan that others are to be surely faster than: its times in some draws.
struct Rival {
  Draws draws;
  std::vector<double> us;
};

// How a plan was kept to PlanLimits::max_weights.
struct WeightChoice {
  std::vector<PackingSet> packings;  // PartitionOptions::packings
  // The plan with weights of any size, as a short search finds it, and its predicted time.
  PartitionPlan free;
  double free_us = 0;
};

// Its schedule has places in memory and predicted times: it is ready to be emitted.
struct Candidate {
  PartitionPlan partition;
  Schedule schedule;
  PlanFigures figures;       // of the schedule
  uint32_t evaluations = 0;  // of the search that it comes from; 0: it was not searched for
  std::optional<WeightChoice> weights = {};  // nothing: it has those of any size
};

// Candidates of one strategy, or of the search where that is `optimal`. With `rival`, the
// search looks for a plan that is surely faster. The schedule has the name "coexec", or the
// strategy's. Errors: Input (a place or a split that is not possible), Unsupported, Internal. A
// limit that is not met is none: see check_limits().
llvm::Expected<Candidate> make_candidate(const ir::Graph& graph, const LatencyPredictor& predictor,
                                         Precision precision, const PartitionOptions& options,
                                         const Rival* rival = nullptr);

// The best that is found. The search judges plans without tiles: where memory is limited, the best
// plan that fits by itself and the best of any memory, fitted into it, are compared.
llvm::Expected<Candidate> best_candidate(const ir::Graph& graph, const LatencyPredictor& predictor,
                                         Precision precision, const PartitionOptions& options,
                                         const Rival* rival = nullptr);

// The plan as a variant of that name. Where it needs more memory than it may, some of it is
// computed in tiles.
llvm::Expected<Candidate> finish_candidate(const ir::Graph& graph,
                                           const LatencyPredictor& predictor, Precision precision,
                                           const PlanLimits& limits, Optimum optimum,
                                           llvm::StringRef name);

}  // namespace codl::compiler
