#include "kernels/common/contract/move_elements.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/transpose/transpose.h"

namespace codl::kernels {
namespace {

// Runs along y's last axis, in blocks of kTransposeBlock elements.
template <int64_t kBytes>
void move_blocks(const KernelArgs& args, const LoopAxes& axes) {
  const TensorView& y = args.output();
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
    move_run<kBytes>(y.as<char>() + begin * kBytes, kBytes,
                     args.operands[0].as<const char>() + run.offsets[0] * kBytes, step * kBytes,
                     run.count);
    begin += run.count;
  }
}

// Turns rows of squares: kTurnSide indices along the turned axis and all along the last, for each
// index along the other axes.
template <int64_t kBytes>
void turn_squares(const KernelArgs& args, const LoopAxes& axes, int32_t turned) {
  const TensorView& y = args.output();
  const int32_t last = axes.count - 1;
  const int64_t extent = axes.extents[turned];
  const int64_t blocks = ceil_div(extent, kTurnSide);
  const int64_t elements = element_count(y.shape);
  const int64_t others = elements / extent / axes.extents[last];
  const Units units = units_of_tasks(others * blocks, transpose_task_count(elements),
                                     args.task_begin, args.task_end);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t row = unit % blocks * kTurnSide;
    int64_t x_offset = row;
    int64_t y_offset = row * axes.steps[turned][1];
    int64_t rest = unit / blocks;
    for (int32_t i = last - 1; i >= 0; --i) {
      if (i == turned) continue;
      x_offset += rest % axes.extents[i] * axes.steps[i][0];
      y_offset += rest % axes.extents[i] * axes.steps[i][1];
      rest /= axes.extents[i];
    }
    turn_matrix<kBytes>(
        y.as<char>() + y_offset * kBytes, axes.steps[turned][1] * kBytes,
        args.operands[0].as<const char>() + x_offset * kBytes, axes.steps[last][0] * kBytes,
        extent - row < kTurnSide ? extent - row : kTurnSide, axes.extents[last], row);
  }
}

// An element has kBytes.
template <int64_t kBytes>
void transpose_elements(const KernelArgs& args) {
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  int32_t perm[kMaxRank];
  transpose_perm(args.params_as<TransposeParams>(), perm);
  LoopAxes axes;
  for (int32_t i = 0; i < y.shape.rank; ++i)
    axes.append(y.shape.dims[i], x.strides[perm[i]], y.strides[i]);
  const int32_t turned = turned_axis(axes);
  if (turned >= 0)
    turn_squares<kBytes>(args, axes, turned);
  else
    move_blocks<kBytes>(args, axes);
}

void transpose(const KernelArgs& args) {
  switch (dtype_bytes(args.output().shape.dtype)) {
    case 1:
      return transpose_elements<1>(args);
    case 2:
      return transpose_elements<2>(args);
    default:
      return transpose_elements<4>(args);
  }
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(transpose_f32_cpu, transpose);

}  // namespace codl::kernels
