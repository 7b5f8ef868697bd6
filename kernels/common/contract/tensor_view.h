// Arithmetic on operand shapes: strides, sizes, the rows and channels a step covers.
#pragma once

#include "kernels/common/contract/contract.h"

namespace codl::kernels {

// Rows of the value held in memory (1 for a value without rows).
constexpr int32_t rows_held(const OperandShape& shape) {
  return shape.layout == Layout::Nhwc || shape.layout == Layout::Image2d
             ? shape.row_end - shape.row_begin
             : 1;
}

constexpr int64_t element_count(const OperandShape& shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; ++i) count *= shape.dims[i];
  return count;
}

constexpr int32_t padded_channels(const OperandShape& shape) {
  return round_up(shape.dims[1], kChannelPad);
}

// Elements from pixel to pixel.
constexpr int32_t pixel_elements(const OperandShape& shape) {
  return shape.pixel_stride != 0 ? shape.pixel_stride : padded_channels(shape);
}

// Of what a Concat joins along the channels: whether `x` is a window of the result, so that its
// producer wrote it where it would be copied to.
constexpr bool is_window_of(const OperandShape& x, const OperandShape& y) {
  return x.pixel_stride != 0 && x.pixel_stride == pixel_elements(y);
}

// Whether an operand is an argument of the OpenCL kernel: it touches no window of its output.
inline bool is_cl_argument(const StepShape& step, uint32_t i) {
  return step.kernel->op != OpKind::Concat || i + 1 == step.operand_count ||
         !is_window_of(step.operands[i], step.output());
}

// Whether a step joins windows of its output alone: on the GPU there is nothing to launch then.
inline bool joins_windows(const StepShape& step) {
  if (step.kernel->op != OpKind::Concat || step.kernel->processor != Processor::Gpu) return false;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    if (is_cl_argument(step, i)) return false;
  return true;
}

// Elements of memory from the operand's first (of a window on the GPU: from the map's) to its last,
// pad lanes included; texels * 4 for Image2d.
constexpr int64_t stored_elements(const OperandShape& shape) {
  if (shape.layout == Layout::Nhwc || shape.layout == Layout::Image2d)
    return (int64_t{shape.dims[0]} * rows_held(shape) * shape.dims[3] - 1) * pixel_elements(shape) +
           shape.first_channel + padded_channels(shape);
  return element_count(shape);
}

constexpr int64_t image_width(const OperandShape& shape) {
  return int64_t{shape.dims[3]} * (pixel_elements(shape) / 4);
}
constexpr int64_t image_height(const OperandShape& shape) {
  return int64_t{shape.dims[0]} * rows_held(shape);
}

// Writes the elements per step of each ONNX dim. Nhwc: (n, c, h, w) -> (rows*W*Cp, 1, W*Cp, Cp),
// where Cp is pixel_elements().
constexpr void strides_of(const OperandShape& shape, int64_t* strides) {
  if (shape.layout == Layout::Nhwc) {
    const int64_t pixel = pixel_elements(shape);
    strides[1] = 1;
    strides[3] = pixel;
    strides[2] = pixel * shape.dims[3];
    strides[0] = strides[2] * rows_held(shape);
    return;
  }
  int64_t stride = 1;
  for (int32_t i = shape.rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape.dims[i];
  }
}

inline TensorView make_view(const OperandShape& shape, void* data) {
  TensorView view;
  view.data = data;
  view.shape = shape;
  strides_of(shape, view.strides);
  return view;
}

// Output rows the step computes: the part, or every row its output holds.
constexpr Range rows_of_part(SplitDim part_dim, Range part, const OperandShape& output) {
  if (part_dim == SplitDim::Height) return part;
  if (output.layout == Layout::Nhwc || output.layout == Layout::Image2d)
    return {output.row_begin, output.row_end};
  return {0, output.rank == 4 ? output.dims[2] : 1};
}

// Output channels the step computes: the part, or all of dims[1].
constexpr Range channels_of_part(SplitDim part_dim, Range part, const OperandShape& output) {
  if (part_dim == SplitDim::OutputChannel) return part;
  return {0, output.rank >= 2 ? output.dims[1] : 1};
}

}  // namespace codl::kernels
