// The default strategy: it polishes the best plans of others.
#pragma once

#include "compiler/partition/search/polish.h"

namespace codl::compiler {

struct Optimum {
  PartitionPlan plan;
  int64_t predicted_ns = 0;
  uint32_t evaluations = 0;  // whole plans that were judged
};

// Cheaper answers about plans than the judgement of whole ones.
struct JudgeHelp {
  FloorOfPlan floor = nullptr;
  // The judgement where limits are not kept, but what is beyond them counts, times a weight. Where
  // it is there, plans are also led inside the limits by rising weights.
  llvm::function_ref<llvm::Expected<int64_t>(const PartitionPlan& plan, double weight)> weighted =
      nullptr;
};

// Judges at most options.search_budget plans: `more_seeds`, a plan of each strategy, and what
// becomes of the best. Never worse than any of these that it judges. Needs a budget. Errors:
// Unsupported (nodes that no processor of the device can run), and those of `judge`.
llvm::Expected<Optimum> find_optimum(const CostModel& costs, const PartitionOptions& options,
                                     JudgePlan judge, llvm::ArrayRef<PartitionPlan> more_seeds = {},
                                     const JudgeHelp& help = {});

}  // namespace codl::compiler
