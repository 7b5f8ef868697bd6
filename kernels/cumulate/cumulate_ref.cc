#include "kernels/common/cpu_dispatch.h"
#include "kernels/cumulate/cumulate.h"

namespace codl::kernels {

void cumulate_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(cumulate_any_cpu, cumulate_ref);

}  // namespace codl::kernels
