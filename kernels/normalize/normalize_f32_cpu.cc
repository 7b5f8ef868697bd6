#include "kernels/common/cpu_dispatch.h"
#include "kernels/normalize/normalize.h"

namespace codl::kernels {

CODL_CPU_KERNEL_PLAIN(normalize_f32_cpu, normalize_ref);  // SKELETON

}  // namespace codl::kernels
