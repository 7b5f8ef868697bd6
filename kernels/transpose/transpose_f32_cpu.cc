#include <cstring>

#include "kernels/common/cpu_dispatch.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {
namespace {

// The output's axes with their step in the input, in elements; neighbours that stay neighbours in
// the input are one axis.
struct Axes {
  int32_t count = 0;
  int64_t extents[kMaxRank];
  int64_t steps[kMaxRank];
};

Axes merged_axes(const KernelArgs& args) {
  int32_t perm[kMaxRank];
  transpose_perm(args.params_as<TransposeParams>(), perm);
  const TensorView& x = args.operands[0];
  const OperandShape& y = args.output().shape;
  Axes axes;
  for (int32_t i = 0; i < y.rank; ++i) {
    const int64_t step = x.strides[perm[i]];
    const int64_t extent = y.dims[i];
    if (extent == 1) continue;
    if (axes.count > 0 && axes.steps[axes.count - 1] == step * extent) {
      axes.extents[axes.count - 1] *= extent;
      axes.steps[axes.count - 1] = step;
      continue;
    }
    axes.extents[axes.count] = extent;
    axes.steps[axes.count] = step;
    ++axes.count;
  }
  if (axes.count == 0) {
    axes.extents[0] = 1;
    axes.steps[0] = 1;
    axes.count = 1;
  }
  return axes;
}

void transpose(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const int64_t elements = element_count(y.shape);
  const Units units =
      units_of_tasks(ceil_div(elements, kTransposeBlock), transpose_task_count(elements),
                     args.task_begin, args.task_end);
  int64_t begin = units.begin * kTransposeBlock;
  const int64_t end =
      units.end * kTransposeBlock < elements ? units.end * kTransposeBlock : elements;
  const Axes axes = merged_axes(args);
  const int32_t last = axes.count - 1;
  while (begin < end) {
    // From here to the end of the last axis, or of the block.
    int64_t rest = begin;
    int64_t from = 0;
    int64_t count = end - begin;
    for (int32_t i = last; i >= 0; --i) {
      const int64_t index = rest % axes.extents[i];
      if (i == last && axes.extents[i] - index < count) count = axes.extents[i] - index;
      from += index * axes.steps[i];
      rest /= axes.extents[i];
    }
    const float* x_run = x.as<const float>() + from;
    float* y_run = y.as<float>() + begin;
    const int64_t step = axes.steps[last];
    if (step == 1)
      std::memcpy(y_run, x_run, static_cast<size_t>(count) * sizeof(float));
    else
      for (int64_t i = 0; i < count; ++i) y_run[i] = x_run[i * step];
    begin += count;
  }
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(transpose_f32_cpu, transpose);

}  // namespace codl::kernels
