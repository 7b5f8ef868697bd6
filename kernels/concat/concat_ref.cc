#include "kernels/common/cpu_dispatch.h"
#include "kernels/common/ref_index.h"
#include "kernels/concat/concat.h"

namespace codl::kernels {

void concat_ref(const KernelArgs& args) {
  const int32_t axis = args.params_as<ConcatParams>().axis;
  const TensorView& y = args.output();
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
