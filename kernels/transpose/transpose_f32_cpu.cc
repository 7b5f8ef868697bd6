#include <cstring>

#include "kernels/common/cpu_dispatch.h"
#include "kernels/common/loop_axes.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {
namespace {

void transpose(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  int32_t perm[kMaxRank];
  transpose_perm(args.params_as<TransposeParams>(), perm);
  LoopAxes axes;
  for (int32_t i = 0; i < y.shape.rank; ++i) axes.append(y.shape.dims[i], x.strides[perm[i]], 0);
  const int64_t step = axes.last_step(0);

  const int64_t elements = element_count(y.shape);
  const Units units =
      units_of_tasks(ceil_div(elements, kTransposeBlock), transpose_task_count(elements),
                     args.task_begin, args.task_end);
  int64_t begin = units.begin * kTransposeBlock;
  const int64_t end =
      units.end * kTransposeBlock < elements ? units.end * kTransposeBlock : elements;
  while (begin < end) {
    const LoopAxes::Run run = axes.run_at(begin, end);
    const float* x_run = x.as<const float>() + run.offsets[0];
    float* y_run = y.as<float>() + begin;
    if (step == 1)
      std::memcpy(y_run, x_run, static_cast<size_t>(run.count) * sizeof(float));
    else
      for (int64_t i = 0; i < run.count; ++i) y_run[i] = x_run[i * step];
    begin += run.count;
  }
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(transpose_f32_cpu, transpose);

}  // namespace codl::kernels
