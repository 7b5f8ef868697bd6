#include "kernels/common/cpu_dispatch.h"
#include "kernels/resize/resize.h"

namespace codl::kernels {

void resize_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(resize_any_cpu, resize_ref);

}  // namespace codl::kernels
