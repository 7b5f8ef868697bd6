#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/concat/concat.h"

namespace codl::kernels {
namespace {

// A call of memcpy costs as much as copying the few channels of a pixel; blocks of known size are
// a few moves each.
void copy_bytes(char* to, const char* from, int64_t bytes) {
  int64_t i = 0;
  for (; i + 64 <= bytes; i += 64) std::memcpy(to + i, from + i, 64);
  for (; i + 16 <= bytes; i += 16) std::memcpy(to + i, from + i, 16);
  for (; i + 4 <= bytes; i += 4) std::memcpy(to + i, from + i, 4);
  if ((bytes & 2) != 0) {
    std::memcpy(to + i, from + i, 2);
    i += 2;
  }
  if (i < bytes) to[i] = from[i];
}

int64_t element_bytes(const TensorView& y) {
  return static_cast<int64_t>(dtype_bytes(y.shape.dtype));
}

// Writes elements [begin, end) of y: a run of each input for each index in front of the axis.
void join_plain(const KernelArgs& args, int32_t axis, int64_t begin, int64_t end) {
  const TensorView& y = args.output();
  const int64_t bytes = element_bytes(y);
  const int64_t inner = y.strides[axis];
  const int64_t y_run = inner * y.shape.dims[axis];
  int64_t outer = begin / y_run;
  int64_t in_run = begin % y_run;
  while (begin < end) {
    int64_t x_begin = in_run;
    uint32_t input = 0;
    while (x_begin >= inner * args.operands[input].shape.dims[axis])
      x_begin -= inner * args.operands[input++].shape.dims[axis];
    const TensorView& x = args.operands[input];
    const int64_t x_run = inner * x.shape.dims[axis];
    const int64_t count = x_run - x_begin < end - begin ? x_run - x_begin : end - begin;
    copy_bytes(y.as<char>() + begin * bytes, x.as<const char>() + (outer * x_run + x_begin) * bytes,
               count * bytes);
    begin += count;
    in_run += count;
    if (in_run == y_run) {
      in_run = 0;
      ++outer;
    }
  }
}

// Writes row `h` of batch `n` of an Nhwc y, joined along channels or columns.
void join_row(const KernelArgs& args, int32_t axis, int64_t n, int32_t h) {
  const TensorView& y = args.output();
  const int64_t bytes = element_bytes(y);
  char* y_row = y.as<char>() + (n * y.strides[0] + (h - y.shape.row_begin) * y.strides[2]) * bytes;
  const int64_t y_pixel = y.strides[3] * bytes;
  const int32_t columns = y.shape.dims[3];
  int64_t joined = 0;
  for (uint32_t i = 0; i + 1 < args.operand_count; ++i) {
    const TensorView& x = args.operands[i];
    const char* x_row =
        x.as<const char>() + (n * x.strides[0] + (h - x.shape.row_begin) * x.strides[2]) * bytes;
    if (is_window_of(x.shape, y.shape)) {
      // It is there.
    } else if (axis == 3) {
      copy_bytes(y_row + joined * y_pixel, x_row, x.shape.dims[3] * y_pixel);
    } else {
      for (int32_t w = 0; w < columns; ++w)
        copy_bytes(y_row + w * y_pixel + joined * bytes, x_row + w * x.strides[3] * bytes,
                   x.shape.dims[1] * bytes);
    }
    joined += x.shape.dims[axis];
  }
  const int64_t end = y.shape.dims[1] * bytes;
  const int64_t pad_end = padded_channels(y.shape) * bytes;
  const auto zero = static_cast<char>(y.shape.zero_point);
  for (int32_t w = 0; w < columns; ++w)
    for (int64_t i = end; i < pad_end; ++i) y_row[w * y_pixel + i] = zero;
}

bool is_in_place(const KernelArgs& args) {
  for (uint32_t i = 0; i + 1 < args.operand_count; ++i)
    if (!is_window_of(args.operands[i].shape, args.output().shape)) return false;
  return true;
}

// The same row where inputs are joined along batch or rows: it is a row of one input.
void copy_row(const KernelArgs& args, int32_t axis, int64_t n, int32_t h) {
  const TensorView& y = args.output();
  int64_t from[4] = {n, 0, h, 0};
  uint32_t input = 0;
  while (from[axis] >= args.operands[input].shape.dims[axis])
    from[axis] -= args.operands[input++].shape.dims[axis];
  const TensorView& x = args.operands[input];
  const int64_t bytes = element_bytes(y);
  copy_bytes(y.as<char>() + (n * y.strides[0] + h * y.strides[2]) * bytes,
             x.as<const char>() + (from[0] * x.strides[0] + from[2] * x.strides[2]) * bytes,
             y.strides[2] * bytes);
}

void concat(const KernelArgs& args) {
  const int32_t axis = args.params_as<ConcatParams>().axis;
  const OperandShape& y = args.output().shape;
  const ConcatWork work = concat_work(args.part_dim, args.part, y);
  if (y.layout == Layout::Nhwc && is_in_place(args)) return;
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  if (y.layout == Layout::Plain) {
    const int64_t elements = element_count(y);
    const int64_t end = units.end * kConcatPlainBlock;
    join_plain(args, axis, units.begin * kConcatPlainBlock, end < elements ? end : elements);
    return;
  }
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = unit / work.rows.count();
    const int32_t h = work.rows.begin + static_cast<int32_t>(unit % work.rows.count());
    if (axis == 1 || axis == 3)
      join_row(args, axis, n, h);
    else
      copy_row(args, axis, n, h);
  }
}

}  // namespace

CODL_CPU_KERNEL_PLAIN(concat_f32_cpu, concat);

}  // namespace codl::kernels
