// Covers windows with padding, dilation, ceil mode and of the whole map; channels around the
// vectors.
#pragma once

#include "kernels/pool2d/pool2d.h"
#include "test/kernels/kernel_case.h"

namespace codl::test {

struct Pool2dCase {
  const char* name;
  int32_t kind = kPool2dMax;
  int32_t batch = 1;
  int32_t channels = 1;
  int32_t in_h = 1;
  int32_t in_w = 1;
  int32_t kernel = 3;
  int32_t stride = 1;
  int32_t dilation = 1;
  int32_t pad_begin = 0;
  int32_t pad_end = 0;
  bool ceil_mode = false;
  bool count_include_pad = false;
  SplitDim part_dim = SplitDim::None;
  Range part = {};
  int32_t added_channels = 0;
  bool only_held_rows = false;  // operands hold no more rows than the part needs
};

inline KernelCase make_pool2d_case(const Pool2dCase& pool) {
  Pool2dParams params;
  params.kind = pool.kind;
  params.kernel_h = params.kernel_w = pool.kernel;
  params.stride_h = params.stride_w = pool.stride;
  params.dilation_h = params.dilation_w = pool.dilation;
  params.pad_top = params.pad_left = pool.pad_begin;
  params.pad_bottom = params.pad_right = pool.pad_end;
  params.ceil_mode = pool.ceil_mode ? 1 : 0;
  params.count_include_pad = pool.count_include_pad ? 1 : 0;
  const auto out_extent = [&](int32_t in_extent) {
    const int32_t room =
        in_extent + pool.pad_begin + pool.pad_end - (pool.kernel - 1) * pool.dilation - 1;
    int32_t extent = (room + (pool.ceil_mode ? pool.stride - 1 : 0)) / pool.stride + 1;
    // In ONNX, the last window begins before the padding after the map.
    if ((extent - 1) * pool.stride - pool.pad_begin >= in_extent) --extent;
    return extent;
  };
  const int32_t out_h = out_extent(pool.in_h);
  const int32_t out_w = out_extent(pool.in_w);
  Range out_rows = {};
  Range in_rows = {};
  if (pool.only_held_rows) {
    out_rows = pool.part;
    in_rows = kernels::pool2d_input_range(pool.part, pool.stride, pool.dilation, pool.kernel,
                                          pool.pad_begin, pool.in_h);
  }
  KernelCase item;
  item.name = pool.name;
  item.op = OpKind::Pool2d;
  item.params = words_of(params);
  item.operands = {
      nhwc_operand({pool.batch, pool.channels, pool.in_h, pool.in_w}, in_rows),
      nhwc_operand({pool.batch, pool.channels + pool.added_channels, out_h, out_w}, out_rows)};
  item.part_dim = pool.part_dim;
  item.part = pool.part;
  return item;
}

inline std::vector<KernelCase> pool2d_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const Pool2dCase& pool) { cases.push_back(make_pool2d_case(pool)); };
  for (int32_t kind : {kPool2dMax, kPool2dAverage}) {
    for (int32_t channels : {1, 3, 5, 16, 17, 21, 32, 64, 149})
      add({.name = "channels",
           .kind = kind,
           .channels = channels,
           .in_h = 5,
           .in_w = 6,
           .stride = 2,
           .pad_begin = 1,
           .pad_end = 1});
    for (int32_t extent = 1; extent <= 9; ++extent)
      add({.name = "padded",
           .kind = kind,
           .batch = 2,
           .channels = 6,
           .in_h = extent,
           .in_w = 10 - extent,
           .stride = 2,
           .pad_begin = 1,
           .pad_end = 1});
    for (bool count_include_pad : {false, true}) {
      for (int32_t extent : {5, 6, 7, 8})
        add({.name = "last window past the padded end",
             .kind = kind,
             .channels = 5,
             .in_h = extent,
             .in_w = extent + 1,
             .stride = 3,
             .pad_begin = 1,
             .pad_end = 1,
             .ceil_mode = true,
             .count_include_pad = count_include_pad});
      add({.name = "uneven padding",
           .kind = kind,
           .channels = 7,
           .in_h = 6,
           .in_w = 5,
           .pad_end = 2,
           .count_include_pad = count_include_pad});
      add({.name = "dilated",
           .kind = kind,
           .channels = 4,
           .in_h = 9,
           .in_w = 8,
           .dilation = 2,
           .pad_begin = 2,
           .pad_end = 2,
           .count_include_pad = count_include_pad});
    }
    for (int32_t channels : {3, 64, 512})
      add({.name = "whole map",
           .kind = kind,
           .batch = 2,
           .channels = channels,
           .in_h = 7,
           .in_w = 7,
           .kernel = 7});
    for (bool only_held_rows : {false, true})
      for (Range rows : {Range{0, 2}, Range{2, 5}, Range{4, 5}})
        add({.name = only_held_rows ? "part of rows, only those held" : "part of rows",
             .kind = kind,
             .batch = 2,
             .channels = 21,
             .in_h = 9,
             .in_w = 7,
             .stride = 2,
             .pad_begin = 1,
             .pad_end = 1,
             .part_dim = SplitDim::Height,
             .part = rows,
             .only_held_rows = only_held_rows});
    for (Range channels : {Range{0, 16}, Range{16, 32}, Range{16, 37}, Range{32, 37}})
      add({.name = "part of channels",
           .kind = kind,
           .channels = 37,
           .in_h = 6,
           .in_w = 5,
           .kernel = 2,
           .stride = 2,
           .part_dim = SplitDim::OutputChannel,
           .part = channels});
    for (int32_t kernel : {2, 3})
      for (bool only_held_rows : {false, true})
        add({.name = "channels added",
             .kind = kind,
             .batch = 2,
             .channels = 48,
             .in_h = 9,
             .in_w = 10,
             .kernel = kernel,
             .stride = 2,
             .pad_end = 1,
             .part_dim = only_held_rows ? SplitDim::Height : SplitDim::None,
             .part = only_held_rows ? Range{1, 3} : Range{},
             .added_channels = 16,
             .only_held_rows = only_held_rows});
    add({.name = "channels added to a whole map",
         .kind = kind,
         .channels = 16,
         .in_h = 9,
         .in_w = 9,
         .kernel = 9,
         .added_channels = 128});
    add({.name = "tasks of rows",
         .kind = kind,
         .batch = 2,
         .channels = 20,
         .in_h = 5,
         .in_w = 30,
         .stride = 1,
         .pad_begin = 1,
         .pad_end = 1});
  }
  return cases;
}

}  // namespace codl::test
