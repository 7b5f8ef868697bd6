#include "kernels/common/cpu_dispatch.h"
#include "kernels/scatter_nd/scatter_nd.h"

namespace codl::kernels {

void scatter_nd_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(scatter_nd_any_cpu, scatter_nd_ref);

}  // namespace codl::kernels
