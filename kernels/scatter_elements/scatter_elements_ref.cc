#include "kernels/common/cpu_dispatch.h"
#include "kernels/scatter_elements/scatter_elements.h"

namespace codl::kernels {

void scatter_elements_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(scatter_elements_any_cpu, scatter_elements_ref);

}  // namespace codl::kernels
