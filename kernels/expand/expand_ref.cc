#include "kernels/common/cpu_dispatch.h"
#include "kernels/expand/expand.h"

namespace codl::kernels {

void expand_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(expand_any_cpu, expand_ref);

}  // namespace codl::kernels
