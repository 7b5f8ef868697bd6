// A step as plans, contracts and costs see it: one call of one kernel, its parameters, operands and
// the part of the output that it computes. The arithmetic on operand shapes is here, too: strides,
// sizes, the rows and channels that a step covers.
#pragma once

#include <cstdint>

#include "schema/tables.h"
#include "schema/types.h"

namespace codl::kernels {

// Describes one operand as a contract sees it.
//
// Preconditions (verify_plan and codlc hold them): 0 <= rank <= kMaxRank; 1 <= dims[i]; the element
// count fits int32; Nhwc and Image2d have rank 4; 0 <= row_begin < row_end <= dims[2]; pixel_stride
// as below.
struct OperandShape {
  DType dtype = DType::F32;
  Layout layout = Layout::Plain;
  int32_t rank = 0;
  int32_t dims[kMaxRank] = {};  // whole value, ONNX order; Packed has the dims of the unpacked
                                // weight
  // Nhwc, Image2d: the rows of the value that the memory holds; nothing else may be touched.
  // Plain, Packed: 0, 0.
  int32_t row_begin = 0;
  int32_t row_end = 0;
  uint64_t bytes = 0;  // size of the memory, 0 for Image2d
  // In a window of a wider map's channels (Nhwc, Image2d), the elements from pixel to pixel: a
  // multiple of kChannelPad and at least the value's channels. The elements between its pixels
  // belong to other values. 0: no window, pixels follow each other. On the CPU the channels are
  // whole panels, on the GPU multiples of kChannelPad.
  int32_t pixel_stride = 0;
  // A window on the GPU has its map's memory, because a buffer may begin only where drivers allow
  // and an image has no parts. This is the channel of the map that is the window's first, a
  // multiple of kChannelPad. Otherwise 0.
  int32_t first_channel = 0;
  // Real numbers may be held as bytes (I8): element q stands for (q - zero_point) * scale, and pad
  // lanes hold zero_point, which is in [-128, 127]. 0: elements stand for themselves.
  float scale = 0;
  int32_t zero_point = 0;
};

// Returns whether the operand holds real numbers as bytes.
constexpr bool is_quantised(const OperandShape& shape) { return shape.scale != 0; }

inline constexpr uint32_t kMaxOperands = 16;
inline constexpr uint32_t kMaxTileInts = 8;

// One step. The output is the last operand.
//   part_dim  None: all of the output, as far as its operand holds it (part is then [0, 0))
//             Height: output rows part; OutputChannel: output channels part, begin a multiple of
//             kChannelPanel (Plain [m, n]: columns)
struct StepShape {
  const KernelInfo* kernel = nullptr;
  const void* params = nullptr;  // the Params struct of kernel->op; 4-byte aligned
  const OperandShape* operands = nullptr;
  uint32_t operand_count = 0;
  SplitDim part_dim = SplitDim::None;
  Range part;
  const int32_t* tile = nullptr;  // kernel constants that the compiler chose, e.g. work-group sizes
  uint32_t tile_count = 0;        // 0: uses the contract's defaults
  // The output is where the input has it (in_place.h), so that nothing is moved.
  bool is_in_place = false;

  constexpr const OperandShape& output() const { return operands[operand_count - 1]; }
  template <typename Params>
  const Params& params_as() const {
    return *static_cast<const Params*>(params);
  }
};

// Says which memory a CPU step needs to run.
struct StepNeeds {
  int32_t task_count = 1;      // independent pieces; results never depend on who runs which
  uint64_t scratch_bytes = 0;  // per worker, 64-byte aligned
  // All tasks run once in each phase, and no phase begins before all tasks of the one before are
  // done. Memory of all workers for what a phase leaves to the next, 64-byte aligned.
  int32_t phase_count = 1;
  uint64_t shared_bytes = 0;
};

// Returns the rows of the value held in memory (1 for a value without rows).
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

// Returns the elements from pixel to pixel.
constexpr int32_t pixel_elements(const OperandShape& shape) {
  return shape.pixel_stride != 0 ? shape.pixel_stride : padded_channels(shape);
}

// Returns whether `x`, an input of a Concat along the channels, is a window of the result, so that
// its producer wrote it where it would be copied to.
constexpr bool is_window_of(const OperandShape& x, const OperandShape& y) {
  return x.pixel_stride != 0 && x.pixel_stride == pixel_elements(y);
}

// Returns whether an operand is an argument of the OpenCL kernel: it touches no window of its
// output.
inline bool is_cl_argument(const StepShape& step, uint32_t i) {
  return step.kernel->op != OpKind::Concat || i + 1 == step.operand_count ||
         !is_window_of(step.operands[i], step.output());
}

// Returns whether a step joins windows of its output alone: on the GPU there is nothing to launch
// then.
inline bool joins_windows(const StepShape& step) {
  if (step.kernel->op != OpKind::Concat || step.kernel->processor != Processor::Gpu) return false;
  for (uint32_t i = 0; i + 1 < step.operand_count; ++i)
    if (is_cl_argument(step, i)) return false;
  return true;
}

// Returns the elements of memory from the operand's first (for a window on the GPU: the map's
// first) to its last, pad lanes included; texels * 4 for Image2d.
constexpr int64_t stored_elements(const OperandShape& shape) {
  if (shape.layout == Layout::Nhwc || shape.layout == Layout::Image2d)
    return (int64_t{shape.dims[0]} * rows_held(shape) * shape.dims[3] - 1) * pixel_elements(shape) +
           shape.first_channel + padded_channels(shape);
  return element_count(shape);
}

// Returns the bytes of an element as the memory holds it.
constexpr int32_t element_bytes(const OperandShape& shape) {
  return static_cast<int32_t>(dtype_bytes(shape.dtype));
}
constexpr uint64_t stored_bytes(const OperandShape& shape) {
  return static_cast<uint64_t>(stored_elements(shape)) * dtype_bytes(shape.dtype);
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

// Output rows the step computes: the part, or every row its output holds.
constexpr Range rows_of_part(SplitDim part_dim, Range part, const OperandShape& output) {
  if (part_dim == SplitDim::Height) return part;
  if (output.layout == Layout::Nhwc || output.layout == Layout::Image2d)
    return {output.row_begin, output.row_end};
  return {0, output.rank == 4 ? output.dims[2] : 1};
}

// Returns the output channels that the step computes: the part, or all of dims[1].
constexpr Range channels_of_part(SplitDim part_dim, Range part, const OperandShape& output) {
  if (part_dim == SplitDim::OutputChannel) return part;
  return {0, output.rank >= 2 ? output.dims[1] : 1};
}

}  // namespace codl::kernels
