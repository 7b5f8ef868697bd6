#include "kernels/common/cpu_dispatch.h"
#include "kernels/non_zero/non_zero.h"

namespace codl::kernels {

void non_zero_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(non_zero_any_cpu, non_zero_ref);

}  // namespace codl::kernels
