#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/cpu_dispatch.h"

namespace codl::kernels {

CODL_CPU_KERNEL_PLAIN(batch_matmul_f32_cpu, batch_matmul_ref);  // SKELETON

}  // namespace codl::kernels
