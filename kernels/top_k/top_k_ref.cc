#include "kernels/common/cpu_dispatch.h"
#include "kernels/top_k/top_k.h"

namespace codl::kernels {

void top_k_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(top_k_any_cpu, top_k_ref);

}  // namespace codl::kernels
