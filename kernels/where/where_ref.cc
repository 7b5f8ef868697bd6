#include "kernels/common/cpu_dispatch.h"
#include "kernels/where/where.h"

namespace codl::kernels {

void where_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(where_any_cpu, where_ref);

}  // namespace codl::kernels
