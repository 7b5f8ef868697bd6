#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/cumulate/cumulate.h"

namespace codl::kernels {
namespace {

// T: float, double, or an unsigned integer of the elements' size, whose overflow wraps; Wide: what
// T does not become an int in.
template <typename T, typename Wide = T>
void run(const KernelArgs& args) {
  const auto& params = args.params_as<CumulateParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const int64_t length = y.shape.dims[params.axis];
  const int64_t inner = y.strides[params.axis];
  const int64_t outer = element_count(y.shape) / (length * inner);
  const int64_t step = params.is_reverse != 0 ? -inner : inner;
  const int64_t first = params.is_reverse != 0 ? (length - 1) * inner : 0;
  for (int64_t n = 0; n < outer; ++n) {
    const T* from = x.as<const T>() + n * length * inner + first;
    T* to = y.as<T>() + n * length * inner + first;
    for (int64_t i = 0; i < inner; ++i)
      to[i] = params.is_exclusive == 0 ? from[i] : static_cast<T>(params.is_product != 0);
    if (params.is_exclusive == 0) from += step;
    for (int64_t k = 1; k < length; ++k, from += step, to += step)
      for (int64_t i = 0; i < inner; ++i)
        to[step + i] = params.is_product != 0 ? static_cast<T>(Wide{to[i]} * from[i])
                                              : static_cast<T>(Wide{to[i]} + from[i]);
  }
}

}  // namespace

void cumulate_ref(const KernelArgs& args) {
  const DType dtype = args.output().shape.dtype;
  if (dtype == DType::F32) return run<float>(args);
  if (dtype == DType::F64) return run<double>(args);
  switch (dtype_bytes(dtype)) {
    case 1:
      return run<uint8_t, uint32_t>(args);
    case 2:
      return run<uint16_t, uint32_t>(args);
    case 4:
      return run<uint32_t>(args);
    default:
      return run<uint64_t>(args);
  }
}

CODL_CPU_KERNEL_PLAIN(cumulate_any_cpu, cumulate_ref);

}  // namespace codl::kernels
