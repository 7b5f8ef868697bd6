// Describes cases of Conv2d and DepthwiseConv2d in a line each.
#pragma once

#include "test/kernels/kernel_case.h"
#include "test/kernels/tested_activations.h"

namespace codl::test {

struct ConvWindow {
  int32_t kernel_h = 3, kernel_w = 3;
  int32_t stride_h = 1, stride_w = 1;
  int32_t dilation_h = 1, dilation_w = 1;
  int32_t pad_top = 1, pad_left = 1, pad_bottom = 1, pad_right = 1;

  int32_t out_h(int32_t in_h) const {
    return (in_h + pad_top + pad_bottom - (kernel_h - 1) * dilation_h - 1) / stride_h + 1;
  }
  int32_t out_w(int32_t in_w) const {
    return (in_w + pad_left + pad_right - (kernel_w - 1) * dilation_w - 1) / stride_w + 1;
  }
  // Returns the input rows inside the map that `rows` of the output read.
  Range in_rows(Range rows, int32_t in_h) const {
    const int32_t begin = rows.begin * stride_h - pad_top;
    const int32_t end = (rows.end - 1) * stride_h - pad_top + (kernel_h - 1) * dilation_h + 1;
    return {begin < 0 ? 0 : begin, end > in_h ? in_h : end};
  }
};

inline constexpr ConvWindow k1x1 = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
inline constexpr ConvWindow k1x1Stride2 = {1, 1, 2, 2, 1, 1, 0, 0, 0, 0};
inline constexpr ConvWindow k3x3 = {};
inline constexpr ConvWindow k3x3Stride2 = {3, 3, 2, 2, 1, 1, 0, 0, 1, 1};
inline constexpr ConvWindow k5x5 = {5, 5, 1, 1, 1, 1, 2, 2, 2, 2};
inline constexpr ConvWindow k5x5Stride2 = {5, 5, 2, 2, 1, 1, 2, 2, 2, 2};
inline constexpr ConvWindow k7x7Stride2 = {7, 7, 2, 2, 1, 1, 3, 3, 3, 3};
inline constexpr ConvWindow kDilated = {3, 3, 1, 1, 2, 3, 2, 3, 2, 3};
inline constexpr ConvWindow kDilatedBy6 = {3, 3, 1, 1, 6, 6, 6, 6, 6, 6};
inline constexpr ConvWindow kUneven = {3, 2, 2, 3, 2, 3, 1, 0, 2, 4};
// Some taps only see padding: the first and last rows of outputs have none inside the map.
inline constexpr ConvWindow kMostlyPadding = {2, 2, 1, 1, 1, 1, 4, 3, 4, 3};

// Filters of a short-time Fourier transform and others are long, along either axis.
struct LongWindow {
  ConvWindow window;
  int32_t in_h, in_w;
};
inline constexpr LongWindow kLongWindows[] = {
    {{1, 257, 1, 1, 1, 1, 0, 0, 0, 0}, 1, 277},
    {{1, 400, 1, 160, 1, 1, 0, 200, 0, 200}, 1, 1000},
    {{1, 512, 1, 128, 1, 1, 0, 0, 0, 0}, 1, 900},
    {{1, 260, 1, 1, 1, 3, 0, 777, 0, 0}, 1, 40},
    {{300, 1, 2, 1, 1, 1, 150, 0, 149, 0}, 40, 5},
    {{260, 2, 1, 1, 1, 1, 0, 1, 0, 0}, 270, 3},
    {{1, 1500, 1, 1, 1, 1, 0, 1499, 0, 0}, 1, 90},
};

struct ConvCase {
  const char* name;
  int32_t batch = 1, in_c = 1, out_c = 1, in_h = 1, in_w = 1;
  ConvWindow window = {};
  int32_t groups = 1;
  int32_t activation = kUnaryIdentity;
  bool has_residual = false;
  // These rows of the output are computed (empty: all). Operands hold a row more than needed if
  // there is one. With is_part the output does, too, and the step is a Height part.
  Range rows = {};
  bool is_part = false;
  Range channels = {};  // not empty: an OutputChannel part
};

template <typename Params>
Params conv_params(const ConvCase& conv) {
  Params params;
  params.stride_h = conv.window.stride_h;
  params.stride_w = conv.window.stride_w;
  params.dilation_h = conv.window.dilation_h;
  params.dilation_w = conv.window.dilation_w;
  params.pad_top = conv.window.pad_top;
  params.pad_left = conv.window.pad_left;
  params.pad_bottom = conv.window.pad_bottom;
  params.pad_right = conv.window.pad_right;
  params.has_residual = conv.has_residual ? 1 : 0;
  params.activation = conv.activation;
  params.activation_alpha = conv.activation == kUnaryClip ? 0.1f : 0.2f;
  params.activation_beta = 0.6f;
  return params;
}

// `op` is Conv2d or DepthwiseConv2d.
inline KernelCase make_conv_case(OpKind op, const ConvCase& conv) {
  const bool is_depthwise = op == OpKind::DepthwiseConv2d;
  const int32_t in_c = is_depthwise ? conv.out_c : conv.in_c;
  const int32_t out_h = conv.window.out_h(conv.in_h);
  const int32_t out_w = conv.window.out_w(conv.in_w);
  KernelCase item;
  item.name = conv.name;
  item.op = op;
  if (is_depthwise) {
    item.params = words_of(conv_params<DepthwiseConv2dParams>(conv));
  } else {
    auto params = conv_params<Conv2dParams>(conv);
    params.groups = conv.groups;
    item.params = words_of(params);
  }
  const auto widen = [](Range rows, int32_t end) {
    return Range{rows.begin > 0 ? rows.begin - 1 : 0, rows.end < end ? rows.end + 1 : end};
  };
  Range x_rows = {};
  Range residual_rows = {};
  Range y_rows = {};
  if (!conv.rows.empty()) {
    x_rows = widen(conv.window.in_rows(conv.rows, conv.in_h), conv.in_h);
    residual_rows = widen(conv.rows, out_h);
    y_rows = conv.is_part ? Range{conv.rows.begin, out_h} : conv.rows;
  }
  item.operands.push_back(nhwc_operand({conv.batch, in_c, conv.in_h, conv.in_w}, x_rows));
  item.operands.push_back(packed_operand({conv.out_c, is_depthwise ? 1 : in_c / conv.groups,
                                          conv.window.kernel_h, conv.window.kernel_w}));
  item.operands.push_back(packed_operand({conv.out_c}));
  if (conv.has_residual)
    item.operands.push_back(nhwc_operand({conv.batch, conv.out_c, out_h, out_w}, residual_rows));
  item.operands.push_back(nhwc_operand({conv.batch, conv.out_c, out_h, out_w}, y_rows));
  if (conv.is_part) {
    item.part_dim = SplitDim::Height;
    item.part = conv.rows;
  } else if (!conv.channels.empty()) {
    item.part_dim = SplitDim::OutputChannel;
    item.part = conv.channels;
  }
  return item;
}

// Returns cases for both operators: activations, windows with rows held and parts of rows, parts of
// channels.
inline std::vector<ConvCase> cases_of_both() {
  std::vector<ConvCase> cases;
  for (int32_t activation : kTestedActivations)
    for (bool has_residual : {false, true})
      for (int32_t channels : {23, 32})
        cases.push_back({.name = "activation",
                         .in_c = 5,
                         .out_c = channels,
                         .in_h = 3,
                         .in_w = 11,
                         .activation = activation,
                         .has_residual = has_residual});
  for (const ConvWindow& window :
       {k1x1, k1x1Stride2, k3x3Stride2, k5x5, k7x7Stride2, kDilated, kUneven, kMostlyPadding}) {
    ConvCase item = {.name = "window",
                     .batch = 2,
                     .in_c = 3,
                     .in_h = 9,
                     .in_w = 22,
                     .window = window,
                     .activation = kUnaryRelu};
    for (int32_t channels : {32, 20}) {
      item.out_c = channels;
      cases.push_back(item);
    }
    item.activation = kUnaryIdentity;
    item.has_residual = true;
    item.rows = {1, 3};
    item.name = "window, rows held";
    cases.push_back(item);
    item.is_part = true;
    item.name = "window, part of rows";
    cases.push_back(item);
  }
  ConvCase part = {.name = "first channels", .in_c = 5, .out_c = 35, .in_h = 6, .in_w = 8};
  part.channels = {0, 16};
  cases.push_back(part);
  part.name = "middle channels";
  part.activation = kUnarySigmoid;
  part.channels = {16, 32};
  cases.push_back(part);
  part.name = "last channels";
  part.has_residual = true;
  part.channels = {16, 35};
  cases.push_back(part);
  return cases;
}

}  // namespace codl::test
