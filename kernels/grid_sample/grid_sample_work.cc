#include "kernels/common/work/work_counts.h"
#include "kernels/grid_sample/grid_sample.h"

namespace codl::kernels::grid_sample {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  double looks = 1;
  for (int32_t i = 2; i < step.output().rank; ++i)
    looks *= grid_sample_taps(step.params_as<GridSampleParams>().kind);
  out->operations = 2 * looks * static_cast<double>(element_count(step.output()));
  fill_loops(step, machine, looks, all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Window, work};

}  // namespace codl::kernels::grid_sample
