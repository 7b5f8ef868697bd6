#include "kernels/cast/cast.h"
#include "kernels/common/cpu_dispatch.h"

namespace codl::kernels {

void cast_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(cast_any_cpu, cast_ref);

}  // namespace codl::kernels
