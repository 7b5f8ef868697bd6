#include "kernels/common/launch/cl_launch.h"
#include "kernels/reshape/reshape.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_ReshapeBuffer(A, G, N) A(int, item_count) A(int, element_count)
// clang-format on
CODL_CL_ARGS(ReshapeBuffer);

}  // namespace

void reshape_launch(const StepShape& step, ClLaunch* out_launch) {
  const int64_t elements = element_count(step.output());
  out_launch->add(
      ReshapeBufferArgs{.item_count = set_line(step, ceil_div(elements, kClLanes), out_launch),
                        .element_count = static_cast<int32_t>(elements)});
}

}  // namespace codl::kernels
