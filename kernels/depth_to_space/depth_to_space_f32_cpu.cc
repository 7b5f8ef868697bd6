#include "kernels/common/cpu_dispatch.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {

CODL_CPU_KERNEL_PLAIN(depth_to_space_f32_cpu, depth_to_space_ref);  // SKELETON

}  // namespace codl::kernels
