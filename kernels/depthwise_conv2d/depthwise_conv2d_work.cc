#include <cmath>

#include "kernels/common/work/work_counts.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

namespace codl::kernels::depthwise_conv2d {
namespace {

void work(const StepShape& step, const WorkMachine& machine, StepWork* out) {
  const auto& params = step.params_as<DepthwiseConv2dParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  const WindowAxis vertical = vertical_axis(params, w.dims);
  const WindowAxis horizontal = horizontal_axis(params, w.dims);
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  const int32_t channels = channels_of_part(step.part_dim, step.part, y).count();
  const double images = y.dims[0];
  const double pixels = images * rows.count() * y.dims[3];
  const double taps = double{1} * w.dims[2] * w.dims[3];
  const double stored = round_up(channels, kChannelPad);
  const auto input_rows = static_cast<double>(inputs_read(vertical, x.dims[2], y.dims[2], rows));
  const double read_bytes =
      images * input_rows * stored * element_bytes(x) *
      static_cast<double>(inputs_read(horizontal, x.dims[3], y.dims[3], {0, y.dims[3]}));
  const double residual_bytes =
      params.has_residual == 0 ? 0 : pixels * stored * element_bytes(step.operands[3]);
  const double weight_bytes = round_up(channels, kChannelPanel) *
                              (taps * element_bytes(w) + element_bytes(step.operands[2]));
  out->needed_macs = pixels * channels * taps;
  if (residual_bytes > 0) out->operations += pixels * channels;
  add_curve(params.activation, pixels * channels, machine, out);
  out->moved_bytes = residual_bytes + written_bytes(step);
  out->run_bytes =
      channels == y.dims[1] ? y.dims[3] * stored * element_bytes(y) : channels * element_bytes(y);
  const double row_bytes = read_bytes / larger(images * input_rows, 1);
  const double more_rows = larger(double{1} * vertical.taps / vertical.stride - 1, 0);

  if (is_cpu(step)) {
    const DepthwiseConv2dWork work = depthwise_conv2d_work(w, y, step.part_dim, step.part);
    // Taps in the padding are left out; the last vector begins early, but where a residual or pad
    // lanes forbid it: then it is of a part, with loads and stores of its own for each tap.
    const int32_t vector_lanes = mac_lanes(machine, *out);
    const double lanes = round_up(channels, vector_lanes);
    const bool is_whole = residual_bytes == 0 && channels % kChannelPad == 0;
    const bool has_rest = channels % vector_lanes != 0 && !(is_whole && channels >= vector_lanes);
    const double tap_rows =
        images * static_cast<double>(taps_inside(vertical, x.dims[2], y.dims[2], rows));
    const auto row_taps =
        static_cast<double>(taps_inside(horizontal, x.dims[3], y.dims[3], {0, y.dims[3]}));
    out->macs = tap_rows * row_taps * lanes;
    // A run of outputs loads each of its inputs once for the taps of a row, and these weights.
    const double runs = std::ceil(double{1} * y.dims[3] / kDepthwiseRunOutputs);
    const double run_inputs = y.dims[3] * horizontal.stride + runs * (horizontal.taps - 1);
    out->moved_bytes += tap_rows * lanes *
                        (smaller(row_taps, run_inputs) * element_bytes(x) +
                         runs * horizontal.taps * element_bytes(w));
    out->tile_calls = images * rows.count() * runs * (lanes / vector_lanes);
    if (has_rest) out->gathers = tap_rows * row_taps + pixels;
    // Rows make the tasks, or, of few rows, rows and panels.
    fill_tasks(work.panel_blocks == 1 ? work.image_rows : work.task_count, work.task_count, machine,
               out);
    const double pass =
        static_cast<double>(depthwise_conv2d_pass_channels(vertical, horizontal, x, y));
    const double pass_share = smaller(pass / larger(stored, 1), 1);
    WorkMemory memory(step, machine, out);
    memory.read_channels(read_bytes);
    memory.read_channels(residual_bytes);
    memory.weights(weight_bytes, smaller(machine.threads, static_cast<double>(work.row_blocks)));
    memory.write(written_bytes(step));
    // Inputs of a row are read again for the next rows' taps; weights, for the next run.
    memory.again(read_bytes * more_rows, (vertical.taps * row_bytes +
                                          y.dims[3] * stored * element_bytes(y) + weight_bytes) *
                                             pass_share);
    memory.again(larger(images * rows.count() * runs - work.row_blocks, 0) * weight_bytes,
                 weight_bytes * pass_share + row_bytes * pass_share / runs);
    return memory.finish();
  }

  const bool takes_texels = cl_item_lanes(step) == kChannelPad;
  const double item_pixels = takes_texels ? kDepthwiseTexelPixels : kDepthwisePixels;
  const double item_lanes = takes_texels ? kChannelPad : kClLanes;
  const double items =
      images * rows.count() * std::ceil(y.dims[3] / item_pixels) * std::ceil(stored / item_lanes);
  const bool shares = takes_texels && depthwise_shares_inputs(vertical, horizontal);
  const double row_inputs = shares ? (item_pixels - 1) * horizontal.stride + horizontal.taps
                                   : item_pixels * horizontal.taps;
  out->macs = items * item_pixels * item_lanes * taps;
  out->moved_bytes += items * vertical.taps * item_lanes *
                      (row_inputs * element_bytes(x) + horizontal.taps * element_bytes(w));
  out->operations += items * vertical.taps * item_lanes * row_inputs * factor_operations(step);
  // Sums, weights of a tap or of a row of taps, an input.
  const double numbers = (item_pixels + (shares ? horizontal.taps : 1) + 1) * item_lanes;
  out->item_registers = out->mac_type == DType::F16 ? numbers / 2 : numbers;
  out->tile_calls = out->waves * (shares ? vertical.taps : taps);
  WorkMemory memory(step, machine, out);
  memory.read(read_bytes);
  memory.read(residual_bytes);
  memory.weights(weight_bytes);
  memory.write(written_bytes(step));
  const double busy = smaller(out->work_groups, machine.units);
  memory.again(read_bytes * more_rows, vertical.taps * row_bytes + weight_bytes);
  memory.again(
      weight_bytes *
          larger(out->work_groups * smaller(1, kClGridItems * item_lanes / larger(stored, 1)) - 1,
                 0),
      weight_bytes + busy * row_bytes);
  memory.finish();
}

// A work-item on 16 channels has its sums, a weight, and an input of each pixel on its way. The
// texels take a fifth of that.
uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  return choose_cl_lanes(step, gpu, (2 * kDepthwisePixels + 1) * kClLanes,
                         {kClGridItems, kClGridItems, kClGridItems}, out_tile);
}

}  // namespace

extern const OpWork kWork;
const OpWork kWork = {KernelFamily::Depthwise, work, choose_tile};

}  // namespace codl::kernels::depthwise_conv2d
