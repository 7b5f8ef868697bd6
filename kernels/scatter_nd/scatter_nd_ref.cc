#include "kernels/common/contract/scatter_reduction.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/scatter_nd/scatter_nd.h"

namespace codl::kernels {

void scatter_nd_ref(const KernelArgs& args) {
  const int32_t reduction = args.params_as<ScatterNdParams>().reduction;
  const TensorView& indices = args.operands[1];
  const TensorView& y = args.output();
  const DType dtype = y.shape.dtype;
  const int64_t bytes = static_cast<int64_t>(dtype_bytes(dtype));
  std::memcpy(y.data, args.operands[0].data, static_cast<size_t>(element_count(y.shape) * bytes));

  const int32_t last = indices.shape.rank - 1;
  const int32_t tuple = indices.shape.dims[last];
  const int64_t run = y.strides[tuple - 1];
  const int64_t tuples = element_count(indices.shape, 0, last);
  const int64_t* index = indices.as<const int64_t>();
  const char* from = args.operands[2].as<const char>();
  for (int64_t i = 0; i < tuples; ++i, index += tuple, from += run * bytes) {
    bool is_inside = true;
    for (int32_t axis = 0; axis < tuple; ++axis)
      is_inside = is_inside && is_index_inside(index[axis], y.shape.dims[axis]);
    if (!is_inside) continue;
    scatter_run(dtype, reduction, y.as<char>() + offset_of_indices(y, 0, index, tuple) * bytes,
                from, run);
  }
}

CODL_CPU_KERNEL_PLAIN(scatter_nd_any_cpu, scatter_nd_ref);

}  // namespace codl::kernels
