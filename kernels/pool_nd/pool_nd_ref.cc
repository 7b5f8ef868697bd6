#include "kernels/common/cpu_dispatch.h"
#include "kernels/pool_nd/pool_nd.h"

namespace codl::kernels {

void pool_nd_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(pool_nd_any_cpu, pool_nd_ref);

}  // namespace codl::kernels
