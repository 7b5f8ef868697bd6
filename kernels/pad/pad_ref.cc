#include "kernels/common/cpu_dispatch.h"
#include "kernels/pad/pad.h"

namespace codl::kernels {

void pad_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(pad_any_cpu, pad_ref);

}  // namespace codl::kernels
