#include "kernels/common/cpu_dispatch.h"
#include "kernels/conv_nd/conv_nd.h"

namespace codl::kernels {

void conv_nd_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(conv_nd_any_cpu, conv_nd_ref);

}  // namespace codl::kernels
