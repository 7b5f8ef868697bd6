#include "kernels/common/cpu_dispatch.h"
#include "kernels/recurrent/recurrent.h"

namespace codl::kernels {

void recurrent_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(recurrent_any_cpu, recurrent_ref);

}  // namespace codl::kernels
