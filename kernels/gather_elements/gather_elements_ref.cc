#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/gather_elements/gather_elements.h"

namespace codl::kernels {

void gather_elements_ref(const KernelArgs& args) {
  const int32_t axis = args.params_as<GatherElementsParams>().axis;
  const TensorView& data = args.operands[0];
  const TensorView& y = args.output();
  const int64_t* index = args.operands[1].as<const int64_t>();
  const int64_t bytes = static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  const int32_t last = y.shape.rank - 1;
  const int64_t columns = y.shape.dims[last];
  const int64_t dim = data.shape.dims[axis];
  const int64_t axis_bytes = data.strides[axis] * bytes;
  const int64_t column_bytes = axis == last ? 0 : bytes;
  char* to = y.as<char>();
  const int64_t rows = element_count(y.shape, 0, last);
  for (int64_t row = 0; row < rows; ++row) {
    const char* from = data.as<const char>() + offset_of_row(data, y.shape, row, axis) * bytes;
    for (int64_t i = 0; i < columns; ++i, to += bytes)
      move_few(to, from + i * column_bytes + clamp_index(*index++, dim) * axis_bytes, bytes);
  }
}

CODL_CPU_KERNEL_PLAIN(gather_elements_any_cpu, gather_elements_ref);

}  // namespace codl::kernels
