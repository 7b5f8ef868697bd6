// Computes a depthwise 2-D convolution, Nhwc, float32, with vectors along the channels, for several
// neighbouring pixels of an output row, so that a weight loaded serves them all, and an input all
// taps that it is under. Filters of 3x3 and 5x5 with stride 1 or 2, and 1x1 (a scale and shift),
// have code of their own.
//
// Taps in the padding are left out. Which those are depends on the output position alone, and the
// others are added in order, so no cut of rows, channels or tasks changes a bit.
//
// Longer than 500 lines: the loops of each filter and stride differ in what they keep in registers.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_conv2d/depthwise_conv2d_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kChannelPanel>;
using Vec = hn::Vec<Tag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag{}));
// So many pixels are computed at once, if there are so many. Scalar code is there to be right.
constexpr int kMaxPixels = kLanes == 1 ? 1 : kDepthwiseRunOutputs;

// Describes some neighbouring outputs of a row, for a block of their channels. Pointers are to the
// first channel of the block.
struct Run {
  const float* x;        // row of the first tap inside the map, column 0
  const float* weights;  // first tap row inside the map, column 0
  const float* bias;
  const float* residual;  // points at the first output, or is null
  float* y;               // the first output
  int32_t tap_rows;       // inside the map
  int32_t tap_columns;
  int32_t column;         // input column of the first output's first tap; it may be outside
  int32_t input_columns;  // columns of the map
  int32_t stride;
  int32_t dilation;
  int64_t x_tap_row;  // elements between rows of taps
  int64_t x_pixel;    // elements between pixels
  int64_t y_pixel;
  int64_t residual_pixel;
  int64_t y_row;  // elements between rows
  int64_t residual_row;
  int64_t weight_row;  // elements between rows of weights
  int64_t weight_pixel;
  int64_t channels;  // channels of the block that are computed in whole vectors, kLanes at least
  float low;         // limits of the activation
  float high;

  bool is_inside(int64_t input_column) const {
    return static_cast<uint64_t>(input_column) < static_cast<uint64_t>(input_columns);
  }
};

// Returns a bit for each input of a run that is left of the map or right of it.
HWY_INLINE uint32_t inputs_outside(const Run& run) {
  const int32_t left = run.column < 0 ? -run.column : 0;
  const int32_t end = run.input_columns - run.column;
  return ((1u << left) - 1) | ~uint32_t{0} << (end < 31 ? end : 31);
}

// Returns v, loaded once: GCC would rather load it again for each use, as an operand in memory.
HWY_INLINE Vec loaded(Vec v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// sum += x * w.
HWY_INLINE void add_product(Vec x, Vec w, Vec& sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  // Names the register that is overwritten: GCC 12 takes that of a dying input as readily and moves
  // the sums about for it.
  asm("vfmadd231ps %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
#else
  sum = hn::MulAdd(x, w, sum);
#endif
}

// Adds the taps of one row to sums[i], for outputs 0 to kCount. An input serves every output that
// has it in its window; kTaps columns of the filter are side by side. `x`: the first output's first
// tap. `outside`: a bit for each input. Only the first kTaps - 1 inputs and the last can be outside
// (functions_for() ensures this), so only they are asked.
template <int kCount, int kTaps, int kStride>
HWY_INLINE void add_row(const float* x, int64_t pixel, const float* weights, int64_t weight_pixel,
                        uint32_t outside, Vec* sums) {
  const Tag d;
  constexpr int kInputs = (kCount - 1) * kStride + kTaps;
  Vec w[kTaps];
#pragma GCC unroll 8
  for (int tap = 0; tap < kTaps; ++tap) w[tap] = hn::LoadU(d, weights + tap * weight_pixel);
#pragma GCC unroll 32
  for (int i = 0; i < kInputs; ++i, x += pixel) {
    if ((i < kTaps - 1 || i > kInputs - kTaps) && (outside >> i & 1) != 0) continue;
    const Vec value = loaded(hn::LoadU(d, x));
#pragma GCC unroll 8
    for (int tap = 0; tap < kTaps; ++tap) {
      const int output = (i - tap) / kStride;
      if (i >= tap && output * kStride == i - tap && output < kCount)
        add_product(value, w[tap], sums[output]);
    }
  }
}

// Does the same for any filter, stride and dilation; `x` is column 0.
template <int kCount>
HWY_INLINE void add_any_row(const Run& run, const float* x, const float* weights, Vec* sums) {
  const Tag d;
  for (int32_t tap = 0; tap < run.tap_columns; ++tap) {
    const Vec w = hn::LoadU(d, weights + tap * run.weight_pixel);
    const int64_t column = int64_t{run.column} + int64_t{tap} * run.dilation;
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const int64_t place = column + int64_t{i} * run.stride;
      if (run.is_inside(place))
        sums[i] = hn::MulAdd(hn::LoadU(d, x + place * run.x_pixel), w, sums[i]);
    }
  }
}

// With 32 registers: computes outputs of two rows, each input for up to six taps of a 3x3 filter.
// All taps of both rows are inside the map.
constexpr bool kHasRowPairs = HWY_TARGET == HWY_AVX3;
template <int kCount, int kStride>
HWY_NOINLINE void compute_row_pair(const Run& run) {
  const Tag d;
  constexpr int kTaps = 3;
  constexpr int kInputs = (kCount - 1) * kStride + kTaps;
  const Vec low = hn::Set(d, run.low);
  const Vec high = hn::Set(d, run.high);
  const int64_t last = run.channels - kLanes;
  const int64_t pixel = run.x_pixel;
  const int64_t y_pixel = run.y_pixel;
  const int64_t x_row = run.x_tap_row;
  const int64_t y_row = run.y_row;
  const int64_t weight_row = run.weight_row;
  const int64_t weight_pixel = run.weight_pixel;
  const float* first = run.x + int64_t{run.column} * pixel;
  const uint32_t outside = inputs_outside(run);
  for (int64_t c = 0;; c = c + kLanes < last ? c + kLanes : last) {
    Vec sums[2][kCount];
    const Vec bias = hn::LoadU(d, run.bias + c);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) sums[0][i] = sums[1][i] = bias;
    const float* row = first + c;
#pragma GCC unroll 5
    for (int input_row = 0; input_row < kTaps + kStride; ++input_row, row += x_row) {
      Vec w[2][kTaps];  // taps of either output row
#pragma GCC unroll 2
      for (int y = 0; y < 2; ++y) {
        const int tap_row = input_row - y * kStride;
#pragma GCC unroll 3
        for (int tap = 0; tap < kTaps; ++tap)
          if (tap_row >= 0 && tap_row < kTaps)
            w[y][tap] = hn::LoadU(d, run.weights + c + tap_row * weight_row + tap * weight_pixel);
      }
      const float* x = row;
#pragma GCC unroll 17
      for (int i = 0; i < kInputs; ++i, x += pixel) {
        if ((i < kTaps - 1 || i > kInputs - kTaps) && (outside >> i & 1) != 0) continue;
        const Vec value = loaded(hn::LoadU(d, x));
#pragma GCC unroll 2
        for (int y = 0; y < 2; ++y) {
          const int tap_row = input_row - y * kStride;
#pragma GCC unroll 3
          for (int tap = 0; tap < kTaps; ++tap) {
            const int output = (i - tap) / kStride;
            if (tap_row >= 0 && tap_row < kTaps && i >= tap && output * kStride == i - tap &&
                output < kCount)
              add_product(value, w[y][tap], sums[y][output]);
          }
        }
      }
    }
#pragma GCC unroll 2
    for (int row_of_two = 0; row_of_two < 2; ++row_of_two) {
      if (run.residual != nullptr) {
        const float* residual = run.residual + c + row_of_two * run.residual_row;
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i, residual += run.residual_pixel)
          sums[row_of_two][i] = hn::Add(sums[row_of_two][i], hn::LoadU(d, residual));
      }
      float* y = run.y + c + row_of_two * y_row;
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i, y += y_pixel)
        hn::StoreU(limit(sums[row_of_two][i], low, high), d, y);
    }
    if (c == last) return;
  }
}

// kTaps 0: any filter.
template <int kCount, int kTaps, int kStride>
HWY_NOINLINE void compute_run(const Run& run) {
  const Tag d;
  const Vec low = hn::Set(d, run.low);
  const Vec high = hn::Set(d, run.high);
  const int64_t last = run.channels - kLanes;
  // Copies: a store to y could change `run` for all that the compiler knows.
  const int64_t pixel = run.x_pixel;
  const int64_t y_pixel = run.y_pixel;
  const int64_t residual_pixel = run.residual_pixel;
  const int64_t x_tap_row = run.x_tap_row;
  const int64_t weight_row = run.weight_row;
  const int64_t weight_pixel = run.weight_pixel;
  const int32_t tap_rows = run.tap_rows;
  const float* first = run.x + (kTaps == 0 ? 0 : int64_t{run.column} * pixel);
  uint32_t outside = 0;
  if constexpr (kTaps != 0) outside = inputs_outside(run);
  // The last vector begins early where the channels end in the middle of one: what it computes
  // again comes out as before.
  for (int64_t c = 0;; c = c + kLanes < last ? c + kLanes : last) {
    Vec sums[kCount];
    const Vec bias = hn::LoadU(d, run.bias + c);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) sums[i] = bias;
    const float* x = first + c;
    const float* weights = run.weights + c;
    for (int32_t tap_row = 0; tap_row < tap_rows; ++tap_row) {
      if constexpr (kTaps == 0)
        add_any_row<kCount>(run, x, weights, sums);
      else
        add_row<kCount, kTaps, kStride>(x, pixel, weights, weight_pixel, outside, sums);
      x += x_tap_row;
      weights += weight_row;
    }
    if (run.residual != nullptr) {
      const float* residual = run.residual + c;
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i, residual += residual_pixel)
        sums[i] = hn::Add(sums[i], hn::LoadU(d, residual));
    }
    float* y = run.y + c;
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i, y += y_pixel) hn::StoreU(limit(sums[i], low, high), d, y);
    if (c == last) return;
  }
}

using RunFunction = void (*)(const Run& run);

// The number of outputs names a function.
struct RunFunctions {
  RunFunction of_8;
  RunFunction of_7;
  RunFunction of_4;
  RunFunction of_1;
  // These compute two rows at once; null: there is none.
  RunFunction pair_of_8 = nullptr;
  RunFunction pair_of_7 = nullptr;

  RunFunction of(int32_t outputs, int rows) const {
    if (rows == 2) return outputs == 8 ? pair_of_8 : pair_of_7;
    return outputs == 8 ? of_8 : outputs == 7 ? of_7 : outputs == 4 ? of_4 : of_1;
  }
};

template <int kTaps, int kStride>
constexpr RunFunctions run_functions() {
  if constexpr (kMaxPixels == 1) {
    return {compute_run<1, 0, 0>, compute_run<1, 0, 0>, compute_run<1, 0, 0>, compute_run<1, 0, 0>};
  } else {
    RunFunctions functions = {compute_run<8, kTaps, kStride>, compute_run<7, kTaps, kStride>,
                              compute_run<4, kTaps, kStride>, compute_run<1, kTaps, kStride>};
    if constexpr (kHasRowPairs && kTaps == 3) {
      functions.pair_of_8 = compute_row_pair<8, kStride>;
      functions.pair_of_7 = compute_row_pair<7, kStride>;
    }
    return functions;
  }
}

RunFunctions functions_for(const WindowAxis& axis, int32_t input, int32_t output) {
  // Where padding hides all taps of an output, or outputs in their middle, ask every input.
  const int64_t last = int64_t{output - 1} * axis.stride - axis.pad_begin;
  if (axis.pad_begin >= axis.taps || last >= input) return run_functions<0, 0>();
  if (axis.dilation == 1 && axis.taps == 3 && axis.stride == 1) return run_functions<3, 1>();
  if (axis.dilation == 1 && axis.taps == 3 && axis.stride == 2) return run_functions<3, 2>();
  if (axis.dilation == 1 && axis.taps == 5 && axis.stride == 1) return run_functions<5, 1>();
  if (axis.dilation == 1 && axis.taps == 5 && axis.stride == 2) return run_functions<5, 2>();
  if (axis.taps == 1 && axis.stride == 1) return run_functions<1, 1>();
  return run_functions<0, 0>();
}

// Returns the outputs of the next run when `rest` are left. Sevens make up the maps of most
// networks.
constexpr int32_t run_count(int32_t rest) {
  if (kMaxPixels == 1) return 1;
  if (rest % 7 == 0 && rest % 8 != 0) return 7;
  return rest >= 8 ? 8 : rest >= 4 ? 4 : 1;
}

// Computes the vector of channels from `c` on of row `row_of_two`, of a block of which `valid` are
// computed, and stores zeros after them up to `stored`.
template <int kCount>
HWY_NOINLINE void compute_rest(const Run& run, int row_of_two, int64_t c, int64_t valid,
                               int64_t stored) {
  const Tag d;
  const Vec low = hn::Set(d, run.low);
  const Vec high = hn::Set(d, run.high);
  const float* x_row = run.x + row_of_two * run.stride * run.x_tap_row + c;
  const int64_t y_row = row_of_two * run.y_row + c;
  const int64_t residual_row = row_of_two * run.residual_row + c;
  const int64_t pixel = run.x_pixel;
  Vec sums[kCount];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) sums[i] = hn::LoadU(d, run.bias + c);
  for (int32_t tap_row = 0; tap_row < run.tap_rows; ++tap_row, x_row += run.x_tap_row)
    for (int32_t tap = 0; tap < run.tap_columns; ++tap) {
      const Vec w =
          hn::LoadU(d, run.weights + tap_row * run.weight_row + tap * run.weight_pixel + c);
      const int64_t column = int64_t{run.column} + int64_t{tap} * run.dilation;
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) {
        const int64_t place = column + int64_t{i} * run.stride;
        if (run.is_inside(place))
          sums[i] = hn::MulAdd(load_lanes(d, x_row + place * pixel, stored - c), w, sums[i]);
      }
    }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    if (run.residual != nullptr)
      sums[i] = hn::Add(
          sums[i], load_lanes(d, run.residual + residual_row + i * run.residual_pixel, stored - c));
    store_lanes(d, keep_lanes(d, limit(sums[i], low, high), valid - c),
                run.y + y_row + i * run.y_pixel, stored - c);
  }
}

// Does the same, an output at a time if vectors of four lanes leave no rest but in parts of
// channels.
template <int kCount>
void compute_rests(const Run& run, int row_of_two, int64_t c, int64_t valid, int64_t stored) {
  if constexpr (kCount == 1 || kLanes > kChannelPad) {
    compute_rest<kCount>(run, row_of_two, c, valid, stored);
  } else {
    Run one = run;
    for (int i = 0; i < kCount; ++i) {
      compute_rest<1>(one, row_of_two, c, valid, stored);
      one.column += run.stride;
      one.y += run.y_pixel;
      if (one.residual != nullptr) one.residual += run.residual_pixel;
    }
  }
}

using RestFunction = void (*)(const Run& run, int row_of_two, int64_t c, int64_t valid,
                              int64_t stored);
RestFunction rest_function(int32_t outputs) {
  if constexpr (kMaxPixels > 1) {
    if (outputs == 8) return compute_rests<8>;
    if (outputs == 7) return compute_rests<7>;
    if (outputs == 4) return compute_rests<4>;
  }
  return compute_rests<1>;
}

// Returns the taps of output position `position` that are inside the map.
Range inner_taps(const WindowAxis& axis, int32_t input, int32_t position) {
  const int64_t first = int64_t{position} * axis.stride - axis.pad_begin;
  int64_t begin = first < 0 ? ceil_div(-first, axis.dilation) : 0;
  int64_t end = first >= input ? 0 : ceil_div(input - first, axis.dilation);
  if (end > axis.taps) end = axis.taps;
  if (begin > end) begin = end;
  return {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
}

// Holds the operands, and what follows from the parameters.
struct Depthwise {
  const TensorView& x;
  const TensorView& w;
  const TensorView& bias;
  const TensorView* residual;
  const TensorView& y;
  WindowAxis vertical;
  WindowAxis horizontal;
  Activation activation;
  RunFunctions functions;
};

// Computes channels [begin, end) of a row of outputs from `column` on, or of two that begin there
// (has_row_pair()); `stored` is the end with the pixel's pad lanes, where they go with the block.
void compute_rows(const Depthwise& step, int64_t image, int32_t row, int rows, int32_t column,
                  int64_t begin, int64_t end, int64_t stored) {
  const TensorView& x = step.x;
  const TensorView& y = step.y;
  const int32_t input_rows = x.shape.dims[2];
  const Range taps = inner_taps(step.vertical, input_rows, row);
  const int64_t weight_pixel = panel_channels(y.shape.dims[1]);
  const int64_t weight_row = step.horizontal.taps * weight_pixel;
  // Without a tap inside the map x is not read.
  const int64_t first_row = int64_t{row} * step.vertical.stride - step.vertical.pad_begin +
                            int64_t{taps.begin} * step.vertical.dilation - x.shape.row_begin;
  Run run = {
      .x = x.as<const float>() + image * x.strides[0] +
           (taps.empty() ? 0 : first_row * x.strides[2]) + begin,
      .weights = step.w.as<const float>() + taps.begin * weight_row + begin,
      .bias = step.bias.as<const float>() + begin,
      .residual = nullptr,
      .y = y.as<float>() + image * y.strides[0] + (row - y.shape.row_begin) * y.strides[2] +
           column * y.strides[3] + begin,
      .tap_rows = taps.empty() ? 0 : taps.count(),
      .tap_columns = step.horizontal.taps,
      .column = column * step.horizontal.stride - step.horizontal.pad_begin,
      .input_columns = x.shape.dims[3],
      .stride = step.horizontal.stride,
      .dilation = step.horizontal.dilation,
      .x_tap_row = step.vertical.dilation * x.strides[2],
      .x_pixel = x.strides[3],
      .y_pixel = y.strides[3],
      .residual_pixel = step.residual != nullptr ? step.residual->strides[3] : 0,
      .y_row = y.strides[2],
      .residual_row = step.residual != nullptr ? step.residual->strides[2] : 0,
      .weight_row = weight_row,
      .weight_pixel = weight_pixel,
      .channels = 0,  // below
      .low = step.activation.low,
      .high = step.activation.high,
  };
  if (step.residual != nullptr)
    run.residual = step.residual->as<const float>() + image * step.residual->strides[0] +
                   (row - step.residual->shape.row_begin) * step.residual->strides[2] +
                   column * run.residual_pixel + begin;
  // From run to run the one description changes in place: a copy, loaded in whole vectors, would
  // wait for the stores of its parts.
  const int64_t count = end - begin;
  const int64_t stored_count = stored - begin;
  const bool may_begin_early = run.residual == nullptr && count == stored_count && count >= kLanes;
  run.channels = may_begin_early ? count : count / kLanes * kLanes;
  int32_t outputs = 0;
  for (; column < y.shape.dims[3]; column += outputs) {
    outputs = run_count(y.shape.dims[3] - column);
    if (rows == 2 && (outputs < 7 || run.channels == 0)) {
      compute_rows(step, image, row, 1, column, begin, end, stored);
      return compute_rows(step, image, row + 1, 1, column, begin, end, stored);
    }
    if (run.channels != 0) step.functions.of(outputs, rows)(run);
    for (int i = 0; i < rows; ++i) {
      for (int64_t c = run.channels; c < stored_count; c += kLanes)
        rest_function(outputs)(run, i, c, count, stored_count);
      float* y_run = run.y + i * run.y_row;
      if (step.activation.has_curve)
        activate_rows(step.activation, y_run, run.y_pixel, y_run, run.y_pixel, outputs, count);
    }
    run.column += outputs * run.stride;
    run.y += outputs * run.y_pixel;
    if (run.residual != nullptr) run.residual += outputs * run.residual_pixel;
  }
}

// True if `row` and the next are one piece for functions.pair_of_8.
bool has_row_pair(const Depthwise& step, int32_t row) {
  const WindowAxis& vertical = step.vertical;
  const int64_t first = int64_t{row} * vertical.stride - vertical.pad_begin;
  return step.functions.pair_of_8 != nullptr && vertical.taps == 3 &&
         vertical.stride == step.horizontal.stride && vertical.dilation == 1 && first >= 0 &&
         first + vertical.stride + 3 <= step.x.shape.dims[2];
}

void depthwise_conv2d_f32(const KernelArgs& args) {
  const auto& params = args.params_as<DepthwiseConv2dParams>();
  const TensorView& y = args.output();
  const TensorView& w = args.operands[1];
  Depthwise step = {
      .x = args.operands[0],
      .w = w,
      .bias = args.operands[2],
      .residual = params.has_residual != 0 ? &args.operands[3] : nullptr,
      .y = y,
      .vertical = vertical_axis(params, w.shape.dims),
      .horizontal = horizontal_axis(params, w.shape.dims),
      .activation =
          make_activation(params.activation, params.activation_alpha, params.activation_beta),
      .functions = {},
  };
  step.functions = functions_for(step.horizontal, step.x.shape.dims[3], y.shape.dims[3]);
  const DepthwiseConv2dWork work =
      depthwise_conv2d_work(w.shape, y.shape, args.part_dim, args.part);
  const int64_t pass =
      depthwise_conv2d_pass_channels(step.vertical, step.horizontal, step.x.shape, y.shape);

  // Neighbouring tasks share panels: their rows are one piece.
  for (int64_t task = args.task_begin; task < args.task_end;) {
    const int64_t panel_block = task / work.row_blocks;
    const int64_t first_block = task % work.row_blocks;
    const int64_t last_block = first_block + (args.task_end - task) < work.row_blocks
                                   ? first_block + (args.task_end - task)
                                   : work.row_blocks;
    task += last_block - first_block;
    const Units rows =
        units_of_tasks(work.image_rows, static_cast<int32_t>(work.row_blocks),
                       static_cast<int32_t>(first_block), static_cast<int32_t>(last_block));
    const Units panels =
        units_of_tasks(work.panels.count(), static_cast<int32_t>(work.panel_blocks),
                       static_cast<int32_t>(panel_block), static_cast<int32_t>(panel_block) + 1);
    const int64_t end_panel = (work.panels.begin + panels.end) * kChannelPanel;
    const int64_t end = end_panel < y.shape.dims[1] ? end_panel : y.shape.dims[1];
    for (int64_t c = (work.panels.begin + panels.begin) * kChannelPanel; c < end;) {
      // A last pass of less than a panel would be slow.
      const int64_t next = end - c >= pass + kChannelPanel ? c + pass : end;
      const int64_t stored = next == y.shape.dims[1] ? padded_channels(y.shape) : next;
      int count = 1;
      for (int64_t unit = rows.begin; unit < rows.end; unit += count) {
        const int32_t row = work.rows.begin + static_cast<int32_t>(unit % work.rows.count());
        count = unit + 1 < rows.end && row + 1 < work.rows.end && has_row_pair(step, row) ? 2 : 1;
        compute_rows(step, unit / work.rows.count(), row, count, 0, c, next, stored);
      }
      c = next;
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(depthwise_conv2d_f32_cpu, depthwise_conv2d_f32);
}
#endif
