#include "kernels/common/cpu_dispatch.h"
#include "kernels/depth_to_space/depth_to_space.h"

namespace codl::kernels {

void depth_to_space_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(depth_to_space_any_cpu, depth_to_space_ref);

}  // namespace codl::kernels
