#include <cmath>

#include "kernels/common/work/work_counts.h"
#include "kernels/pool2d/pool2d.h"

namespace codl::kernels::pool2d {
namespace {

// Counts an axis' taps inside the map, for all outputs of a range.
double taps_inside(int32_t stride, int32_t dilation, int32_t kernel, int32_t pad_begin,
                   int32_t pad_end, int32_t input, Range outputs) {
  double count = 0;
  for (int32_t o = outputs.begin; o < outputs.end; ++o) {
    const PoolTaps taps = pool2d_taps(o, stride, dilation, kernel, pad_begin, pad_end, input);
    count += taps.end - taps.begin;
  }
  return count;
}

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<Pool2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const double channels =
      round_up(channels_of_part(step.part_dim, step.part, y).count() - pool2d_added_channels(x, y),
               kChannelPad);
  const double images = y.dims[0];
  const double row_taps = taps_inside(params.stride_h, params.dilation_h, params.kernel_h,
                                      params.pad_top, params.pad_bottom, x.dims[2], rows);
  const double column_taps =
      taps_inside(params.stride_w, params.dilation_w, params.kernel_w, params.pad_left,
                  params.pad_right, x.dims[3], {0, y.dims[3]});
  // Rows and columns that strides step over are not read.
  const Range range = pool2d_input_range(rows, params.stride_h, params.dilation_h, params.kernel_h,
                                         params.pad_top, x.dims[2]);
  const bool is_apart = (params.kernel_h - 1) * params.dilation_h < params.stride_h;
  const double input_rows = is_apart ? row_taps : range.count();
  const double input_columns = smaller(column_taps, x.dims[3]);
  const double read_bytes = images * input_rows * input_columns * channels * element_bytes(x);
  const double outputs = images * rows.count() * y.dims[3] * channels;
  const double uses = images * row_taps * column_taps * channels;
  // Each tap takes a maximum or a sum. A 3x3 maximum shares with its neighbours: three rows of a
  // column are counted once, then three columns.
  const bool is_shared = is_cpu(step) && pool2d_has_max_runs(params) && machine.vector_lanes > 1;
  // On x86 a maximum that keeps a NaN is three instructions.
  const bool is_max = params.kind == kPool2dMax;
  const double combine = is_cpu(step) && is_max && machine.vector_lanes > 4 ? 3 : 1;
  const double vectors =
      is_cpu(step) ? vector_channels(channels, machine.vector_lanes) / channels : 1;
  out->operations = (is_shared ? outputs * (2.0 * params.stride_w + 2) : uses) * combine * vectors;
  if (!is_max)
    out->transcendentals = is_cpu(step) ? outputs * vectors : images * rows.count() * y.dims[3];
  out->moved_bytes =
      (is_shared ? outputs * 3.0 * params.stride_w : uses) * element_bytes(x) + written_bytes(step);
  out->run_bytes = channels_of_part(step.part_dim, step.part, y).count() == y.dims[1]
                       ? y.dims[3] * channels * element_bytes(y)
                       : channels * element_bytes(y);
  out->tile_calls = images * rows.count() * y.dims[3];
  if (is_cpu(step)) {
    const Pool2dWork work = pool2d_work(params, step.part_dim, step.part, x, y);
    fill_tasks(work.units, work.task_count, machine, out);
    // A call computes four vectors (AVX2: eight) or one of an output, or of each row of its taps.
    const double lanes = machine.vector_lanes;
    const double most = lanes * (lanes == 8 ? 8 : 4);
    const double wide = std::floor(channels / most);
    const double calls = wide + vector_channels(channels - wide * most, lanes) / lanes;
    out->tile_calls = images * calls * (is_shared ? rows.count() : row_taps) * y.dims[3];
  } else {
    const double items = pool2d_is_split(params) ? kPool2dTapSplit : 1;
    out->tile_calls = out->waves * std::ceil(double{1} * params.kernel_h * params.kernel_w / items);
    out->item_registers = 2 * cl_item_lanes(step);
  }
  WorkMemory memory(step, machine, out);
  memory.read_channels(read_bytes);
  memory.write(written_bytes(step));
  // The next row of windows reads these rows, too.
  const double again = larger(row_taps / larger(input_rows, 1) - 1, 0);
  memory.again(read_bytes * again, params.kernel_h * read_bytes / larger(images * input_rows, 1) +
                                       written_bytes(step) / (images * rows.count()));
  memory.finish();
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Window, work, choose_chunk_lanes};

}  // namespace codl::kernels::pool2d
