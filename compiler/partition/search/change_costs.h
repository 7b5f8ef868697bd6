// Bounds what a change of a plan can gain, by costs of segments.
#pragma once

#include <vector>

#include "compiler/partition/search/plan_changes.h"

namespace codl::compiler {

// The search needs one property of the cost model: what it takes to be hopeless hardly ever makes
// the whole plan faster, and then by little (change_costs_test.cc). It is not simulated then.
class ChangeCosts {
 public:
  // Borrows both. The costs must not change.
  ChangeCosts(const CostModel& costs, const RunList& list);

  // Returns true if the new runs take much longer by costs of segments than the old ones do, a
  // synchronisation each way, and all that could be done meanwhile: costs of segments leave out
  // what is beside them.
  bool is_hopeless(const Change& change) const;

 private:
  double segments_us(size_t begin, size_t end, llvm::ArrayRef<RunPtr> runs) const;

  const CostModel& costs_;
  const RunList& list_;
  const std::vector<double> beside_us_;  // indexed by node
};

}  // namespace codl::compiler
