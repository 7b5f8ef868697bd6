#include "kernels/common/cpu_dispatch.h"
#include "kernels/grid_sample/grid_sample.h"

namespace codl::kernels {

void grid_sample_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(grid_sample_any_cpu, grid_sample_ref);

}  // namespace codl::kernels
