#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/gather_nd/gather_nd.h"

namespace codl::kernels {

void gather_nd_ref(const KernelArgs& args) {
  const int32_t batch_dims = args.params_as<GatherNdParams>().batch_dims;
  const TensorView& data = args.operands[0];
  const TensorView& indices = args.operands[1];
  const TensorView& y = args.output();
  const int32_t last = indices.shape.rank - 1;
  const int32_t tuple = indices.shape.dims[last];
  const int64_t element_bytes = static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  const int64_t bytes = data.strides[batch_dims + tuple - 1] * element_bytes;
  const int64_t batch_bytes =
      element_count(data.shape, batch_dims, data.shape.rank) * element_bytes;
  const int64_t batches = element_count(data.shape, 0, batch_dims);
  const int64_t tuples = element_count(indices.shape, batch_dims, last);
  const int64_t* index = indices.as<const int64_t>();
  const char* from = data.as<const char>();
  char* to = y.as<char>();
  for (int64_t batch = 0; batch < batches; ++batch, from += batch_bytes)
    for (int64_t i = 0; i < tuples; ++i, index += tuple, to += bytes)
      move_few(to, from + offset_of_indices(data, batch_dims, index, tuple) * element_bytes, bytes);
}

CODL_CPU_KERNEL_PLAIN(gather_nd_any_cpu, gather_nd_ref);

}  // namespace codl::kernels
