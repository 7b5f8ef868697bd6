// Lists the shapes that the kernels are timed on: those of common networks, because the conformance
// cases are too small to time. Every CPU kernel of kernels.def runs at least one of its operator's.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "test/kernels/batch_matmul_cases.h"
#include "test/kernels/conv_case.h"
#include "test/kernels/normalize_cases.h"
#include "test/kernels/pool2d_cases.h"
#include "test/kernels/recurrent_cases.h"
#include "test/kernels/reduce_cases.h"
#include "test/kernels/resize_cases.h"

namespace codl::test {

// Describes a step and its least work. Its traffic is each input read and the output written once,
// at the cache level that holds the operands, unless a member says otherwise.
struct BenchShape {
  std::string name;
  KernelCase item;
  double macs = 0;  // in sums of products
  // Counts other operations on single numbers, each as long as a multiply-add; 0 if there are
  // hardly any.
  double other_ops = 0;
  int64_t read_bytes = 0;  // if the step does not read all of its inputs
  // So many bytes, in whole cache lines, are read before the first result is known and then once
  // more. The second time they come from a smaller cache if that holds them.
  int64_t block_bytes = 0;
};

namespace bench {

// Operations per element, as few as float precision (1e-6) needs to our knowledge:
// e^x: nearest multiple of ln 2 (2), distance from it (1), polynomial of degree 5 (5), times 2^n
// (2).
inline constexpr double kExpOps = 10;
// A sigmoid takes limits of the exponent (2), 1 + e^-x (1), its inverse as an estimate and a step
// of Newton's (3).
inline constexpr double kSigmoidOps = kExpOps + 6;
inline constexpr double kHardSwishOps = 4;
// A softmax takes a maximum, a distance from it, a sum and a factor.
inline constexpr double kSoftmaxOps = kExpOps + 4;
// Sum, distance from the mean, its square, and one multiply-add per result. A scale and bias of its
// own for each element take another.
inline constexpr double kInstanceNormOps = 4;
inline constexpr double kLayerNormOps = 5;
// An output of a 3x3/2 window takes two maxima for each of two columns of three rows, two of
// columns.
inline constexpr double kMaxPool3x3Stride2Ops = 6;
// Doubling the size takes a difference and a multiply-add across, half as many down.
inline constexpr double kResizeLinearX2Ops = 3;

inline double elements_of(const OperandShape& shape) {
  return static_cast<double>(kernels::element_count(shape));
}

// Conv2d, DepthwiseConv2d, ConvNd: each output element takes a filter.
inline BenchShape conv_shape(std::string name, KernelCase item) {
  const OperandShape& w = item.operands[1];
  const double macs =
      elements_of(item.operands.back()) * elements_of(w) / static_cast<double>(w.dims[0]);
  return {std::move(name), std::move(item), macs};
}

inline BenchShape conv(std::string name, int32_t in_c, int32_t out_c, int32_t side,
                       const ConvWindow& window, int32_t groups = 1) {
  return conv_shape(std::move(name), make_conv_case(OpKind::Conv2d, {.name = "",
                                                                     .in_c = in_c,
                                                                     .out_c = out_c,
                                                                     .in_h = side,
                                                                     .in_w = side,
                                                                     .window = window,
                                                                     .groups = groups,
                                                                     .activation = kUnaryRelu}));
}

inline BenchShape depthwise(std::string name, int32_t channels, int32_t side,
                            const ConvWindow& window) {
  return conv_shape(std::move(name),
                    make_conv_case(OpKind::DepthwiseConv2d, {.name = "",
                                                             .out_c = channels,
                                                             .in_h = side,
                                                             .in_w = side,
                                                             .window = window,
                                                             .activation = kUnaryRelu}));
}

inline BenchShape matmul(std::string name, int32_t m, int32_t k, int32_t n) {
  KernelCase item = {
      "",
      OpKind::MatMul,
      words_of(MatMulParams{}),
      {plain_operand({m, k}), packed_operand({k, n}), packed_operand({n}), plain_operand({m, n})}};
  return {std::move(name), std::move(item), 1.0 * m * k * n};
}

inline BenchShape batch_matmul(std::string name, int32_t batch, int32_t m, int32_t k, int32_t n) {
  return {std::move(name), make_batch_matmul_case("", 0, {batch, m, k}, {batch, k, n}),
          1.0 * batch * m * k * n};
}

template <typename Params>
BenchShape step(std::string name, OpKind op, const Params& params,
                std::vector<OperandShape> operands) {
  return {std::move(name), {"", op, words_of(params), std::move(operands)}};
}
inline BenchShape step(std::string name, OpKind op, std::vector<OperandShape> operands) {
  return {std::move(name), {"", op, {}, std::move(operands)}};
}

// Returns the sequence as exporters write it, with a bias and initial states.
inline BenchShape sequence(std::string name, int32_t kind, int32_t direction,
                           const RecurrentSizes& sizes, bool is_packed) {
  RecurrentParams params = recurrent_params(kind, direction);
  if (kind == kRecurrentGru) {
    params.activation_2 = kUnarySigmoid;
    params.activation_3 = kUnaryTanh;
  }
  params.is_linear_before_reset = kind == kRecurrentGru ? 1 : 0;
  params.has_bias = params.has_h0 = 1;
  params.has_c0 = kind == kRecurrentLstm ? 1 : 0;
  KernelCase item = make_recurrent_case("", params, sizes, is_packed);
  const double macs = double{1} * sizes.steps * sizes.batch *
                      (elements_of(item.operands[1]) + elements_of(item.operands[2]));
  return {std::move(name), std::move(item), macs};
}

inline constexpr ConvWindow k3x3Pad1Stride2 = {3, 3, 2, 2, 1, 1, 1, 1, 1, 1};

inline std::vector<BenchShape> convolutions() {
  const ConvWindow k3x3Dilation12 = {3, 3, 1, 1, 12, 12, 12, 12, 12, 12};
  const ConvWindow k9x9 = {9, 9, 1, 1, 1, 1, 4, 4, 4, 4};
  return {
      conv("conv 3x3 64-64 56x56", 64, 64, 56, k3x3),
      conv("conv 3x3 128-128 28x28", 128, 128, 28, k3x3),
      conv("conv 3x3 256-256 14x14", 256, 256, 14, k3x3),
      conv("conv 3x3 512-512 7x7", 512, 512, 7, k3x3),
      conv("conv 3x3 64-64 224x224", 64, 64, 224, k3x3),  // from vgg16
      conv("conv 3x3 128-128 112x112", 128, 128, 112, k3x3),
      conv("conv 3x3 256-256 56x56", 256, 256, 56, k3x3),
      conv("conv 3x3 512-512 28x28", 512, 512, 28, k3x3),
      conv("conv 3x3 512-512 14x14", 512, 512, 14, k3x3),
      conv("conv 3x3/2 128-256 28x28", 128, 256, 28, k3x3Pad1Stride2),
      conv("conv 3x3 dilation 12 160-256 32x32", 160, 256, 32, k3x3Dilation12),
      conv("conv 3x3 128-128 28x28 32 groups", 128, 128, 28, k3x3, 32),
      conv("conv 7x7/2 3-64 224x224", 3, 64, 224, k7x7Stride2),
      conv("conv 9x9 3-32 128x128", 3, 32, 128, k9x9),
      conv("conv 3x3 3-64 224x224", 3, 64, 224, k3x3),
      conv("conv 1x1 256-64 56x56", 256, 64, 56, k1x1),
      conv("conv 1x1 64-256 56x56", 64, 256, 56, k1x1),
      conv("conv 1x1 512-512 7x7", 512, 512, 7, k1x1),
      conv("conv 1x1 1024-256 14x14", 1024, 256, 14, k1x1),
      conv("conv 1x1 16-96 112x112", 16, 96, 112, k1x1),
      conv("conv 3x3 64-64 224x224", 64, 64, 224, k3x3),
      conv("conv 3x3 512-512 28x28", 512, 512, 28, k3x3),
      conv("conv 3x3 512-512 14x14", 512, 512, 14, k3x3),
      conv("conv 3x3 1024-1024 13x13", 1024, 1024, 13, k3x3),
  };
}

// Returns the depthwise convolutions of MobileNetV2, MobileNetV3 (large) and EfficientNet-B0, each
// once.
inline std::vector<BenchShape> depthwise_convolutions() {
  struct Window {
    const char* name;
    ConvWindow window;
  };
  const Window k3 = {"3x3 ", k3x3};
  const Window k3s2 = {"3x3/2 ", k3x3Pad1Stride2};
  const Window k5 = {"5x5 ", k5x5};
  const Window k5s2 = {"5x5/2 ", k5x5Stride2};
  struct Layer {
    Window window;
    int32_t channels, side;
  };
  std::vector<BenchShape> shapes;
  for (const Layer& layer : {
           Layer{k3, 16, 112},   Layer{k3, 32, 112}, Layer{k3s2, 64, 112}, Layer{k3s2, 96, 112},
           Layer{k3, 72, 56},    Layer{k3, 144, 56}, Layer{k3s2, 144, 56}, Layer{k5s2, 72, 56},
           Layer{k5s2, 144, 56}, Layer{k3, 192, 28}, Layer{k3s2, 192, 28}, Layer{k3s2, 240, 28},
           Layer{k5, 120, 28},   Layer{k5, 240, 28}, Layer{k3, 184, 14},   Layer{k3, 200, 14},
           Layer{k3, 384, 14},   Layer{k3, 480, 14}, Layer{k3, 576, 14},   Layer{k3, 672, 14},
           Layer{k3s2, 576, 14}, Layer{k5, 480, 14}, Layer{k5, 672, 14},   Layer{k5s2, 672, 14},
           Layer{k3, 960, 7},    Layer{k3, 1152, 7}, Layer{k5, 960, 7},    Layer{k5, 1152, 7},
       }) {
    const std::string side = std::to_string(layer.side);
    shapes.push_back(depthwise("depthwise " + std::string(layer.window.name) +
                                   std::to_string(layer.channels) + " " + side + "x" + side,
                               layer.channels, layer.side, layer.window.window));
  }
  return shapes;
}

inline std::vector<BenchShape> products() {
  return {
      matmul("matmul 1x2048x1000", 1, 2048, 1000),
      matmul("matmul 1x25088x4096", 1, 25088, 4096),
      matmul("matmul 128x1024x1024", 128, 1024, 1024),
      matmul("matmul 197x192x576", 197, 192, 576),
      batch_matmul("batch matmul 3x197x64x197", 3, 197, 64, 197),
      batch_matmul("batch matmul 3x197x197x64", 3, 197, 197, 64),
  };
}

// A map has two sizes: one for L2 and one for L3, if L2 holds 1 to 2 MiB.
struct MapSize {
  const char* name;
  int32_t channels, side;
};
inline constexpr MapSize kMapSizes[] = {{"64x28x28", 64, 28}, {"64x112x112", 64, 112}};

// Returns operators on maps, in the layouts that their kernels write.
inline std::vector<BenchShape> map_operators() {
  std::vector<BenchShape> shapes;
  const auto add = [&](BenchShape shape) { shapes.push_back(std::move(shape)); };
  const auto add_with_ops = [&](double ops_per_output, BenchShape shape) {
    shape.other_ops = ops_per_output * elements_of(shape.item.operands.back());
    add(std::move(shape));
  };
  for (const MapSize& size : kMapSizes) {
    const std::string name = size.name;
    const int32_t c = size.channels;
    const int32_t side = size.side;
    const OperandShape nhwc = nhwc_operand({1, c, side, side});
    const OperandShape plain = plain_operand({1, c, side, side});
    for (const OperandShape& map : {nhwc, plain}) {
      const std::string where = name + (map.layout == Layout::Nhwc ? " nhwc" : " plain");
      struct Activation {
        const char* name;
        int32_t kind;
        double ops;
      };
      for (const Activation& activation :
           {Activation{"relu ", kUnaryRelu, 1}, Activation{"sigmoid ", kUnarySigmoid, kSigmoidOps},
            Activation{"hard swish ", kUnaryHardSwish, kHardSwishOps}}) {
        UnaryParams params;
        params.kind = activation.kind;
        add_with_ops(activation.ops,
                     step(activation.name + where, OpKind::Unary, params, {map, map}));
      }
      BinaryParams sum;
      sum.kind = kBinaryAdd;
      add(step("add " + where, OpKind::Binary, sum, {map, map, map}));
      BinaryParams product;
      product.kind = kBinaryMul;
      BinaryParams difference;
      difference.kind = kBinarySub;
      for (const auto& [operation, params] :
           {std::pair{"mul", product}, std::pair{"sub", difference}})
        add(step(std::string(operation) + " per channel " + where, OpKind::Binary, params,
                 {map, plain_operand({1, c, 1, 1}), map}));
      ConcatParams concat;
      concat.axis = 1;
      OperandShape two = map.layout == Layout::Nhwc ? nhwc_operand({1, 2 * c, side, side})
                                                    : plain_operand({1, 2 * c, side, side});
      add(step("concat " + where, OpKind::Concat, concat, {map, map, two}));
      SoftmaxParams softmax;
      softmax.axis = 1;
      add_with_ops(kSoftmaxOps,
                   step("softmax of channels " + where, OpKind::Softmax, softmax, {map, map}));
      const LrnParams norm = {.size = 5, .alpha = 1e-4f, .beta = 0.75f, .bias = 1};
      add(step("lrn " + where, OpKind::Lrn, norm, {map, map}));
    }
    add(step("convert " + name + " plain to nhwc", OpKind::Convert, {plain, nhwc}));
    add(step("convert " + name + " nhwc to plain", OpKind::Convert, {nhwc, plain}));
    add(step("convert " + name + " plain", OpKind::Convert, {plain, plain}));
    const Pool2dCase window = {.name = "",
                               .kind = kPool2dMax,
                               .channels = c,
                               .in_h = side,
                               .in_w = side,
                               .kernel = 3,
                               .stride = 2,
                               .pad_begin = 1,
                               .pad_end = 1};
    add_with_ops(kMaxPool3x3Stride2Ops, {"max pool 3x3/2 " + name, make_pool2d_case(window)});
    Pool2dCase whole = {.name = "",
                        .kind = kPool2dAverage,
                        .channels = c,
                        .in_h = side,
                        .in_w = side,
                        .kernel = side};
    add_with_ops(1.0 * side * side, {"average pool of all " + name, make_pool2d_case(whole)});
    PoolNdParams pool;
    pool.kind = kPoolNdMax;
    pool.kernel_0 = pool.kernel_1 = pool.kernel_2 = 2;
    pool.stride_0 = pool.stride_1 = pool.stride_2 = 2;
    pool.dilation_0 = pool.dilation_1 = pool.dilation_2 = 1;
    add(step("max pool 2x2/2 " + name, OpKind::PoolNd, pool,
             {plain, plain_operand({1, c, side / 2, side / 2})}));
    const OperandShape of_channels = plain_operand({c, 1, 1});
    for (const OperandShape& map : {nhwc, plain}) {
      const bool is_nhwc = map.layout == Layout::Nhwc;
      BenchShape norm = {"instance norm " + name + (is_nhwc ? " nhwc" : " plain"),
                         make_normalize_case({"", 12, map, true, of_channels, true, of_channels})};
      // A piece is a plane, or the cache lines of as many channels as one holds.
      constexpr int32_t kLineFloats = 16;
      norm.block_bytes = int64_t{side} * side * (is_nhwc ? kLineFloats : 1) * 4;
      add_with_ops(kInstanceNormOps, norm);
      // Its activation takes no second pass over memory.
      norm.name = "instance norm and relu " + name + (is_nhwc ? " nhwc" : " plain");
      norm.item = make_normalize_case({.axes_mask = 12,
                                       .x = map,
                                       .has_scale = true,
                                       .scale = of_channels,
                                       .has_bias = true,
                                       .bias = of_channels,
                                       .activation = kUnaryRelu});
      add_with_ops(kInstanceNormOps, std::move(norm));
    }
    for (int32_t kind : {kResizeNearest, kResizeLinear})
      add_with_ops(kind == kResizeLinear ? kResizeLinearX2Ops : 0,
                   {(kind == kResizeNearest ? "resize nearest x2 " : "resize linear x2 ") + name,
                    make_resize_case({.name = "",
                                      .kind = kind,
                                      .channels = c,
                                      .in_h = side,
                                      .in_w = side,
                                      .out_h = 2 * side,
                                      .out_w = 2 * side})});
    ResizeParams resize;
    resize.kind = kResizeLinear;
    resize.nearest = kResizeRoundPreferFloor;
    resize.coordinates = kResizeHalfPixel;
    resize.scale_0 = resize.scale_1 = 1.0f;
    resize.scale_2 = resize.scale_3 = 2.0f;
    add(step("resize linear x2 " + name + " plain", OpKind::Resize, resize,
             {plain, plain_operand({1, c, 2 * side, 2 * side})}));
    DepthToSpaceParams blocks;
    blocks.block_h = blocks.block_w = 2;
    add(step("depth to space " + name + " nhwc", OpKind::DepthToSpace, blocks,
             {nhwc, nhwc_operand({1, c / 4, 2 * side, 2 * side})}));
    add(step("depth to space " + name + " plain", OpKind::DepthToSpace, blocks,
             {plain, plain_operand({1, c / 4, 2 * side, 2 * side})}));
    add({"mean of a map " + name, make_reduce_case("", kReduceMean, 12, {1, c, side, side})});
    add({"mean of channels " + name, make_reduce_case("", kReduceMean, 2, {1, c, side, side})});
    std::vector<int32_t> words(sizeof(TransposeParams) / 4, 0);
    const int32_t perm[] = {0, 2, 3, 1};
    std::copy(std::begin(perm), std::end(perm), words.begin());
    add({"transpose 0231 " + name,
         {"", OpKind::Transpose, words, {plain, plain_operand({1, side, side, c})}}});
    add(step("reshape " + name, OpKind::Reshape, {plain, plain_operand({c, side * side})}));
  }
  return shapes;
}

// Returns operators on sequences and tables of a transformer's size.
inline std::vector<BenchShape> sequence_operators() {
  std::vector<BenchShape> shapes;
  const auto add = [&](BenchShape shape) { shapes.push_back(std::move(shape)); };
  const auto add_with_ops = [&](double ops_per_output, BenchShape shape) {
    shape.other_ops = ops_per_output * elements_of(shape.item.operands.back());
    add(std::move(shape));
  };
  const auto add_with_reads = [&](int64_t read_bytes, BenchShape shape) {
    shape.read_bytes = read_bytes;
    add(std::move(shape));
  };
  const OperandShape tokens = plain_operand({1, 197, 768});
  const OperandShape rows = plain_operand({768});
  const auto indices = [](std::initializer_list<int32_t> dims) {
    return typed_operand(DType::I64, dims);
  };
  add_with_ops(kLayerNormOps, {"layer norm 197x768",
                               make_normalize_case({"", 4, tokens, true, rows, true, rows})});
  add_with_ops(kLayerNormOps,
               {"layer norm 197x768 with bias of tokens",
                make_normalize_case({"", 4, tokens, true, rows, true, plain_operand({197, 1})})});
  add({"sum of 512 rows of 512", make_reduce_case("", kReduceSum, 2, {1, 512, 512})});
  add({"sums of pairs 309x172", make_reduce_case("", kReduceSum, 8, {1, 309, 172, 2})});
  SoftmaxParams softmax;
  softmax.axis = 2;
  add_with_ops(kSoftmaxOps, step("softmax 12x197x197", OpKind::Softmax, softmax,
                                 {plain_operand({12, 197, 197}), plain_operand({12, 197, 197})}));
  add(step("where 12x197x197", OpKind::Where,
           {typed_operand(DType::Bool, {1, 197, 197}), plain_operand({12, 197, 197}),
            plain_operand({}), plain_operand({12, 197, 197})}));
  add(step("cast i64 to f32 197x768", OpKind::Cast,
           CastParams{.to = static_cast<int32_t>(DType::F32)},
           {indices({197, 768}), plain_operand({197, 768})}));
  std::vector<int32_t> slice(sizeof(SliceParams) / 4, 0);
  const int32_t kept[] = {1, 197, 192};
  for (size_t i = 0; i < 3; ++i) {
    slice[kMaxRank + i] = 1;
    slice[2 * kMaxRank + i] = kept[i];
  }
  const int64_t token_bytes = 768 * 4;
  add_with_reads(197 * token_bytes / 4,
                 {"slice 197x768 to 197x192",
                  {"", OpKind::Slice, slice, {tokens, plain_operand({1, 197, 192})}}});
  std::vector<int32_t> pad(sizeof(PadParams) / 4, 0);
  pad[0] = kPadReflect;
  for (size_t i : {size_t{2}, size_t{3}}) pad[2 + i] = pad[2 + kMaxRank + i] = 1;
  add({"pad reflect 32x128x128",
       {"",
        OpKind::Pad,
        pad,
        {plain_operand({1, 32, 128, 128}), plain_operand({1, 32, 130, 130})}}});
  add({"pad reflect 32x256x256",
       {"", OpKind::Pad, pad, {nhwc_operand({1, 32, 256, 256}), nhwc_operand({1, 32, 258, 258})}}});
  add_with_reads(197 * token_bytes,
                 step("gather 197 rows of 4096x768", OpKind::Gather, GatherParams{},
                      {plain_operand({4096, 768}), indices({197}), plain_operand({197, 768})}));
  add(step("gather elements 197x768", OpKind::GatherElements, GatherElementsParams{},
           {plain_operand({197, 768}), indices({197, 768}), plain_operand({197, 768})}));
  add_with_reads(197 * token_bytes,
                 step("gather nd 197 rows of 4096x768", OpKind::GatherNd, GatherNdParams{},
                      {plain_operand({4096, 768}), indices({197, 1}), plain_operand({197, 768})}));
  add(step("scatter elements 197x768", OpKind::ScatterElements, ScatterElementsParams{},
           {plain_operand({197, 768}), indices({197, 768}), plain_operand({197, 768}),
            plain_operand({197, 768})}));
  add(step("scatter nd 64 rows of 197x768", OpKind::ScatterNd, ScatterNdParams{},
           {plain_operand({197, 768}), indices({64, 1}), plain_operand({64, 768}),
            plain_operand({197, 768})}));
  add(step("expand 1x768 to 197x768", OpKind::Expand,
           {plain_operand({1, 768}), plain_operand({197, 768})}));
  add(step(
      "compress 197 rows of 768", OpKind::Compress, CompressParams{},
      {plain_operand({197, 768}), typed_operand(DType::Bool, {197}), plain_operand({197, 768})}));
  add(step("non zero 197x768", OpKind::NonZero,
           {typed_operand(DType::Bool, {197, 768}), indices({2, 197 * 768})}));
  TopKParams top;
  top.axis = 1;
  top.k = 5;
  add(step("top 5 of 16x1000", OpKind::TopK, top, {plain_operand({16, 1000}), indices({16, 5})}));
  CumulateParams cumulate;
  cumulate.axis = 1;
  add(step("cumulative sum 197x768", OpKind::Cumulate, cumulate,
           {plain_operand({197, 768}), plain_operand({197, 768})}));
  return shapes;
}

// Returns detection, recurrence, and convolution of any rank.
inline std::vector<BenchShape> other_operators() {
  std::vector<BenchShape> shapes;
  const auto add = [&](BenchShape shape) { shapes.push_back(std::move(shape)); };
  const auto indices = [](std::initializer_list<int32_t> dims) {
    return typed_operand(DType::I64, dims);
  };
  ConvNdParams conv;
  conv.groups = 1;
  conv.stride_0 = conv.stride_1 = conv.stride_2 = 1;
  conv.dilation_0 = conv.dilation_1 = conv.dilation_2 = 1;
  add(conv_shape("conv of volumes 3x3x3 16-16 8x16x16",
                 {"",
                  OpKind::ConvNd,
                  words_of(conv),
                  {plain_operand({1, 16, 8, 16, 16}), plain_operand({16, 16, 3, 3, 3}),
                   plain_operand({1, 16, 6, 14, 14})}}));
  add(step("grid sample 32x64x64", OpKind::GridSample,
           GridSampleParams{kGridSampleLinear, kGridSampleZeros, 0},
           {plain_operand({1, 32, 64, 64}), plain_operand({1, 64, 64, 2}),
            plain_operand({1, 32, 64, 64})}));
  RoiAlignParams roi;
  roi.output_h = roi.output_w = 7;
  roi.sampling_ratio = 2;
  roi.spatial_scale = 32.0f;
  add(step("roi align 50 of 64x32x32", OpKind::RoiAlign, roi,
           {plain_operand({1, 64, 32, 32}), plain_operand({50, 4}), indices({50}),
            plain_operand({50, 64, 7, 7})}));
  add(step("non max suppression 1000 boxes", OpKind::NonMaxSuppression, NonMaxSuppressionParams{},
           {plain_operand({1, 1000, 4}), plain_operand({1, 1, 1000}), indices({1}),
            plain_operand({1}), plain_operand({}), indices({1000, 3})}));
  // Weights are plain, as the kernel of any weights takes them.
  add(sequence("lstm 32 steps 256 units, plain", kRecurrentLstm, 0,
               {.steps = 32, .batch = 1, .inputs = 256, .units = 256}, false));
  return shapes;
}

inline std::vector<BenchShape> recurrent_operators() {
  return {
      sequence("lstm 1 step 128 units", kRecurrentLstm, 0,  // from a voice activity detector
               {.steps = 1, .batch = 1, .inputs = 128, .units = 128}, true),
      sequence("lstm 100 steps 128 units", kRecurrentLstm, 0,
               {.steps = 100, .batch = 1, .inputs = 128, .units = 128}, true),
      sequence("gru 50 steps 256 units both ways", kRecurrentGru, 2,
               {.steps = 50, .batch = 1, .inputs = 256, .units = 256}, true),
      sequence("lstm 40 steps 192 units batch 8", kRecurrentLstm, 0,
               {.steps = 40, .batch = 8, .inputs = 96, .units = 192}, true),
  };
}

}  // namespace bench

inline std::vector<BenchShape> bench_shapes() {
  std::vector<BenchShape> shapes;
  for (const auto& part : {bench::convolutions(), bench::depthwise_convolutions(),
                           bench::products(), bench::map_operators(), bench::sequence_operators(),
                           bench::recurrent_operators(), bench::other_operators()})
    shapes.insert(shapes.end(), part.begin(), part.end());
  return shapes;
}

}  // namespace codl::test
