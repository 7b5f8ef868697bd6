#include "kernels/common/contract/scatter_reduction.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/scatter_elements/scatter_elements.h"

namespace codl::kernels {

void scatter_elements_ref(const KernelArgs& args) {
  const auto& params = args.params_as<ScatterElementsParams>();
  const TensorView& updates = args.operands[2];
  const TensorView& y = args.output();
  const int64_t bytes = static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  std::memcpy(y.data, args.operands[0].data, static_cast<size_t>(element_count(y.shape) * bytes));

  const int64_t* index = args.operands[1].as<const int64_t>();
  const int32_t last = y.shape.rank - 1;
  const int64_t columns = updates.shape.dims[last];
  const int64_t dim = y.shape.dims[params.axis];
  const int64_t axis_bytes = y.strides[params.axis] * bytes;
  const int64_t column_bytes = params.axis == last ? 0 : bytes;
  const char* from = updates.as<const char>();
  const int64_t rows = element_count(updates.shape, 0, last);
  for (int64_t row = 0; row < rows; ++row) {
    char* const to = y.as<char>() + offset_of_row(y, updates.shape, row, params.axis) * bytes;
    for (int64_t i = 0; i < columns; ++i, from += bytes) {
      const int64_t place = *index++;
      if (!is_index_inside(place, dim)) continue;
      scatter_run(y.shape.dtype, params.reduction,
                  to + i * column_bytes + clamp_index(place, dim) * axis_bytes, from, 1);
    }
  }
}

CODL_CPU_KERNEL_PLAIN(scatter_elements_any_cpu, scatter_elements_ref);

}  // namespace codl::kernels
