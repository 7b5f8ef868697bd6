#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/reshape/reshape.h"

namespace codl::kernels {

void reshape_ref(const KernelArgs& args) {
  const TensorView& y = args.output();
  if (y.data == args.operands[0].data) return;
  std::memcpy(y.data, args.operands[0].data,
              static_cast<size_t>(element_count(y.shape)) * dtype_bytes(y.shape.dtype));
}

CODL_CPU_KERNEL_PLAIN(reshape_any_cpu, reshape_ref);

}  // namespace codl::kernels
