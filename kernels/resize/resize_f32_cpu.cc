#include "kernels/common/cpu_dispatch.h"
#include "kernels/resize/resize.h"

namespace codl::kernels {

CODL_CPU_KERNEL_PLAIN(resize_f32_cpu, resize_ref);  // SKELETON

}  // namespace codl::kernels
