#include "kernels/common/cpu_dispatch.h"
#include "kernels/roi_align/roi_align.h"

namespace codl::kernels {

void roi_align_ref(const KernelArgs&) {}  // SKELETON

CODL_CPU_KERNEL_PLAIN(roi_align_any_cpu, roi_align_ref);

}  // namespace codl::kernels
