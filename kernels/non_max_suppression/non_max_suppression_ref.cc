#include "kernels/common/cpu_dispatch.h"
#include "kernels/non_max_suppression/non_max_suppression.h"

namespace codl::kernels {

void non_max_suppression_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(non_max_suppression_any_cpu, non_max_suppression_ref);

}  // namespace codl::kernels
