// Draws random steps of the sizes that networks have, for codl-profile to time.
// kernels/<op>/<op>_samples.cc describes an operator's steps with these draws. Not for code that
// runs on devices: it allocates.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>
#include <vector>

#include "kernels/common/activation/activation.h"
#include "kernels/common/work/step_case.h"
#include "kernels/pack.h"

namespace codl::kernels {

class StepDraw {
 public:
  StepDraw(const KernelInfo& kernel_info, std::mt19937_64& random)
      : kernel_info_(kernel_info), random_(random) {}

  const KernelInfo& kernel_info() const { return kernel_info_; }
  // Returns the step as drawn so far.
  StepCase& step() { return step_; }
  void begin() {
    step_ = {};
    step_.op = kernel_info_.op;
  }

  // Returns a number in [0, 1), the same on every platform.
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double share) { return uniform() < share; }
  int32_t between(int32_t least, int32_t most) {
    return least + static_cast<int32_t>(uniform() * (most - least + 1));
  }
  // Draws evenly on a logarithmic scale.
  int32_t log_between(double least, double most) {
    return static_cast<int32_t>(std::lround(least * std::pow(most / least, uniform())));
  }
  int32_t pick(std::initializer_list<int32_t> values) {
    return values.begin()[between(0, static_cast<int32_t>(values.size()) - 1)];
  }
  // Draws the rows and columns of a map. Networks have what halving leaves of 224, 300, 320, 416
  // ... First layers have the largest, of many megabytes.
  int32_t side() {
    if (chance(0.07)) return pick({150, 208, 224, 256, 300, 320, 416, 480});
    if (chance(0.3)) return log_between(4, 200);
    return pick({7,  14, 28, 56,  112, 7,  14, 28,  56, 112, 8,  16, 32, 64, 10,
                 20, 40, 80, 160, 13,  26, 52, 104, 17, 35,  19, 38, 75, 150});
  }
  // Draws the channels of a map with `side` rows and columns: mostly multiples of 16, many of 64,
  // and the more the smaller the map is.
  int32_t channels(int32_t side) {
    const double area = double{1} * side * side;
    const double least = std::clamp(1e4 / area, 8.0, 256.0);
    const double elements = chance(0.07) || side > 160 ? 6e6 : 1.6e6;
    const double most = std::clamp(elements / area, 2 * least, 2048.0);
    const double grain = most >= 128 && chance(0.3) ? 64
                         : chance(0.75)             ? 16
                         : chance(0.6)              ? 8
                         : chance(0.75)             ? 4
                                                    : 1;
    return std::max(static_cast<int32_t>(grain),
                    static_cast<int32_t>(grain) * log_between(least / grain, most / grain));
  }
  // Draws the output channels of a convolution of `in` channels that makes a map of `side` rows:
  // most are as many, or a few times as many or as few.
  int32_t output_channels(int32_t in, int32_t side) {
    if (chance(0.3)) return channels(side);
    const int32_t most = 2048;
    switch (between(0, 5)) {
      case 0:
      case 1:
        return in;
      case 2:
        return std::min(2 * in, most);
      case 3:
        return std::max(in / 2, 4);
      case 4:
        return std::min(pick({3, 4, 6}) * in, most);
      default:
        return std::max(in / pick({3, 4, 6}), 4);
    }
  }
  // Draws the number of tokens of a sequence, or a width of features.
  int32_t tokens() {
    if (chance(0.3)) return log_between(8, 512);
    return pick({49, 50, 64, 77, 96, 128, 144, 196, 197, 256, 384, 512});
  }
  int32_t width() {
    if (chance(0.7)) return 64 * log_between(1, 48);
    return chance(0.7) ? 8 * log_between(2, 256) : log_between(16, 2048);
  }

  Layout map_layout() {
    if (kernel_info_.layout != Layout::Any) return kernel_info_.layout;
    return kernel_info_.is_reference() ? Layout::Plain : Layout::Nhwc;
  }
  OperandShape operand(Layout layout, std::initializer_list<int32_t> dims,
                       DType dtype = DType::F32) {
    OperandShape shape;
    shape.dtype = dtype;
    shape.layout = layout;
    for (int32_t dim : dims) shape.dims[shape.rank++] = dim;
    if (layout == Layout::Nhwc || layout == Layout::Image2d) shape.row_end = shape.dims[2];
    shape.bytes = memory_bytes(shape);
    return shape;
  }
  OperandShape plain(std::initializer_list<int32_t> dims, DType dtype = DType::F32) {
    return operand(Layout::Plain, dims, dtype);
  }
  OperandShape map(std::initializer_list<int32_t> dims) { return operand(map_layout(), dims); }
  OperandShape packed(std::initializer_list<int32_t> dims, uint32_t index, int32_t groups = 1) {
    OperandShape shape = plain(dims);
    shape.layout = Layout::Packed;
    shape.bytes =
        packed_bytes({kernel_info_.packing_of(index), shape.dtype}, shape.dims, shape.rank, groups);
    return shape;
  }
  // Draws the dims of a map or of a plain tensor, as the kernel takes either.
  OperandShape activation() {
    if (map_layout() != Layout::Plain && (kernel_info_.layout != Layout::Any || chance(0.6)))
      return square_map(map_layout());
    switch (between(0, 2)) {
      case 0:
        return plain({tokens(), width()});
      case 1:
        return plain({1, tokens(), width()});
      default:
        return square_map(Layout::Plain);
    }
  }
  OperandShape square_map(Layout layout) {
    const int32_t s = side();
    return operand(layout, {1, channels(s), s, s});
  }

  template <typename Params>
  void set(const Params& params) {
    step_.params = words_of(params);
  }
  void add(const OperandShape& shape) { step_.operands.push_back(shape); }
  int32_t activation_kind() {
    if (chance(0.7)) return kUnaryRelu;
    // GPU texts are compiled for each: those only that cost something (OpenCL on a processor took
    // twice as long for a depthwise step with Swish).
    const bool is_gpu = kernel_info_.processor == Processor::Gpu;
    return pick_activation([&](const ActivationFacts& activation) {
      const bool is_limit = activation.kind == kUnaryIdentity || activation.kind == kUnaryClip;
      return (activation.use == ActivationUse::Fused || activation.use == ActivationUse::Both) &&
             !(is_gpu && is_limit);
    });
  }
  template <typename Accepts>
  int32_t pick_activation(Accepts accepts) {
    std::vector<int32_t> kinds;
    for (const ActivationFacts& activation : kActivations)
      if (accepts(activation)) kinds.push_back(activation.kind);
    return kinds[static_cast<size_t>(between(0, static_cast<int32_t>(kinds.size()) - 1))];
  }

  template <typename Params>
  void set_window(Params& params, int32_t kernel, int32_t stride) {
    params.stride_h = params.stride_w = stride;
    params.dilation_h = params.dilation_w = 1;
    params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = (kernel - 1) / 2;
    params.activation = activation_kind();
    params.activation_beta = 6;
  }
  static int32_t out_side(int32_t in, int32_t kernel, int32_t stride, int32_t pad) {
    return (in + 2 * pad - kernel) / stride + 1;
  }

 private:
  const KernelInfo& kernel_info_;
  std::mt19937_64& random_;
  StepCase step_;
};

// Draws the steps of an operator.
struct StepSamples {
  OpKind op;
  bool (*draw)(StepDraw& draw);  // false: these numbers make no step
};

// Returns null for an operator without a file: then the kernel's family stands for it.
const StepSamples* samples_of(OpKind op);

}  // namespace codl::kernels
