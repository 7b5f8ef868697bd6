#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/slice/slice.h"

namespace codl::kernels {

void slice_ref(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const SliceAxes slice = slice_axes(args.params_as<SliceParams>());
  LoopAxes axes;
  int64_t first = 0;
  for (int32_t i = 0; i < y.shape.rank; ++i) {
    first += slice.start[i] * x.strides[i];
    axes.append(slice.count[i], slice.step[i] * x.strides[i], y.strides[i]);
  }
  const int64_t bytes = static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  const char* const from = x.as<const char>() + first * bytes;
  if (y.data == from) return;  // a run of x, which is there
  move_elements(axes, y.shape.dtype, y.as<char>(), from);
}

CODL_CPU_KERNEL_PLAIN(slice_any_cpu, slice_ref);

}  // namespace codl::kernels
