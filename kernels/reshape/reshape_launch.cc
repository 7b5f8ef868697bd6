#include "kernels/common/launch/cl_launch.h"
#include "kernels/reshape/reshape.h"

namespace codl::kernels {

void reshape_launch(const StepShape& step, ClLaunch* out_launch) {
  const int64_t elements = element_count(step.output());
  set_line(step, ceil_div(elements, kClLanes), out_launch);
  out_launch->add_int(static_cast<int32_t>(elements));
}

}  // namespace codl::kernels
