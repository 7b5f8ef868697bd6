// Declares the default strategy, which polishes the best plans of others.
#pragma once

#include "compiler/partition/search/polish.h"

namespace codl::compiler {

struct Optimum {
  PartitionPlan plan;
  int64_t predicted_ns = 0;
  uint32_t evaluations = 0;  // whole plans that were judged
};

// Answers questions about plans more cheaply than the judgement of whole ones.
struct JudgeHelp {
  FloorOfPlan floor = nullptr;
  // Scores a plan whose limits need not be kept: exceeding them counts, times a weight. If it is
  // given, rising weights also lead plans inside the limits.
  llvm::function_ref<llvm::Expected<int64_t>(const PartitionPlan& plan, double weight)> weighted =
      nullptr;
};

// Judges at most options.search_budget plans: `more_seeds`, a plan of each strategy, and changes of
// the best. The result is never worse than any of these that it judges. Needs a budget. Errors:
// Unsupported (nodes that no processor of the device can run), and those of `judge`.
llvm::Expected<Optimum> find_optimum(const CostModel& costs, const PartitionOptions& options,
                                     JudgePlan judge, llvm::ArrayRef<PartitionPlan> more_seeds = {},
                                     const JudgeHelp& help = {});

}  // namespace codl::compiler
