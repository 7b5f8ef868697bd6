#include "kernels/common/work/work_counts.h"
#include "kernels/non_max_suppression/non_max_suppression.h"

namespace codl::kernels::non_max_suppression {
namespace {

// Counts as if each box were compared with half of the others.
void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& scores = step.operands[1];
  const double pairs = static_cast<double>(element_count(scores)) * scores.dims[2] / 2;
  constexpr double kOperations = 12;  // an intersection and a union take so many
  out->operations = kOperations * pairs;
  out->transcendentals = pairs;  // the quotient
  fill_loops(step, machine, 4 * pairs / static_cast<double>(element_count(step.output())),
             all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Reduction, work};

}  // namespace codl::kernels::non_max_suppression
