#include "kernels/common/work_counts.h"
#include "kernels/reduce/reduce.h"

namespace codl::kernels {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const int32_t kind = step.params_as<ReduceParams>().kind;
  const auto elements = static_cast<double>(element_count(step.operands[0]));
  const auto results = static_cast<double>(element_count(step.output()));
  const bool is_square = kind == kReduceL2 || kind == kReduceSumSquare;
  out->operations = elements * (is_square ? 2 : 1);
  if (kind == kReduceLogSumExp) out->transcendentals = elements;
  if (kind == kReduceLogSum || kind == kReduceLogSumExp || kind == kReduceL2 || kind == kReduceMean)
    out->transcendentals += results;
  fill_loops(step, machine, elements / results, all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kReduceWork;
const OpWork kReduceWork = {KernelFamily::Reduction, work};

}  // namespace codl::kernels
