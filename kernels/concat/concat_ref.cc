#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/common/reference/ref_index.h"
#include "kernels/concat/concat.h"

namespace codl::kernels {
namespace {

// Goes input by input and copies a run for each index in front of the axis.
void join_plain(const KernelArgs& args, int32_t axis) {
  const TensorView& y = args.output();
  const int64_t bytes = static_cast<int64_t>(dtype_bytes(y.shape.dtype));
  const int64_t outer = element_count(y.shape, 0, axis);
  const int64_t y_run = y.strides[axis] * y.shape.dims[axis] * bytes;
  int64_t joined = 0;
  for (uint32_t i = 0; i + 1 < args.operand_count; ++i) {
    const TensorView& x = args.operands[i];
    const int64_t run = x.strides[axis] * x.shape.dims[axis] * bytes;
    for (int64_t k = 0; k < outer; ++k)
      move_few(y.as<char>() + k * y_run + joined, x.as<const char>() + k * run, run);
    joined += run;
  }
}

}  // namespace

void concat_ref(const KernelArgs& args) {
  const int32_t axis = args.params_as<ConcatParams>().axis;
  const TensorView& y = args.output();
  if (y.shape.layout == Layout::Plain) {
    join_plain(args, axis);
    return;
  }
  for_each_output(args, [&](const int32_t* index) {
    int32_t from[kMaxRank] = {};
    for (int32_t i = 0; i < y.shape.rank; ++i) from[i] = index[i];
    uint32_t input = 0;
    while (from[axis] >= args.operands[input].shape.dims[axis])
      from[axis] -= args.operands[input++].shape.dims[axis];
    const TensorView& x = args.operands[input];
    copy_element(y, offset_of(y, index), x, offset_of(x, from));
  });
  zero_pad_lanes(args);
}

CODL_CPU_KERNEL_PLAIN(concat_any_cpu, concat_ref);

}  // namespace codl::kernels
