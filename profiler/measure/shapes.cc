#include "profiler/measure/shapes.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "kernels/common/activation.h"
#include "kernels/common/conv_window.h"
#include "kernels/common/tensor_view.h"
#include "kernels/kernel_table.h"
#include "kernels/pack.h"
#include "kernels/work_table.h"

namespace codl::profiler {
namespace {

using kernels::ActivationUse;

// Draws until a step is within the limits and passes the contract.
constexpr int kMaxTries = 200;

class Draw {
 public:
  Draw(const KernelInfo& info, const WorkLimits& limits, std::mt19937_64& random)
      : kernel_info_(info), limits_(limits), random_(random) {}

  std::optional<StepCase> step();

 private:
  using Maker = bool (Draw::*)();

  // In [0, 1), the same on every platform.
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double share) { return uniform() < share; }
  int32_t between(int32_t least, int32_t most) {
    return least + static_cast<int32_t>(uniform() * (most - least + 1));
  }
  // Evenly on a logarithmic scale.
  int32_t log_between(double least, double most) {
    return static_cast<int32_t>(std::lround(least * std::pow(most / least, uniform())));
  }
  int32_t pick(std::initializer_list<int32_t> values) {
    return values.begin()[between(0, static_cast<int32_t>(values.size()) - 1)];
  }
  // Rows and columns of a map. Those of networks are what halving leaves of 224, 300, 320, 416 ...
  // First layers have the largest, of many megabytes.
  int32_t side() {
    if (chance(0.07)) return pick({150, 208, 224, 256, 300, 320, 416, 480});
    if (chance(0.3)) return log_between(4, 200);
    return pick({7,  14, 28, 56,  112, 7,  14, 28,  56, 112, 8,  16, 32, 64, 10,
                 20, 40, 80, 160, 13,  26, 52, 104, 17, 35,  19, 38, 75, 150});
  }
  // Of a map of `side` rows and columns: mostly multiples of 16, many of 64, and the more the
  // smaller it is.
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
  // Output channels of a convolution of `in` channels that makes a map of `side` rows: most are as
  // many, or a few times as many or as few.
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
  // Tokens of a sequence; a width of features.
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
    return kernel_info_.dtype == DType::Any ? Layout::Plain : Layout::Nhwc;
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
        kernels::packed_bytes(kernel_info_.packing_of(index), shape.dims, shape.rank, groups);
    return shape;
  }
  // Dims of a map or of a plain tensor, as the kernel takes either.
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
    item_.params = words_of(params);
  }
  void add(const OperandShape& shape) { item_.operands.push_back(shape); }
  int32_t activation_kind() {
    if (chance(0.7)) return kUnaryRelu;
    // GPU texts are compiled for each: those only that cost something (OpenCL on a processor took
    // twice as long for a depthwise step with Swish).
    const bool is_gpu = kernel_info_.processor == Processor::Gpu;
    return pick_activation([&](const kernels::ActivationFacts& activation) {
      const bool is_limit = activation.kind == kUnaryIdentity || activation.kind == kUnaryClip;
      return (activation.use == ActivationUse::Fused || activation.use == ActivationUse::Both) &&
             !(is_gpu && is_limit);
    });
  }
  template <typename Accepts>
  int32_t pick_activation(Accepts accepts) {
    std::vector<int32_t> kinds;
    for (const kernels::ActivationFacts& activation : kernels::kActivations)
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
  bool conv2d();
  bool depthwise_conv2d();
  bool matmul();
  bool batch_matmul();
  bool pool2d();
  bool unary();
  bool binary();
  bool concat();
  bool softmax();
  bool transpose();
  bool reshape();
  bool convert();
  bool normalize();
  bool resize();
  bool depth_to_space();
  bool slice();
  bool reduce();
  bool where();
  bool pad();
  bool gather();
  bool expand();
  bool conv_nd();
  Maker maker() const;
  // Some steps become the part that one processor has of a split: rows or channels.
  void take_part();
  bool is_within_limits() const;

  const KernelInfo& kernel_info_;
  const WorkLimits& limits_;
  std::mt19937_64& random_;
  StepCase item_;
};

bool Draw::conv2d() {
  // First layers: three channels. Pixels: what squeezes a map's means. Last layers: colours or
  // masks of a large map, of filters as large as first layers have.
  const bool is_first = chance(0.05);
  const bool is_pixel = !is_first && chance(0.06);
  const bool is_last = !is_first && !is_pixel && chance(0.04);
  const int32_t kernel = is_first || is_last       ? pick({3, 3, 7, 9})
                         : is_pixel || chance(0.5) ? 1
                         : chance(0.8)             ? 3
                                                   : pick({5, 7});
  const int32_t stride = !is_pixel && !is_last && chance(is_first ? 0.7 : 0.2) ? 2 : 1;
  const int32_t in = is_first || is_last ? pick({112, 160, 224, 256, 300, 320})
                     : is_pixel          ? 1
                                         : side();
  const int32_t out = out_side(in, kernel, stride, (kernel - 1) / 2);
  const int32_t in_c = is_first   ? 3
                       : is_last  ? 8 * log_between(2, 8)
                       : is_pixel ? 4 * log_between(1, 320)
                                  : channels(in);
  const int32_t out_c = is_first   ? 8 * log_between(2, 8)
                        : is_last  ? between(1, 4)
                        : is_pixel ? 4 * log_between(1, 320)
                                   : output_channels(in_c, out);
  Conv2dParams params;
  set_window(params, kernel, stride);
  params.groups = 1;
  if (chance(0.05)) {
    params.groups = pick({2, 4, 8});
    if (in_c % (4 * params.groups) != 0 || out_c % (4 * params.groups) != 0) return false;
  }
  params.has_residual = chance(0.15) ? 1 : 0;
  set(params);
  add(map({1, in_c, in, in}));
  add(packed({out_c, in_c / params.groups, kernel, kernel}, 1, params.groups));
  add(packed({out_c}, 2));
  if (params.has_residual != 0) add(map({1, out_c, out, out}));
  add(map({1, out_c, out, out}));
  return true;
}

bool Draw::depthwise_conv2d() {
  const int32_t kernel = chance(0.65) ? 3 : chance(0.7) ? 5 : pick({1, 7});
  const int32_t stride = chance(0.3) ? 2 : 1;
  const int32_t in = side();
  const int32_t out = out_side(in, kernel, stride, (kernel - 1) / 2);
  const int32_t c = channels(in);
  DepthwiseConv2dParams params;
  set_window(params, kernel, stride);
  set(params);
  add(map({1, c, in, in}));
  add(packed({c, 1, kernel, kernel}, 1));
  add(packed({c}, 2));
  add(map({1, c, out, out}));
  return true;
}

bool Draw::matmul() {
  const int32_t m = chance(0.35) ? 1 : chance(0.1) ? log_between(2, 16) : tokens();
  const int32_t k = width();
  const int32_t n = chance(0.1) ? pick({10, 1000, 1001, 2048, 4096}) : width();
  MatMulParams params;
  params.activation = activation_kind();
  params.activation_beta = 6;
  set(params);
  add(plain({m, k}));
  add(packed({k, n}, 1));
  add(packed({n}, 2));
  add(plain({m, n}));
  return true;
}

bool Draw::batch_matmul() {
  // Of an attention: queries with keys, or what comes of them with values.
  const int32_t batch = chance(0.8) ? pick({1, 2, 3, 4, 6, 8, 12, 16}) : log_between(1, 24);
  const int32_t seen = tokens();
  const int32_t head = chance(0.7) ? pick({32, 48, 64, 80, 96, 128}) : log_between(8, 160);
  const bool is_first = chance(0.5);
  const int32_t m = chance(0.7) ? seen : tokens();
  const int32_t k = is_first ? head : seen;
  const int32_t n = is_first ? seen : head;
  BatchMatMulParams params;
  params.is_b_transposed = chance(0.4) ? 1 : 0;
  set(params);
  add(plain({batch, m, k}));
  add(params.is_b_transposed != 0 ? plain({batch, n, k}) : plain({batch, k, n}));
  add(plain({batch, m, n}));
  return true;
}

bool Draw::pool2d() {
  const bool is_global = chance(0.3);  // of the maps that classifiers end with
  const int32_t in =
      is_global ? pick({4, 5, 7, 7, 7, 8, 8, 10, 12, 13, 14, 16, 20, 28, 32}) : side();
  const int32_t c = channels(in);
  const int32_t kernel = is_global ? in : pick({2, 3, 3, 5});
  const int32_t stride = is_global ? 1 : pick({1, 2, 2});
  if (kernel > in) return false;
  Pool2dParams params;
  params.kind = is_global || chance(0.3) ? kPool2dAverage : kPool2dMax;
  params.kernel_h = params.kernel_w = kernel;
  params.stride_h = params.stride_w = stride;
  params.dilation_h = params.dilation_w = 1;
  const int32_t out = out_side(in, kernel, stride, 0);
  set(params);
  add(map({1, c, in, in}));
  add(map({1, c, out, out}));
  return true;
}

bool Draw::unary() {
  UnaryParams params;
  // What networks have that is not fused into the step before.
  params.kind = pick_activation([](const kernels::ActivationFacts& activation) {
    return activation.use == ActivationUse::Alone || activation.use == ActivationUse::Both;
  });
  params.beta = 6;
  set(params);
  add(activation());
  add(item_.operands[0]);
  return true;
}

bool Draw::binary() {
  BinaryParams params;
  params.kind = pick({kBinaryAdd, kBinaryAdd, kBinaryMul, kBinarySub, kBinaryDiv});
  set(params);
  const OperandShape y = activation();
  add(y);
  const double other = uniform();
  if (y.layout == Layout::Image2d || other < 0.5)
    add(y);
  else if (other < 0.65)
    add(plain({1}));
  else if (y.rank == 4)
    add(operand(y.layout, {1, y.dims[1], 1, 1}));
  else
    add(plain({y.dims[y.rank - 1]}));
  add(y);
  return true;
}

bool Draw::concat() {
  const int32_t count = between(2, 4);
  ConcatParams params;
  params.axis = 1;
  set(params);
  const OperandShape first = activation();
  int32_t extent = 0;
  for (int32_t i = 0; i < count; ++i) {
    OperandShape x = first;
    if (x.rank == 4) x.dims[1] = channels(x.dims[2]);
    extent += x.dims[1];
    x.bytes = memory_bytes(x);
    add(x);
  }
  OperandShape y = first;
  y.dims[1] = extent;
  y.bytes = memory_bytes(y);
  add(y);
  return true;
}

bool Draw::softmax() {
  const OperandShape x =
      chance(0.6) ? plain({pick({1, 2, 3, 4, 6, 8, 12}), tokens(), tokens()}) : activation();
  SoftmaxParams params;
  params.axis = x.layout == Layout::Plain ? x.rank - 1 : 1;
  set(params);
  add(x);
  add(x);
  return true;
}

bool Draw::transpose() {
  TransposeParams params;
  OperandShape x;
  if (chance(0.5)) {  // heads of an attention
    x = plain({1, tokens(), log_between(1, 16), chance(0.7) ? pick({32, 64, 96}) : tokens()});
    params.perm_1 = 2;
    params.perm_2 = chance(0.5) ? 1 : 3;
    params.perm_3 = params.perm_2 == 1 ? 3 : 1;
  } else if (chance(0.5)) {
    x = square_map(Layout::Plain);
    params.perm_1 = 2;
    params.perm_2 = 3;
    params.perm_3 = 1;
  } else {
    x = plain({1, tokens(), width()});
    params.perm_1 = 2;
    params.perm_2 = 1;
  }
  const int32_t perm[] = {0, params.perm_1, params.perm_2, params.perm_3};
  set(params);
  add(x);
  OperandShape y = x;
  for (int32_t i = 0; i < y.rank; ++i) y.dims[i] = x.dims[perm[i]];
  add(y);
  return true;
}

bool Draw::reshape() {
  const int32_t s = side();
  const int32_t c = channels(s);
  add(plain({1, c, s, s}));
  add(plain({1, c, s * s}));
  return true;
}

bool Draw::convert() {
  const int32_t s = side();
  const int32_t c = channels(s);
  const bool from_image = kernel_info_.processor == Processor::Gpu && chance(0.5);
  const bool to_image = kernel_info_.layout == Layout::Image2d;
  const Layout other =
      kernel_info_.dtype == DType::Any || chance(0.6) ? Layout::Plain : Layout::Nhwc;
  const Layout x = from_image ? Layout::Image2d : other;
  const Layout nhwc = kernel_info_.dtype == DType::Any ? Layout::Plain : Layout::Nhwc;
  // Network inputs have few channels.
  const int32_t channel_count = s > 100 && chance(0.5) ? 3 : c;
  if (!from_image && !to_image && chance(0.5)) {
    add(operand(nhwc, {1, channel_count, s, s}));
    add(operand(other, {1, channel_count, s, s}));
    return true;
  }
  add(operand(x, {1, channel_count, s, s}));
  add(operand(to_image ? Layout::Image2d : from_image ? other : nhwc, {1, channel_count, s, s}));
  return true;
}

bool Draw::normalize() {
  NormalizeParams params;
  params.epsilon = 1e-5f;
  params.has_scale = params.has_bias = 1;
  const OperandShape x = activation();
  add(x);
  if (x.rank == 4) {  // instance normalisation
    params.axes_mask = 12;
    add(plain({x.dims[1], 1, 1}));
  } else {  // layer normalisation
    params.axes_mask = 1 << (x.rank - 1);
    add(plain({x.dims[x.rank - 1]}));
  }
  add(item_.operands[1]);
  add(x);
  set(params);
  return true;
}

bool Draw::resize() {
  const int32_t in = chance(0.5) ? pick({7, 8, 10, 13, 14, 16, 20, 26, 28, 32, 40, 52, 56, 64})
                                 : log_between(4, 100);
  const int32_t factor = pick({2, 2, 2, 3, 4});
  const int32_t c = channels(in * factor);
  ResizeParams params;
  params.kind = chance(0.5) ? kResizeNearest : kResizeLinear;
  params.coordinates = params.kind == kResizeNearest ? kResizeAsymmetric : kResizeHalfPixel;
  params.nearest = kResizeFloor;
  params.scale_0 = params.scale_1 = 1;
  params.scale_2 = params.scale_3 = static_cast<float>(factor);
  set(params);
  add(map({1, c, in, in}));
  add(map({1, c, in * factor, in * factor}));
  return true;
}

bool Draw::depth_to_space() {
  const int32_t block = pick({2, 2, 3, 4});
  // Images, or maps of a transposed convolution.
  const int32_t c = chance(0.75) ? pick({1, 2, 3, 8, 16, 32, 64, 128}) : log_between(1, 128);
  const int32_t in = log_between(4, 112);
  DepthToSpaceParams params;
  params.block_h = params.block_w = block;
  params.is_channel_major = chance(0.5) ? 1 : 0;
  set(params);
  add(map({1, c * block * block, in, in}));
  add(map({1, c, in * block, in * block}));
  return true;
}

bool Draw::slice() {
  SliceParams params;
  params.step_0 = params.step_1 = params.step_2 = params.step_3 = 1;
  const int32_t s = side();
  const int32_t c = channels(s) + 1;
  const int32_t kept = between(1, c - 1);
  params.start_1 = chance(0.5) ? 0 : c - kept;
  params.count_0 = 1;
  params.count_1 = kept;
  params.count_2 = params.count_3 = s;
  set(params);
  add(plain({1, c, s, s}));
  add(plain({1, kept, s, s}));
  return true;
}

bool Draw::reduce() {
  ReduceParams params;
  params.kind = pick({kReduceMean, kReduceSum, kReduceMax});
  const OperandShape x = activation();
  OperandShape y = x;
  params.axes_mask = x.rank == 4 && chance(0.7) ? 12 : 1 << (x.rank - 1);
  for (int32_t i = 0; i < x.rank; ++i)
    if ((params.axes_mask >> i & 1) != 0) y.dims[i] = 1;
  if (y.layout != Layout::Plain) y.row_end = y.dims[2];
  y.bytes = memory_bytes(y);
  set(params);
  add(x);
  add(y);
  return true;
}

bool Draw::where() {
  const int32_t rows = log_between(1, 512);
  const int32_t columns = log_between(16, 2048);
  add(plain({rows, columns}, DType::Bool));
  add(plain({rows, columns}));
  add(chance(0.5) ? plain({1}) : plain({rows, columns}));
  add(plain({rows, columns}));
  return true;
}

bool Draw::pad() {
  const int32_t s = side();
  const int32_t c = channels(s);
  const int32_t border = between(1, 4);
  if (border >= s) return false;
  PadParams params;
  params.kind = pick({kPadConstant, kPadReflect, kPadEdge});
  params.begin_2 = params.begin_3 = params.end_2 = params.end_3 = border;
  set(params);
  add(map({1, c, s, s}));
  add(map({1, c, s + 2 * border, s + 2 * border}));
  return true;
}

bool Draw::gather() {
  const int32_t rows = log_between(16, 8192);
  const int32_t width = log_between(16, 1024);
  const int32_t count = log_between(1, 512);
  GatherParams params;
  set(params);
  add(plain({rows, width}));
  add(plain({count}, DType::I64));
  add(plain({count, width}));
  return true;
}

bool Draw::expand() {
  const int32_t s = side();
  const int32_t c = channels(s);
  add(plain({1, c, 1, 1}));
  add(plain({1, c, s, s}));
  return true;
}

bool Draw::conv_nd() {
  const int32_t kernel = pick({2, 3, 4});
  const int32_t in = log_between(4, 32);
  const int32_t in_c = log_between(4, 64);
  const int32_t out_c = log_between(4, 64);
  ConvNdParams params;
  params.is_transposed = 1;
  params.groups = 1;
  params.stride_0 = params.stride_1 = 2;
  params.dilation_0 = params.dilation_1 = 1;
  const int32_t out = (in - 1) * 2 + kernel;
  set(params);
  add(plain({1, in_c, in, in}));
  add(plain({in_c, out_c, kernel, kernel}));
  add(plain({1, out_c, out, out}));
  return true;
}

Draw::Maker Draw::maker() const {
  switch (kernel_info_.op) {
    case OpKind::Conv2d:
      return &Draw::conv2d;
    case OpKind::DepthwiseConv2d:
      return &Draw::depthwise_conv2d;
    case OpKind::MatMul:
      return &Draw::matmul;
    case OpKind::BatchMatMul:
      return &Draw::batch_matmul;
    case OpKind::Pool2d:
      return &Draw::pool2d;
    case OpKind::Unary:
      return &Draw::unary;
    case OpKind::Binary:
      return &Draw::binary;
    case OpKind::Concat:
      return &Draw::concat;
    case OpKind::Softmax:
      return &Draw::softmax;
    case OpKind::Transpose:
      return &Draw::transpose;
    case OpKind::Reshape:
      return &Draw::reshape;
    case OpKind::Convert:
      return &Draw::convert;
    case OpKind::Normalize:
      return &Draw::normalize;
    case OpKind::Resize:
      return &Draw::resize;
    case OpKind::DepthToSpace:
      return &Draw::depth_to_space;
    case OpKind::Slice:
      return &Draw::slice;
    case OpKind::Reduce:
      return &Draw::reduce;
    case OpKind::Where:
      return &Draw::where;
    case OpKind::Pad:
      return &Draw::pad;
    case OpKind::Gather:
      return &Draw::gather;
    case OpKind::Expand:
      return &Draw::expand;
    case OpKind::ConvNd:
      return &Draw::conv_nd;
    default:
      return nullptr;
  }
}

void Draw::take_part() {
  const OperandShape& y = item_.operands.back();
  const double which = uniform();
  if (which < 0.3 && kernel_info_.can_split(SplitDim::Height) && y.rank == 4 && y.dims[2] >= 4) {
    const int32_t rows = between(std::max(y.dims[2] / 8, 1), y.dims[2] - 1);
    const int32_t begin = chance(0.5) ? 0 : y.dims[2] - rows;
    item_.part_dim = SplitDim::Height;
    item_.part = {begin, begin + rows};
  } else if (which < 0.45 && kernel_info_.can_split(SplitDim::OutputChannel) && y.rank >= 2 &&
             y.dims[1] >= 2 * kChannelPanel) {
    const int32_t panels = y.dims[1] / kChannelPanel;
    const int32_t cut = between(1, panels - 1) * kChannelPanel;
    item_.part_dim = SplitDim::OutputChannel;
    item_.part = chance(0.5) ? Range{0, cut} : Range{cut, y.dims[1]};
  }
}

bool Draw::is_within_limits() const {
  double elements = 0;
  for (const OperandShape& shape : item_.operands) {
    double count = 1;
    for (int32_t i = 0; i < shape.rank; ++i) count *= shape.dims[i];
    elements += count;
  }
  if (elements > 16 * limits_.most_elements) return false;
  const kernels::StepWork work = work_of(kernel_info_, item_);
  return work.needed_macs <= limits_.most_macs &&
         work.operations + work.transcendentals <= 10 * limits_.most_elements &&
         work.read_bytes + work.written_bytes + work.weight_bytes <= 8 * limits_.most_elements;
}

std::optional<StepCase> Draw::step() {
  const Maker make = maker();
  if (make == nullptr) return {};
  for (int i = 0; i < kMaxTries; ++i) {
    item_ = {};
    item_.op = kernel_info_.op;
    if (!(this->*make)()) continue;
    take_part();
    kernels::StepNeeds needs;
    if (kernels::check_step(step_of(kernel_info_, item_), &needs) == nullptr && is_within_limits())
      return item_;
  }
  return {};
}

}  // namespace

bool has_multiply_adds(const KernelInfo& info) {
  switch (info.op) {
    case OpKind::Conv2d:
    case OpKind::DepthwiseConv2d:
    case OpKind::MatMul:
    case OpKind::BatchMatMul:
      return true;
    default:
      return false;
  }
}

kernels::StepWork work_of(const KernelInfo& info, const StepCase& item) {
  kernels::StepShape step = step_of(info, item);
  int32_t tile[kernels::kMaxTileInts] = {};
  if (info.processor == Processor::Gpu) step.tile_count = kernels::choose_tile(step, {}, tile);
  step.tile = tile;
  kernels::StepWork work;
  kernels::count_work(step, {}, &work);
  return work;
}

std::optional<StepCase> draw_step(const KernelInfo& info, const WorkLimits& limits,
                                  std::mt19937_64& random) {
  return Draw(info, limits, random).step();
}

}  // namespace codl::profiler
