#include "kernels/common/work/work_counts.h"
#include "kernels/random/random.h"

namespace codl::kernels::random {
namespace {

// Counts the result alone, because x is not read.
void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  StepShape alone = step;
  alone.operands = &step.output();
  alone.operand_count = 1;
  count_loops(alone, machine, out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Elementwise, work};

}  // namespace codl::kernels::random
