#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/reshape/reshape.h"

namespace codl::kernels {
namespace {

void reshape(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  if (x.data == y.data) return;
  const int64_t elements = element_count(y.shape);
  const Units units = units_of_tasks(ceil_div(elements, kReshapeBlock),
                                     reshape_task_count(elements), args.task_begin, args.task_end);
  const int64_t begin = units.begin * kReshapeBlock;
  const int64_t end = units.end * kReshapeBlock < elements ? units.end * kReshapeBlock : elements;
  const auto bytes = static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  if (begin < end)
    std::memcpy(y.as<char>() + begin * bytes, x.as<const char>() + begin * bytes,
                static_cast<size_t>((end - begin) * bytes));
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(reshape_f32_cpu, reshape);

}  // namespace codl::kernels
