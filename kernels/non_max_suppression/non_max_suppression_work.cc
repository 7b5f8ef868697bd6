#include "kernels/common/work_counts.h"
#include "kernels/non_max_suppression/non_max_suppression.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const OperandShape& scores = step.operands[1];
  add_traffic(step, out_features);
  out_features->add("mmacs",
                    static_cast<double>(element_count(scores)) * scores.dims[2] / 2 * 1e-6);
}

// As if each box were compared with half of the others.
void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& scores = step.operands[1];
  const double pairs = static_cast<double>(element_count(scores)) * scores.dims[2] / 2;
  constexpr double kOperations = 12;  // of an intersection and a union
  out->operations = kOperations * pairs;
  out->transcendentals = pairs;  // the quotient
  fill_loops(step, machine, 4 * pairs / static_cast<double>(element_count(step.output())),
             all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kNonMaxSuppressionWork;
const OpWork kNonMaxSuppressionWork = {features, work};

}  // namespace codl::kernels
