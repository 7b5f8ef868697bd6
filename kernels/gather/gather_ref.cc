#include "kernels/common/cpu_dispatch.h"
#include "kernels/gather/gather.h"

namespace codl::kernels {

void gather_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(gather_any_cpu, gather_ref);

}  // namespace codl::kernels
