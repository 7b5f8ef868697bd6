#include "kernels/common/cpu_dispatch.h"
#include "kernels/slice/slice.h"

namespace codl::kernels {

void slice_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(slice_any_cpu, slice_ref);

}  // namespace codl::kernels
