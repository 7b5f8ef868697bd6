#include "kernels/common/cpu_dispatch.h"
#include "kernels/reduce/reduce.h"

namespace codl::kernels {

void reduce_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(reduce_any_cpu, reduce_ref);

}  // namespace codl::kernels
