#include "kernels/common/cpu_dispatch.h"
#include "kernels/gather_elements/gather_elements.h"

namespace codl::kernels {

void gather_elements_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(gather_elements_any_cpu, gather_elements_ref);

}  // namespace codl::kernels
