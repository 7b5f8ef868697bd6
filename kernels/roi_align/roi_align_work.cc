#include "kernels/common/work/work_counts.h"
#include "kernels/roi_align/roi_align.h"

namespace codl::kernels::roi_align {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const int32_t ratio = step.params_as<RoiAlignParams>().sampling_ratio;
  // 0 takes as many as a bin has pixels, of which nothing is known here.
  const double samples = ratio > 0 ? static_cast<double>(ratio) * ratio : 4.0;
  constexpr double kCorners = 4;
  out->operations = 2 * samples * kCorners * static_cast<double>(element_count(step.output()));
  fill_loops(step, machine, samples * kCorners, all_read_bytes(step), out);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Window, work};

}  // namespace codl::kernels::roi_align
