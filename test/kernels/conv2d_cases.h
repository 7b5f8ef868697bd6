// Covers sizes around the edges of the tiles (1, 4, 6, 14 pixels; 16 and 32 channels), every kind
// of window, every activation, windows of rows, parts.
#pragma once

#include <iterator>

#include "test/kernels/conv_case.h"
#include "test/kernels/tested_activations.h"

namespace codl::test {

inline std::vector<KernelCase> conv2d_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const ConvCase& conv) {
    cases.push_back(make_conv_case(OpKind::Conv2d, conv));
  };
  for (int32_t channels : {1, 3, 5, 16, 17, 21, 40})
    for (int32_t other : {3, 32})
      add({.name = "3x3, channels", .in_c = other, .out_c = channels, .in_h = 4, .in_w = 5});
  for (int32_t channels : {1, 2, 3, 4, 5, 7, 8, 17})
    add({.name = "1x1, input channels",
         .in_c = channels,
         .out_c = 19,
         .in_h = 3,
         .in_w = 3,
         .window = k1x1});
  // Rows of 1 to 30 pixels give every size of tile, alone and as the last one.
  for (int32_t width = 1; width <= 30; ++width)
    add({.name = "1x1, pixels", .in_c = 6, .out_c = 48, .in_h = 1, .in_w = width, .window = k1x1});
  // The output channels fill a panel only in part: other tiles, alone and as the last panel.
  for (int32_t channels : {1, 8, 9})
    for (int32_t width : {1, 3, 5, 6, 7, 8, 11, 12, 13, 27})
      add({.name = "few output channels, pixels",
           .in_c = 6,
           .out_c = channels,
           .in_h = 1,
           .in_w = width,
           .window = k1x1});
  const ConvWindow few_windows[] = {k1x1Stride2, k3x3Stride2, k5x5, kDilated, kUneven};
  size_t number = 0;
  for (int32_t channels : {1, 2, 3, 5, 7, 8, 9})
    for (int32_t other : {1, 8, 33}) {
      add({.name = "few output channels, window",
           .batch = 2,
           .in_c = other,
           .out_c = channels,
           .in_h = 17,
           .in_w = 33,
           .window = few_windows[number % std::size(few_windows)],
           .activation = kUnaryRelu});
      add({.name = "few output channels, part of rows",
           .in_c = other,
           .out_c = channels,
           .in_h = 23,
           .in_w = 29,
           .activation = kUnarySigmoid,
           .has_residual = true,
           .rows = {3, 17},
           .is_part = true});
      const LongWindow& it = kLongWindows[number % std::size(kLongWindows)];
      add({.name = "few output channels, long filter",
           .in_c = other == 33 ? 2 : other,
           .out_c = channels,
           .in_h = it.in_h,
           .in_w = it.in_w,
           .window = it.window});
      ++number;
    }
  for (int32_t channels : {1, 3})
    for (int32_t other : {1, 8})
      add({.name = "few output channels, long filter and many pixels",
           .in_c = other,
           .out_c = channels,
           .in_h = 1,
           .in_w = 800,
           .window = {1, 257, 1, 2, 1, 1, 0, 0, 0, 0}});
  for (int32_t channels : {1, 8})
    for (int32_t activation : kTestedActivations)
      add({.name = "few output channels, activation",
           .in_c = 16,
           .out_c = channels,
           .in_h = 5,
           .in_w = 6,
           .activation = activation,
           .has_residual = channels == 1});
  for (int32_t channels : {1, 3, 5, 8, 9})
    add({.name = "groups of few output channels",
         .in_c = 15,
         .out_c = channels * 3,
         .in_h = 5,
         .in_w = 13,
         .groups = 3,
         .has_residual = true});
  for (int32_t height = 1; height <= 7; ++height)
    add({.name = "3x3, rows", .batch = 2, .in_c = 4, .out_c = 6, .in_h = height, .in_w = 3});
  for (const ConvCase& conv : cases_of_both()) add(conv);

  // Tiles of 2 x 2 to 6 x 6 outputs come whole and ragged, in several blocks, with more input
  // channels than a panel; rows held and parts lie on the grid of tiles and off it.
  for (int32_t pad : {0, 1, 2, 5})
    for (int32_t height : {3, 6, 8, 13})
      add({.name = "3x3, tiles",
           .batch = 2,
           .in_c = 19,
           .out_c = 37,
           .in_h = height,
           .in_w = 14,
           .window = {3, 3, 1, 1, 1, 1, pad, pad, pad, pad},
           .activation = kUnaryHardSwish,
           .has_residual = true});
  add({.name = "3x3, uneven padding",
       .in_c = 16,
       .out_c = 16,
       .in_h = 10,
       .in_w = 9,
       .window = {3, 3, 1, 1, 1, 1, 0, 2, 1, 0},
       .activation = kUnaryRelu});
  add({.name = "3x3, blocks of tiles",
       .batch = 2,
       .in_c = 5,
       .out_c = 40,
       .in_h = 45,
       .in_w = 43,
       .activation = kUnaryRelu});
  for (Range rows : {Range{4, 8}, Range{3, 10}, Range{12, 13}})
    for (bool is_part : {false, true})
      add({.name = "3x3, rows",
           .batch = 2,
           .in_c = 19,
           .out_c = 20,
           .in_h = 13,
           .in_w = 11,
           .has_residual = true,
           .rows = rows,
           .is_part = is_part});

  add({.name = "groups of 12 and 20", .in_c = 24, .out_c = 40, .in_h = 5, .in_w = 6, .groups = 2});
  add({.name = "groups of 3 and 1",
       .in_c = 15,
       .out_c = 5,
       .in_h = 5,
       .in_w = 6,
       .groups = 5,
       .activation = kUnarySigmoid});
  // The last panel's 15 lanes and the 3 pad lanes of the pixel are more than a panel.
  add({.name = "groups of 2 and 15",
       .in_c = 6,
       .out_c = 45,
       .in_h = 3,
       .in_w = 5,
       .groups = 3,
       .activation = kUnarySigmoid});
  add({.name = "groups of 5 and 33",
       .batch = 2,
       .in_c = 10,
       .out_c = 66,
       .in_h = 3,
       .in_w = 3,
       .groups = 2,
       .has_residual = true});
  add({.name = "groups of panels, part",
       .in_c = 8,
       .out_c = 64,
       .in_h = 5,
       .in_w = 6,
       .groups = 2,
       .channels = {16, 48}});
  // These have enough work for several tasks, along the pixels, along the panels and in both.
  add({.name = "tasks of pixels",
       .batch = 2,
       .in_c = 16,
       .out_c = 24,
       .in_h = 23,
       .in_w = 29,
       .activation = kUnaryClip});
  add({.name = "tasks of panels",
       .in_c = 96,
       .out_c = 200,
       .in_h = 7,
       .in_w = 7,
       .activation = kUnaryRelu,
       .has_residual = true});
  add({.name = "tasks of both", .in_c = 64, .out_c = 160, .in_h = 14, .in_w = 14});
  // These have few channels, and pixels 4096 bytes apart.
  for (int32_t channels : {1, 2, 4})
    for (const ConvWindow& window : {k5x5, kUneven})
      add({.name = "few channels",
           .in_c = channels,
           .out_c = 40,
           .in_h = 9,
           .in_w = 17,
           .window = window,
           .has_residual = true});
  for (const LongWindow& it : kLongWindows)
    for (int32_t channels : {1, 3})
      for (int32_t groups : {1, 2})
        add({.name = "long filter",
             .in_c = channels * groups,
             .out_c = groups == 1 ? 21 : 6,
             .in_h = it.in_h,
             .in_w = it.in_w,
             .window = it.window,
             .groups = groups,
             .activation = kUnaryRelu});
  add({.name = "pixels of 4096 bytes",
       .in_c = 1022,
       .out_c = 52,
       .in_h = 3,
       .in_w = 11,
       .window = k1x1});
  add({.name = "pixels of 2048 bytes, stride 2",
       .in_c = 512,
       .out_c = 20,
       .in_h = 5,
       .in_w = 7,
       .window = k1x1Stride2});
  // Taps are left out: filters lie mostly in the padding, with few channels and with many.
  for (int32_t channels : {3, 21})
    for (const Range rows : {Range{}, Range{3, 9}})
      add({.name = "dilated by 6",
           .batch = 2,
           .in_c = channels,
           .out_c = 40,
           .in_h = 14,
           .in_w = 15,
           .window = kDilatedBy6,
           .activation = kUnaryRelu,
           .rows = rows,
           .is_part = !rows.empty()});
  add({.name = "no tap inside",
       .in_c = 5,
       .out_c = 20,
       .in_h = 1,
       .in_w = 2,
       .window = {2, 2, 1, 1, 18, 18, 18, 18, 18, 18}});
  // These have more weights than one pass takes.
  add({.name = "long reduction", .in_c = 520, .out_c = 50, .in_h = 4, .in_w = 4});
  const ConvCase large_biases[] = {
      {.name = "large bias, 1x1", .in_c = 512, .out_c = 40, .in_h = 4, .in_w = 5, .window = k1x1},
      {.name = "large bias, 3x3", .in_c = 64, .out_c = 21, .in_h = 5, .in_w = 6},
      {.name = "large bias, residual",
       .in_c = 128,
       .out_c = 32,
       .in_h = 5,
       .in_w = 6,
       .window = k3x3Stride2,
       .has_residual = true},
      {.name = "large bias, few output channels", .in_c = 64, .out_c = 3, .in_h = 5, .in_w = 16},
      {.name = "large bias, groups", .in_c = 128, .out_c = 24, .in_h = 5, .in_w = 6, .groups = 2}};
  for (const ConvCase& conv : large_biases) {
    add(conv);
    cases.back().bias_factor = kLargeBias;
  }
  return cases;
}

}  // namespace codl::test
