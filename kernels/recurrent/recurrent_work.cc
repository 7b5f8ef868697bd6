#include "kernels/common/work/work_counts.h"
#include "kernels/recurrent/recurrent.h"

namespace codl::kernels {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<RecurrentParams>();
  const OperandShape& x = step.operands[0];
  const double weights = static_cast<double>(element_count(step.operands[1])) +
                         static_cast<double>(element_count(step.operands[2]));
  // Each step of each sequence passes all weights.
  const double macs = weights * x.dims[0] * x.dims[1];
  out->macs = out->needed_macs = macs;
  // A curve for each gate and one for the state: of an LSTM five, of a GRU three.
  const auto elements = static_cast<double>(element_count(step.output()));
  const double curves = params.kind == kRecurrentLstm ? 5 : params.kind == kRecurrentRnn ? 1 : 3;
  out->transcendentals = 2 * curves * elements;
  out->operations = 2 * curves * elements;
  fill_loops(step, machine, 2 * macs / elements, all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kRecurrentWork;
const OpWork kRecurrentWork = {KernelFamily::Product, work};

}  // namespace codl::kernels
