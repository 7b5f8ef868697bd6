// Describes the sliding window that Conv2d and DepthwiseConv2d share, and checks it.
#pragma once

#include "kernels/common/activation/activation.h"
#include "kernels/common/gemm/packed_weights.h"
#include "kernels/common/launch/cl_launch.h"
#include "schema/plan_layout.h"

namespace codl::kernels {

// Strides, dilations and pads beyond these occur in no network; they keep sums of products inside
// int64 and positions inside int32. A filter of kMaxFilterTaps columns may be padded on one side by
// all of them.
inline constexpr int32_t kMaxWindowStep = 1 << 16;
// A filter has at most so many rows times columns. This bounds the table of taps of the CPU
// kernels, which has 8 bytes for each tap of each pixel of a tile, to 7 MiB.
inline constexpr int32_t kMaxFilterTaps = 1 << 16;

// Describes one axis of the window: output position o reads inputs o * stride - pad_begin + tap *
// dilation.
struct WindowAxis {
  int32_t taps;
  int32_t stride;
  int32_t dilation;
  int32_t pad_begin;
  int32_t pad_end;
};

// `dims` are those of the unpacked weight, which end in kh, kw.
template <typename Params>
constexpr WindowAxis vertical_axis(const Params& params, const int32_t* dims) {
  return {dims[2], params.stride_h, params.dilation_h, params.pad_top, params.pad_bottom};
}
template <typename Params>
constexpr WindowAxis horizontal_axis(const Params& params, const int32_t* dims) {
  return {dims[3], params.stride_w, params.dilation_w, params.pad_left, params.pad_right};
}

// Returns null if the axis takes `input` positions to `output` positions.
constexpr const char* check_axis(const WindowAxis& axis, int32_t input, int32_t output) {
  if (axis.stride < 1 || axis.stride > kMaxWindowStep) return "strides from 1 to 2^16";
  if (axis.dilation < 1 || axis.dilation > kMaxWindowStep) return "dilations from 1 to 2^16";
  if (axis.pad_begin < 0 || axis.pad_begin > kMaxWindowStep || axis.pad_end < 0 ||
      axis.pad_end > kMaxWindowStep)
    return "pads from 0 to 2^16";
  const int64_t extent = (int64_t{axis.taps} - 1) * axis.dilation + 1;
  const int64_t padded = int64_t{input} + axis.pad_begin + axis.pad_end;
  if (extent > padded || (padded - extent) / axis.stride + 1 != output)
    return "output rows and columns as the filter, strides and pads give them";
  return nullptr;
}

// Returns the input rows that output rows `rows` read, clipped to the map; there may be none. The
// axis has passed check_axis().
constexpr Range input_rows_of(const WindowAxis& axis, int32_t input, Range rows) {
  const int64_t begin = int64_t{rows.begin} * axis.stride - axis.pad_begin;
  const int64_t end = (int64_t{rows.end} - 1) * axis.stride - axis.pad_begin +
                      (int64_t{axis.taps} - 1) * axis.dilation + 1;
  return {static_cast<int32_t>(begin < 0       ? 0
                               : begin > input ? input
                                               : begin),
          static_cast<int32_t>(end < 0       ? 0
                               : end > input ? input
                                             : end)};
}

// Returns the output positions in [0, output) whose tap `tap` is inside the map; there may be none.
constexpr Range positions_inside(const WindowAxis& axis, int32_t tap, int32_t input,
                                 int32_t output) {
  const int64_t offset = int64_t{tap} * axis.dilation - axis.pad_begin;
  const int64_t begin = offset < 0 ? ceil_div(-offset, axis.stride) : 0;
  const int64_t end = offset < input ? ceil_div(input - offset, axis.stride) : 0;
  return {static_cast<int32_t>(begin < output ? begin : output),
          static_cast<int32_t>(end < output ? end : output)};
}

// Counts the (tap, position) pairs of some positions that are inside.
constexpr int64_t taps_inside(const WindowAxis& axis, int32_t input, int32_t output,
                              Range positions) {
  int64_t count = 0;
  for (int32_t tap = 0; tap < axis.taps; ++tap) {
    const Range inside = positions_inside(axis, tap, input, output);
    const int32_t begin = inside.begin > positions.begin ? inside.begin : positions.begin;
    const int32_t end = inside.end < positions.end ? inside.end : positions.end;
    if (end > begin) count += end - begin;
  }
  return count;
}

// Counts the inputs that some positions read, without those that the stride steps over.
constexpr int64_t inputs_read(const WindowAxis& axis, int32_t input, int32_t output,
                              Range positions) {
  const bool is_apart = int64_t{axis.taps - 1} * axis.dilation < axis.stride;
  return is_apart ? taps_inside(axis, input, output, positions)
                  : input_rows_of(axis, input, positions).count();
}

// Returns the share of (tap, position) pairs that are inside.
constexpr double share_inside(const WindowAxis& axis, int32_t input, int32_t output) {
  int64_t inside = 0;
  for (int32_t tap = 0; tap < axis.taps; ++tap)
    inside += positions_inside(axis, tap, input, output).count();
  return static_cast<double>(inside) / (static_cast<double>(axis.taps) * output);
}

// The number of taps for which positions_inside() begins behind `position`, or ends behind it: both
// fall with the tap, so these are the first taps.
constexpr int32_t taps_changing_behind(const WindowAxis& axis, int32_t input, int32_t output,
                                       int32_t position, bool is_end) {
  int32_t count = 0;
  for (int32_t rest = axis.taps; rest > 0;) {
    const int32_t half = rest / 2;
    const Range inside = positions_inside(axis, count + half, input, output);
    if ((is_end ? inside.end : inside.begin) > position) {
      count += half + 1;
      rest -= half + 1;
    } else {
      rest = half;
    }
  }
  return count;
}

// Returns the first output position after `position` whose taps inside are others than
// `position`'s.
constexpr int32_t end_of_segment(const WindowAxis& axis, int32_t input, int32_t output,
                                 int32_t position) {
  int32_t end = output;
  for (const bool is_end : {false, true}) {
    const int32_t taps = taps_changing_behind(axis, input, output, position, is_end);
    if (taps == 0) continue;
    // The last of them has the least.
    const Range inside = positions_inside(axis, taps - 1, input, output);
    const int32_t change = is_end ? inside.end : inside.begin;
    if (change < end) end = change;
  }
  return end;
}

constexpr bool holds_rows_of(const OperandShape& shape, Range rows) {
  return rows.empty() || Range{shape.row_begin, shape.row_end}.contains(rows);
}

// Checks everything that both operators' contracts demand of x, w, bias, [residual] and y, except
// for channels, packing and the tile of a GPU kernel.
template <typename Params>
constexpr const char* check_conv_operands(const StepShape& step) {
  const Params& params = step.params_as<Params>();
  if (params.has_residual != 0 && params.has_residual != 1) return "has_residual 0 or 1";
  if (step.operand_count != 4u + static_cast<uint32_t>(params.has_residual))
    return "operands x, w, bias, [residual], y";
  if (!is_activation(params.activation)) return "a known activation";

  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  if (x.layout != y.layout) return "input and output of one layout";
  if (x.rank != 4 || y.rank != 4 || x.dims[0] != y.dims[0]) return "input and output of one batch";
  if (w.layout != Layout::Packed || w.rank != 4) return "packed weights of rank 4";
  if (!is_packed_bias(step.operands[2], y.dims[1]))
    return "a packed bias of one value per output channel";

  if (int64_t{w.dims[2]} * w.dims[3] > kMaxFilterTaps) return "a filter of at most 2^16 taps";
  const WindowAxis vertical = vertical_axis(params, w.dims);
  const WindowAxis horizontal = horizontal_axis(params, w.dims);
  if (const char* expected = check_axis(vertical, x.dims[2], y.dims[2])) return expected;
  if (const char* expected = check_axis(horizontal, x.dims[3], y.dims[3])) return expected;
  const Range rows = rows_of_part(step.part_dim, step.part, y);
  if (!holds_rows_of(x, input_rows_of(vertical, x.dims[2], rows)))
    return "input rows of the part inside the operand";

  if (params.has_residual != 0) {
    const OperandShape& residual = step.operands[3];
    if (residual.layout != y.layout || residual.rank != 4)
      return "a residual of the output's layout";
    for (int32_t i = 0; i < 4; ++i)
      if (residual.dims[i] != y.dims[i]) return "a residual of the output's dims";
    if (!holds_rows_of(residual, rows)) return "residual rows of the part inside the operand";
    if (step.kernel->processor == Processor::Gpu && y.layout == Layout::Nhwc && y.pixel_stride != 0)
      return "no window of a GPU's buffer where a residual is added";
  }
  if (step.kernel->processor == Processor::Gpu) return nullptr;  // the operator's tiles
  if (step.kernel->has(Signature::Q8)) {
    if (const char* expected =
            check_byte_operands(step, int64_t{w.dims[1]} * w.dims[2] * w.dims[3]))
      return expected;
  } else if (!has_dtype_of_weights(step)) {
    return "maps of the weights' dtype for a CPU kernel";
  }
  return step.tile_count == 0 ? nullptr : "no tile numbers for a CPU kernel";
}

}  // namespace codl::kernels
