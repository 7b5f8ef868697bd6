#include "kernels/common/work/work_counts.h"
#include "kernels/top_k/top_k.h"

namespace codl::kernels::top_k {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto elements = static_cast<double>(element_count(step.operands[0]));
  const int32_t k = step.params_as<TopKParams>().k;
  const int levels = 32 - __builtin_clz(static_cast<uint32_t>(k));  // 1 + log2 k, of a heap
  out->operations = elements * levels;
  fill_loops(step, machine, elements * levels / static_cast<double>(element_count(step.output())),
             all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Reduction, work};

}  // namespace codl::kernels::top_k
