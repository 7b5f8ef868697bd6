// The wishes that a strategy gets; unset fields leave the choice to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/partition/limits.h"

namespace codl::compiler {

// Nodes in one chain at most, unless the user says less. 32: CoDL's released search stops at 30;
// the halo computed twice has eaten the saved transfers long before.
inline constexpr int32_t kMaxChainLength = 32;

inline constexpr uint32_t kSearchBudget = 30000;

// Whether the rows at a cut are computed first (Part::boundary_first). Auto: as `optimal` finds it
// faster; plans of other strategies hand over nothing before all of it is done.
enum class BoundaryFirst { Auto, Always, Never };

struct PartitionOptions {
  std::string strategy = "optimal";  // or one of strategies/strategy.cc
  // Height or OutputChannel: splits every node that can be split so.
  SplitDim split_dim = SplitDim::None;
  std::optional<double> ratio;          // GPU share in (0, 1): nodes that can, split there
  int32_t max_chain = kMaxChainLength;  // 1: no chains
  BoundaryFirst boundary_first = BoundaryFirst::Auto;

  // Plans that `optimal` judges at most, in all searches for one variant together. 0: the plan of
  // `segments`.
  uint32_t search_budget = kSearchBudget;

  Objective objective = Objective::Latency;  // for optimal
  PlanLimits limits;

  // The packings in which each node's kernels may read weights, by node. Empty: any.
  std::vector<PackingSet> packings;

  bool is_optimal() const { return strategy == "optimal"; }
  bool forces_placement() const { return forces_split() || !limits.places.empty(); }
  bool forces_split() const { return split_dim != SplitDim::None || ratio.has_value(); }
};

}  // namespace codl::compiler
