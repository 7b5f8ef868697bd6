#include "kernels/common/work/work_counts.h"
#include "kernels/conv_nd/conv_nd.h"

namespace codl::kernels::conv_nd {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const OperandShape& w = step.operands[1];
  const bool is_transposed = step.params_as<ConvNdParams>().is_transposed != 0;
  const OperandShape& map = is_transposed ? step.operands[0] : step.output();
  double macs = static_cast<double>(element_count(map)) * w.dims[1];
  for (int32_t i = 2; i < w.rank; ++i) macs *= w.dims[i];
  out->macs = out->needed_macs = macs;
  fill_loops(step, machine, 2 * macs / static_cast<double>(element_count(step.output())),
             all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Convolution, work};

}  // namespace codl::kernels::conv_nd
