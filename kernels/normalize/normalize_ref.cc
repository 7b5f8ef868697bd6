#include "kernels/common/cpu_dispatch.h"
#include "kernels/normalize/normalize.h"

namespace codl::kernels {

void normalize_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(normalize_any_cpu, normalize_ref);

}  // namespace codl::kernels
