#include "kernels/common/cpu_dispatch.h"
#include "kernels/gather_nd/gather_nd.h"

namespace codl::kernels {

void gather_nd_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(gather_nd_any_cpu, gather_nd_ref);

}  // namespace codl::kernels
