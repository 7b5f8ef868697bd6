// Searches locally: changes a partition plan here and there as long as whole plans get faster.
//
// The strategies decide by costs of single segments. Only a whole plan shows the rest: processors
// that run on while the other is late, branches side by side, transfers after other work. So the
// caller judges every change by the whole plan: by the simulator's time of the real schedule
// (compiler/variants/candidate.cc).
#pragma once

#include <cstdint>

#include "compiler/partition/cost_model.h"
#include "compiler/partition/options.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

struct Polished {
  PartitionPlan plan;
  int64_t predicted_ns = 0;
  uint32_t evaluations = 0;  // whole plans that were judged
};

// Returns the nanoseconds of a whole plan, or an Internal error.
using JudgePlan = llvm::function_ref<llvm::Expected<int64_t>(const PartitionPlan& plan)>;

// Returns, in a fraction of a judgement's time, nanoseconds that no judgement of the plan is below.
// A plan whose floor is no better is judged no further. If it is null, every plan is judged.
using FloorOfPlan = JudgePlan;

// Starts from `seed` and judges at most `budget` plans. It tries in turn, for every place of the
// graph's order: other cuts (first those at which the run takes least by itself), the other dim,
// one processor, a chain longer or shorter at either end, two chains in one, a run of nodes on one
// processor or in one chain. The first change that helps is kept; the search ends when none does,
// or at the budget. The same inputs give the same plan on every machine: times are whole
// nanoseconds, and equal ones change nothing. Chains keep to options.max_chain. It does not serve
// options that force a split.
llvm::Expected<Polished> polish(const CostModel& costs, const PartitionOptions& options,
                                const PartitionPlan& seed, uint32_t budget, JudgePlan judge,
                                FloorOfPlan floor = nullptr);

}  // namespace codl::compiler
