// Covers sizes around 16 channels and around the 4 and 8 pixels computed at once.
#pragma once

#include "test/kernels/conv_case.h"

namespace codl::test {

inline std::vector<KernelCase> depthwise_conv2d_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const ConvCase& conv) {
    cases.push_back(make_conv_case(OpKind::DepthwiseConv2d, conv));
  };
  for (int32_t channels : {1, 3, 5, 16, 17, 21, 32, 40, 48})
    add({.name = "channels", .out_c = channels, .in_h = 4, .in_w = 12});
  for (int32_t width = 1; width <= 20; ++width)
    add({.name = "columns", .out_c = 18, .in_h = 2, .in_w = width});
  for (int32_t height = 1; height <= 7; ++height)
    add({.name = "rows", .batch = 2, .out_c = 6, .in_h = height, .in_w = 3});
  for (const ConvCase& conv : cases_of_both()) add(conv);
  for (const LongWindow& it : kLongWindows)
    add({.name = "long filter",
         .out_c = 20,
         .in_h = it.in_h,
         .in_w = it.in_w,
         .window = it.window,
         .activation = kUnaryRelu});
  // Runs have 8, 7, 4 and 1 outputs, with stride 2 as well; passes have 32 and 40 channels.
  for (int32_t width : {14, 15, 21, 37})
    for (const ConvWindow& window : {k3x3Stride2, k5x5, k5x5Stride2})
      add({.name = "runs", .out_c = 24, .in_h = 5, .in_w = width, .window = window});
  add({.name = "passes of channels", .out_c = 72, .in_h = 5, .in_w = 120});
  // These have enough work for several tasks: rows, and rows with panels.
  add({.name = "tasks of rows", .batch = 2, .out_c = 32, .in_h = 29, .in_w = 28});
  add({.name = "tasks of rows and panels", .out_c = 500, .in_h = 7, .in_w = 7});
  return cases;
}

}  // namespace codl::test
