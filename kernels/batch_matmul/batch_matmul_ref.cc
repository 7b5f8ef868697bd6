#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/cpu_dispatch.h"

namespace codl::kernels {

void batch_matmul_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(batch_matmul_any_cpu, batch_matmul_ref);

}  // namespace codl::kernels
