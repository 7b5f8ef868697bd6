#include "compiler/partition/search/change_costs.h"

#include <algorithm>

#include "compiler/partition/search/work_beside.h"

namespace codl::compiler {
namespace {

// A change may look slower than the old runs by this factor and still be faster: costs of segments
// do not know that one queue may be late or early.
constexpr double kHopeless = 1.05;

}  // namespace

ChangeCosts::ChangeCosts(const CostModel& costs, const RunList& list)
    : costs_(costs), list_(list), beside_us_(work_beside_us(costs)) {}

bool ChangeCosts::is_hopeless(const Change& change) const {
  const llvm::ArrayRef<RunPtr> old = list_.stretch(change.begin, change.end);
  const double hidden_us = *std::max_element(beside_us_.begin() + old.front()->first,
                                             beside_us_.begin() + old.back()->last + 1);
  return segments_us(change.begin, change.end, change.runs) >
         kHopeless * segments_us(change.begin, change.end, old) + costs_.synchronisation_us() +
             hidden_us;
}

// Returns the cost of `runs` in the place of runs [begin, end), with the transfers around them.
double ChangeCosts::segments_us(size_t begin, size_t end, llvm::ArrayRef<RunPtr> runs) const {
  double us = 0;
  ValueSplit before;
  if (begin > 0) before = list_.runs()[begin - 1]->segment.output;
  for (const RunPtr& run : runs) {
    us += costs_.transfer_us(before, run->segment) + compute_us(*run);
    before = run->segment.output;
  }
  if (end < list_.runs().size()) us += costs_.transfer_us(before, list_.runs()[end]->segment);
  return us;
}

}  // namespace codl::compiler
