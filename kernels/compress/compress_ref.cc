#include "kernels/common/cpu_dispatch.h"
#include "kernels/compress/compress.h"

namespace codl::kernels {

void compress_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(compress_any_cpu, compress_ref);

}  // namespace codl::kernels
