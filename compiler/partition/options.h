// Holds the wishes that a strategy gets; unset fields leave the choice to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/ir/types.h"
#include "compiler/partition/limits.h"

namespace codl::compiler {

using ir::Precision;

// Limits the nodes in one chain, unless the user says less. 32: CoDL's released search stops at 30;
// the halo computed twice has eaten the saved transfers long before.
inline constexpr int32_t kMaxChainLength = 32;

// Limits the plans that are judged for a variant, unless the user says otherwise. Ten networks on
// four phones are at most 0.4 % slower than with up to 30,000 (simulated); with 10,000 one was 29 %
// slower.
inline constexpr uint32_t kSearchBudget = 20000;

// Says whether the rows at a cut are computed first (Part::boundary_first). With Auto, `optimal`
// decides by what is faster; plans of other strategies transfer nothing before all of it is done.
enum class BoundaryFirst { Auto, Always, Never };

struct PartitionOptions {
  std::string strategy = "optimal";  // or one of strategies/strategy.cc
  // Splits every node that can be split along this dim, Height or OutputChannel.
  SplitDim split_dim = SplitDim::None;
  std::optional<double> ratio;          // GPU share in (0, 1): nodes that can, split there
  int32_t max_chain = kMaxChainLength;  // 1: no chains
  BoundaryFirst boundary_first = BoundaryFirst::Auto;

  // `optimal` judges at most this many plans, in all searches for one variant together. With 0 it
  // takes the plan of `segments`.
  uint32_t search_budget = kSearchBudget;

  Objective objective = Objective::Latency;  // for optimal
  PlanLimits limits;

  // Where values may have floats or halves (Precision::Auto), plans have both, floats only, or
  // halves wherever kernels take them.
  Precision auto_as = Precision::Auto;

  // Holds, by node, the packings in which its kernels may read weights; empty allows all.
  std::vector<PackingSet> packings;

  bool is_optimal() const { return strategy == "optimal"; }
  bool forces_placement() const { return forces_split() || !limits.places.empty(); }
  bool forces_split() const { return split_dim != SplitDim::None || ratio.has_value(); }
};

}  // namespace codl::compiler
