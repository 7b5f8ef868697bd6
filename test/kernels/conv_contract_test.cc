// Tests contracts of Conv2d, DepthwiseConv2d and MatMul: per rule, one step that a damaged plan
// could ask for, and the features.
#include "kernels/common/contract/conv_window.h"
#include "kernels/pack.h"
#include "kernels/work_table.h"
#include "test/kernels/step_for_tests.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

OperandShape packed(PackingKind packing, std::initializer_list<int32_t> dims, int32_t groups = 1) {
  OperandShape shape = plain(dims);
  shape.layout = Layout::Packed;
  shape.bytes = packed_bytes({packing, shape.dtype}, shape.dims, shape.rank, groups);
  return shape;
}

// The damage starts from a 3x3 convolution with padding 1 over a 9x9 map, 8 to 40 channels.
struct Conv {
  std::string_view symbol = "conv2d_f32_cpu";
  Conv2dParams params;
  OperandShape x = nhwc({2, 8, 9, 9});
  OperandShape w = packed(PackingKind::ConvPanels, {40, 8, 3, 3});
  OperandShape bias = packed(PackingKind::Bias, {40});
  std::vector<OperandShape> residual;
  OperandShape y = nhwc({2, 40, 9, 9});
  SplitDim part_dim = SplitDim::None;
  Range part = {};
  std::vector<int32_t> tile;

  Conv() {
    params.stride_h = params.stride_w = params.dilation_h = params.dilation_w = 1;
    params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
    params.groups = 1;
  }
  StepForTest step() const {
    std::vector<OperandShape> operands = {x, w, bias};
    operands.insert(operands.end(), residual.begin(), residual.end());
    operands.push_back(y);
    return {symbol, &params, operands, part_dim, part, tile};
  }
};

template <typename Edit>
std::string check_edited(Edit edit) {
  Conv conv;
  edit(conv);
  return check(conv.step());
}

// Does the same for a depthwise convolution of 40 channels.
template <typename Edit>
std::string check_depthwise(Edit edit) {
  Conv conv;
  conv.symbol = "depthwise_conv2d_f32_cpu";
  conv.x = conv.y = nhwc({2, 40, 9, 9});
  conv.w = packed(PackingKind::Depthwise, {40, 1, 3, 3});
  DepthwiseConv2dParams params;
  params.stride_h = params.stride_w = params.dilation_h = params.dilation_w = 1;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
  edit(conv, params);
  StepForTest step = conv.step();
  step.params = &params;
  return check(step);
}

TEST_CASE("conv2d takes what fits together") {
  CHECK(check_edited([](Conv&) {}) == "ok");
  CHECK(check_edited([](Conv& c) {
          c.params.has_residual = 1;
          c.residual = {c.y};
        }) == "ok");
  CHECK(check_edited([](Conv& c) {
          c.params.stride_h = 2;
          c.y = nhwc({2, 40, 5, 9});
        }) == "ok");
  CHECK(check_edited([](Conv& c) {
          c.params.groups = 2;
          c.w = packed(PackingKind::ConvPanels, {40, 4, 3, 3}, 2);
        }) == "ok");
}

TEST_CASE("a step of a CPU kernel has halves everywhere but in the bias, or nowhere") {
  const auto as_halves = [](OperandShape& shape) {
    shape.dtype = DType::F16;
    shape.bytes /= 2;
  };
  constexpr const char* kRefused = "maps of the weights' dtype for a CPU kernel";
  for (int halves = 0; halves < 16; ++halves) {
    INFO(halves);
    const std::string found = check_edited([&](Conv& c) {
      c.params.has_residual = 1;
      c.residual = {c.y};
      OperandShape* const operands[] = {&c.x, &c.w, &c.residual[0], &c.y};
      for (int i = 0; i < 4; ++i)
        if ((halves >> i & 1) != 0) as_halves(*operands[i]);
    });
    CHECK(found == (halves == 0 || halves == 15 ? "ok" : kRefused));
  }
  CHECK(check_edited([&](Conv& c) {
          for (OperandShape* shape : {&c.x, &c.w, &c.bias, &c.y}) as_halves(*shape);
        }) == "a packed bias of one value per output channel");
  CHECK(check_edited([&](Conv& c) {
          for (OperandShape* shape : {&c.x, &c.w, &c.y}) as_halves(*shape);
          c.w.bytes -= 2;
        }) == "packed weights of their shape's size");
  CHECK(check_edited([&](Conv& c) {
          for (OperandShape* shape : {&c.x, &c.w, &c.y}) as_halves(*shape);
          c.x.bytes -= 2;
        }) == "operand memory as large as its shape");

  CHECK(check_depthwise([&](Conv& c, DepthwiseConv2dParams&) {
          for (OperandShape* shape : {&c.x, &c.w, &c.y}) as_halves(*shape);
        }) == "ok");
  CHECK(check_depthwise([&](Conv& c, DepthwiseConv2dParams&) {
          for (OperandShape* shape : {&c.x, &c.y}) as_halves(*shape);
        }) == kRefused);

  const MatMulParams params;
  for (int halves = 0; halves < 8; ++halves) {
    INFO(halves);
    std::vector<OperandShape> operands = {plain({3, 7}), packed(PackingKind::MatMulPanels, {7, 50}),
                                          packed(PackingKind::Bias, {50}), plain({3, 50})};
    for (int i = 0; i < 3; ++i)
      if ((halves >> i & 1) != 0) as_halves(operands[i == 2 ? 3 : static_cast<size_t>(i)]);
    CHECK(check({"matmul_f32_cpu", &params, operands}) ==
          (halves == 0 || halves == 7 ? "ok" : "matrices of the weights' dtype for a CPU kernel"));
  }

  // Winograd's method is computed in floats.
  CHECK(check_edited([&](Conv& c) {
          c.symbol = "conv2d_winograd4_f32_cpu";
          c.w = packed(PackingKind::Winograd4, {40, 8, 3, 3});
          for (OperandShape* shape : {&c.x, &c.w, &c.y}) as_halves(*shape);
        }) == "operands of a dtype that the kernel takes");
}

TEST_CASE("conv2d takes long filters, padded by all their taps") {
  for (int32_t taps : {256, 257, 1024, 1 << 16})
    CHECK(check_edited([&](Conv& c) {
            c.params.pad_top = c.params.pad_bottom = 0;
            c.params.pad_left = c.params.pad_right = taps - 1;
            c.w = packed(PackingKind::ConvPanels, {40, 8, 1, taps});
            c.y = nhwc({2, 40, 9, 9 + taps - 1});
          }) == "ok");
}

TEST_CASE("a segment ends where the taps inside the map change") {
  // Computes the expected result position by position.
  for (const WindowAxis& axis :
       {WindowAxis{5, 1, 1, 2, 2}, WindowAxis{7, 2, 3, 9, 9}, WindowAxis{300, 1, 1, 299, 299},
        WindowAxis{40, 16, 1, 20, 20}, WindowAxis{2, 1, 7, 3, 10}, WindowAxis{1, 1, 1, 4, 4}})
    for (int32_t input : {1, 6, 30, 400}) {
      const int64_t extent = (int64_t{axis.taps} - 1) * axis.dilation + 1;
      const int64_t padded = int64_t{input} + axis.pad_begin + axis.pad_end;
      if (padded < extent) continue;
      const auto output = static_cast<int32_t>((padded - extent) / axis.stride + 1);
      const auto is_same = [&](int32_t a, int32_t b) {
        for (int32_t tap = 0; tap < axis.taps; ++tap) {
          const Range inside = positions_inside(axis, tap, input, output);
          if ((inside.begin <= a && a < inside.end) != (inside.begin <= b && b < inside.end))
            return false;
        }
        return true;
      };
      for (int32_t position = 0; position < output; ++position) {
        const int32_t end = end_of_segment(axis, input, output, position);
        bool is_right = end > position && (end == output || !is_same(position, end));
        for (int32_t i = position; i < end; ++i) is_right = is_right && is_same(position, i);
        INFO("taps " << axis.taps << " input " << input << " position " << position);
        CHECK(is_right);
      }
    }
}

TEST_CASE("conv2d refuses parameters out of bounds") {
  const auto refuses = [](auto edit, const std::string& expected) {
    CHECK(check_edited([&](Conv& c) { edit(c.params); }) == expected);
  };
  using P = Conv2dParams;
  for (int32_t bad : {0, -1, INT32_MIN, (1 << 16) + 1, INT32_MAX}) {
    refuses([=](P& p) { p.stride_h = bad; }, "strides from 1 to 2^16");
    refuses([=](P& p) { p.stride_w = bad; }, "strides from 1 to 2^16");
    refuses([=](P& p) { p.dilation_h = bad; }, "dilations from 1 to 2^16");
    refuses([=](P& p) { p.dilation_w = bad; }, "dilations from 1 to 2^16");
  }
  for (int32_t bad : {-1, INT32_MIN, (1 << 16) + 1, INT32_MAX}) {
    refuses([=](P& p) { p.pad_top = bad; }, "pads from 0 to 2^16");
    refuses([=](P& p) { p.pad_left = bad; }, "pads from 0 to 2^16");
    refuses([=](P& p) { p.pad_bottom = bad; }, "pads from 0 to 2^16");
    refuses([=](P& p) { p.pad_right = bad; }, "pads from 0 to 2^16");
  }
  for (int32_t bad : {0, -1, 3, INT32_MIN, INT32_MAX})
    refuses([=](P& p) { p.groups = bad; }, "groups that divide the input and output channels");
  for (int32_t bad : {-1, kUnaryNot, kUnaryIsInf, INT32_MAX})
    refuses([=](P& p) { p.activation = bad; }, "a known activation");
  for (int32_t bad : {-1, 2}) refuses([=](P& p) { p.has_residual = bad; }, "has_residual 0 or 1");
  refuses([](P& p) { p.has_residual = 1; }, "operands x, w, bias, [residual], y");
  refuses([](P& p) { p.pad_top = 2; },
          "output rows and columns as the filter, strides and pads give them");
  refuses([](P& p) { p.stride_w = 2; },
          "output rows and columns as the filter, strides and pads give them");
  refuses([](P& p) { p.dilation_h = 6; },
          "output rows and columns as the filter, strides and pads give them");
}

TEST_CASE("conv2d refuses operands that do not fit each other") {
  const auto refuses = [](auto edit, const std::string& expected) {
    CHECK(check_edited(edit) == expected);
  };
  refuses([](Conv& c) { c.residual = {c.y}; }, "operands x, w, bias, [residual], y");
  refuses([](Conv& c) { c.x = plain({2, 8, 9, 9}); }, "input and output of one layout");
  refuses([](Conv& c) { c.x = nhwc({1, 8, 9, 9}); }, "input and output of one batch");
  refuses([](Conv& c) { c.w = plain({40, 8, 3, 3}); }, "packed weights of rank 4");
  refuses(
      [](Conv& c) {
        c.w = packed(PackingKind::ConvPanels, {40, 8, 3, 3}), c.w.rank = 3;
      },
      "packed weights of rank 4");
  refuses(
      [](Conv& c) {
        c.w = packed(PackingKind::ConvPanels, {24, 8, 3, 3});
      },
      "weights of the output channels and the input channels of a group");
  refuses(
      [](Conv& c) {
        c.w = packed(PackingKind::ConvPanels, {40, 4, 3, 3});
      },
      "weights of the output channels and the input channels of a group");
  refuses([](Conv& c) { c.params.groups = 2; },
          "weights of the output channels and the input channels of a group");
  refuses([](Conv& c) { c.w.bytes -= 4; }, "packed weights of their shape's size");
  refuses(
      [](Conv& c) {
        c.params.pad_bottom = 1 << 15;
        c.w = packed(PackingKind::ConvPanels, {40, 8, 21846, 3});
        c.y = nhwc({2, 40, 9 + 1 + (1 << 15) - 21845, 9});
      },
      "a filter of at most 2^16 taps");
  refuses([](Conv& c) { c.bias = plain({40}); }, "a packed bias of one value per output channel");
  refuses([](Conv& c) { c.bias = packed(PackingKind::Bias, {39}); },
          "a packed bias of one value per output channel");
  refuses([](Conv& c) { c.bias.bytes -= 4; }, "a packed bias of one value per output channel");
  refuses([](Conv& c) { c.tile = {1}; }, "no tile numbers for a CPU kernel");
  // 2^14 + 1 groups of one output channel, each padded to 16, have 2^33 elements and more.
  refuses(
      [](Conv& c) {
        c.params.groups = (1 << 14) + 1;
        c.x = nhwc({2, c.params.groups * 8, 9, 9});
        c.w = plain({c.params.groups, 8, 64, 64});
        c.w.layout = Layout::Packed;
        c.w.bytes = packed_bytes({PackingKind::ConvPanels}, c.w.dims, 4, c.params.groups);
        c.bias = packed(PackingKind::Bias, {c.params.groups});
        c.params.pad_bottom = c.params.pad_right = 62;
        c.y = nhwc({2, c.params.groups, 9, 9});
      },
      "packed weights of at most 2^30 elements");
}

TEST_CASE("conv2d refuses a part whose rows are not in memory") {
  const auto check_rows = [](Range part, Range x_rows, Range residual_rows) {
    return check_edited([&](Conv& c) {
      c.x = nhwc({2, 8, 9, 9}, x_rows);
      c.params.has_residual = 1;
      c.residual = {nhwc({2, 40, 9, 9}, residual_rows)};
      c.part_dim = SplitDim::Height;
      c.part = part;
    });
  };
  // Rows 2 and 3 read input rows 1 to 4; row 0 reads the padding and rows 0 and 1.
  CHECK(check_rows({2, 4}, {1, 5}, {2, 4}) == "ok");
  CHECK(check_rows({2, 4}, {2, 5}, {2, 4}) == "input rows of the part inside the operand");
  CHECK(check_rows({2, 4}, {1, 4}, {2, 4}) == "input rows of the part inside the operand");
  CHECK(check_rows({2, 4}, {1, 5}, {3, 4}) == "residual rows of the part inside the operand");
  CHECK(check_rows({2, 4}, {1, 5}, {2, 3}) == "residual rows of the part inside the operand");
  CHECK(check_rows({0, 1}, {0, 2}, {0, 1}) == "ok");
  CHECK(check_rows({8, 9}, {7, 9}, {8, 9}) == "ok");

  // Without a part, these are the rows that the output holds.
  CHECK(check_edited([](Conv& c) {
          c.x = nhwc({2, 8, 9, 9}, {1, 5});
          c.y = nhwc({2, 40, 9, 9}, {2, 4});
        }) == "ok");
  CHECK(check_edited([](Conv& c) {
          c.x = nhwc({2, 8, 9, 9}, {1, 9});
        }) == "input rows of the part inside the operand");
}

TEST_CASE("Winograd takes 3x3 filters that move by one, and whole tiles") {
  const auto check_winograd = [](auto edit) {
    return check_edited([&](Conv& c) {
      c.symbol = "conv2d_winograd4_f32_cpu";
      c.w = packed(PackingKind::Winograd4, {40, 8, 3, 3});
      edit(c);
    });
  };
  CHECK(check_winograd([](Conv&) {}) == "ok");
  const std::string limit = "a 3x3 filter of one group that moves by one";
  CHECK(check_winograd([](Conv& c) {
          c.params.stride_h = 2;
          c.y = nhwc({2, 40, 5, 9});
        }) == limit);
  CHECK(check_winograd([](Conv& c) {
          c.params.dilation_w = c.params.pad_left = c.params.pad_right = 2;
        }) == limit);
  CHECK(check_winograd([](Conv& c) {
          c.params.groups = 2;
          c.w = packed(PackingKind::Winograd4, {40, 4, 3, 3});
        }) == limit);
  CHECK(check_winograd([](Conv& c) {
          c.w = packed(PackingKind::Winograd4, {40, 8, 1, 3});
          c.params.pad_top = c.params.pad_bottom = 0;
        }) == limit);
  // 36 products replace 9 weights.
  CHECK(packed(PackingKind::Winograd4, {40, 8, 3, 3}).bytes ==
        4 * packed(PackingKind::ConvPanels, {40, 8, 3, 3}).bytes);
  CHECK(check_winograd([](Conv& c) {
          c.w = packed(PackingKind::ConvPanels, {40, 8, 3, 3});
        }) == "packed weights of their shape's size");
  // 16 replace 9.
  CHECK(check_edited([&](Conv& c) {
          c.symbol = "conv2d_winograd2_f32_cpu";
          c.w = packed(PackingKind::Winograd2, {40, 8, 3, 3});
        }) == "ok");
  CHECK(packed(PackingKind::Winograd2, {40, 8, 3, 3}).bytes * 9 ==
        16 * packed(PackingKind::ConvPanels, {40, 8, 3, 3}).bytes);
  CHECK(check_winograd([](Conv& c) { c.tile = {4}; }) == "no tile numbers for a CPU kernel");

  // Rows 5 and 6 are in the tile of rows 4 to 7, which reads input rows 3 to 8.
  const auto check_rows = [&](Range part, Range x_rows) {
    return check_winograd([&](Conv& c) {
      c.x = nhwc({2, 8, 9, 9}, x_rows);
      c.part_dim = SplitDim::Height;
      c.part = part;
    });
  };
  CHECK(check_rows({5, 7}, {3, 9}) == "ok");
  CHECK(check_rows({5, 7}, {4, 9}) == "input rows of the part's tiles inside the operand");
  CHECK(check_rows({5, 7}, {3, 8}) == "input rows of the part's tiles inside the operand");
  CHECK(check_rows({8, 9}, {7, 9}) == "ok");
}

TEST_CASE("of Winograd's kernels the one for GPUs takes parts off the grid of tiles") {
  const auto check_rows = [](const char* symbol, PackingKind packing, Range x_rows) {
    return check_edited([&](Conv& c) {
      c.symbol = symbol;
      c.w = packed(packing, {40, 8, 3, 3});
      c.x = nhwc({2, 8, 9, 9}, x_rows);
      c.part_dim = SplitDim::Height;
      c.part = {5, 6};
    });
  };
  CHECK(check_rows("conv2d_winograd2_f32_cl_tiled", PackingKind::Winograd2, {4, 7}) == "ok");
  CHECK(check_rows("conv2d_winograd2_f32_cl_tiled", PackingKind::Winograd2, {5, 7}) ==
        "input rows of the part inside the operand");
  const std::string tiles = "input rows of the part's tiles inside the operand";
  CHECK(check_rows("conv2d_winograd2_f32_cpu", PackingKind::Winograd2, {4, 7}) == tiles);
  CHECK(check_rows("conv2d_winograd4_f32_cl_buffer", PackingKind::Winograd4, {4, 9}) == tiles);
  CHECK(check_rows("conv2d_winograd4_f32_cl_buffer", PackingKind::Winograd4, {3, 9}) == "ok");
}

TEST_CASE("work-items and groups by Winograd's method are bounded") {
  const auto check_tile = [](const char* symbol, PackingKind packing, int32_t channels,
                             std::vector<int32_t> tile) {
    return check_edited([&](Conv& c) {
      c.symbol = symbol;
      c.w = packed(packing, {channels, 8, 3, 3});
      c.bias = packed(PackingKind::Bias, {channels});
      c.y = nhwc({2, channels, 9, 9});
      c.tile = std::move(tile);
    });
  };
  const auto check_item = [&](std::vector<int32_t> tile) {
    return check_tile("conv2d_winograd4_f32_cl_buffer", PackingKind::Winograd4, 192,
                      std::move(tile));
  };
  CHECK(check_item({}) == "ok");
  CHECK(check_item({4, 4, 16, 4, 64}) == "ok");
  CHECK(check_item({4, 4, 16}) == "no tile, or its five numbers");
  const std::string registers = "sums of 1 to 16 tiles and 1 to 4 panels in registers";
  for (int32_t bad : {INT32_MIN, -1, 0, 17, INT32_MAX}) {
    CHECK(check_item({bad, 4, 16, 4, 64}) == registers);
    CHECK(check_item({4, bad, 16, 4, 64}) == registers);
  }
  const std::string extents =
      "a work-item of up to 256 tiles and panels, in multiples of those in registers";
  for (int32_t bad : {INT32_MIN, -4, 0, 2, 260, INT32_MAX}) {
    CHECK(check_item({4, 4, bad, 4, 64}) == extents);
    CHECK(check_item({4, 4, 16, bad, 64}) == extents);
  }
  CHECK(check_item({4, 4, 16, 8, 64}) == "work-items whose panels divide those of the part");
  for (int32_t bad : {INT32_MIN, 0, 8, 40, 1040})
    CHECK(check_item({4, 4, 16, 4, bad}) == "16 to 1024 input channels at once, a multiple of 16");
  CHECK(check_item({4, 4, 64, 4, 64}) == "640 KiB of private memory at most");

  const auto check_group = [&](std::vector<int32_t> tile) {
    return check_tile("conv2d_winograd2_f32_cl_tiled", PackingKind::Winograd2, 40, std::move(tile));
  };
  CHECK(check_group({}) == "ok");
  CHECK(check_group({32, 32, 8, 8, 8}) == "ok");
  CHECK(check_group({8, 32, 16, 8, 4}) == "ok");
  CHECK(check_group({32, 32, 8}) == "no tile, or its five numbers");
  const std::string groups = "a group of 8 to 128 tiles and 16 to 128 channels, powers of two";
  for (int32_t bad : {INT32_MIN, 0, 4, 48, 256, INT32_MAX}) {
    CHECK(check_group({bad, 32, 8, 8, 8}) == groups);
    CHECK(check_group({32, bad, 8, 8, 8}) == groups);
  }
  for (int32_t bad : {INT32_MIN, 0, 2, 12, 64})
    CHECK(check_group({32, 32, bad, 8, 8}) == "4 to 32 input channels of a step, a power of two");
  const std::string items = "work-items of 4 or 8 tiles and channels that divide the group's";
  for (int32_t bad : {INT32_MIN, 0, 2, 12, 16}) {
    CHECK(check_group({32, 32, 8, bad, 8}) == items);
    CHECK(check_group({32, 32, 8, 8, bad}) == items);
  }
  CHECK(check_group({32, 16, 8, 8, 8}) == items);
  CHECK(check_group({64, 64, 8, 4, 8}) == "at most 1024 work-items in a group");
  CHECK(check_group({8, 16, 32, 8, 4}) == "loads that the work-items share evenly");
  CHECK(check_group({32, 32, 16, 8, 4}) == "48 KB of local memory at most");
}

TEST_CASE("conv2d refuses residuals unlike the output and cuts inside a panel") {
  const auto check_residual = [](const OperandShape& residual) {
    return check_edited([&](Conv& c) {
      c.params.has_residual = 1;
      c.residual = {residual};
    });
  };
  CHECK(check_residual(plain({2, 40, 9, 9})) == "a residual of the output's layout");
  CHECK(check_residual(nhwc({2, 39, 9, 9})) == "a residual of the output's dims");
  const auto check_groups = [](int32_t out_channels) {
    return check_edited([&](Conv& c) {
      c.params.groups = 2;
      c.w = packed(PackingKind::ConvPanels, {out_channels, 4, 3, 3}, 2);
      c.bias = packed(PackingKind::Bias, {out_channels});
      c.y = nhwc({2, out_channels, 9, 9});
      c.part_dim = SplitDim::OutputChannel;
      c.part = {16, 32};
    });
  };
  CHECK(check_groups(64) == "ok");
  CHECK(check_groups(40) == "groups of whole panels of 16 channels for a part of channels");
}

TEST_CASE("depthwise_conv2d refuses what conv2d refuses and unequal channels") {
  using P = DepthwiseConv2dParams;
  CHECK(check_depthwise([](Conv&, P&) {}) == "ok");
  CHECK(check_depthwise([](Conv&, P& p) { p.stride_h = 0; }) == "strides from 1 to 2^16");
  CHECK(check_depthwise([](Conv&, P& p) { p.activation = kUnaryNot; }) == "a known activation");
  CHECK(check_depthwise([](Conv& c, P&) {
          c.x = nhwc({2, 39, 9, 9});
        }) == "as many output channels as input channels");
  CHECK(check_depthwise([](Conv& c, P&) {
          c.w = packed(PackingKind::Depthwise, {39, 1, 3, 3});
        }) == "weights of one filter per channel");
  CHECK(check_depthwise([](Conv& c, P&) {
          c.w = packed(PackingKind::Depthwise, {40, 2, 3, 3});
        }) == "weights of one filter per channel");
  CHECK(check_depthwise([](Conv& c, P&) { c.w.bytes += 4; }) ==
        "packed weights of their shape's size");
  CHECK(check_depthwise([](Conv& c, P&) {
          c.x = nhwc({2, 40, 9, 9}, {0, 8});
        }) == "input rows of the part inside the operand");
  const auto check_channels = [](int32_t channels, int32_t local) {
    return check_depthwise([&](Conv& c, P&) {
      c.symbol = "depthwise_conv2d_f32_cl_buffer";
      c.tile = {local, 1, 1, channels};
    });
  };
  CHECK(check_channels(4, 64) == "ok");
  CHECK(check_channels(16, 64) == "ok");
  CHECK(check_channels(4, 1025) == "local sizes of 1 to 1024");
  for (int32_t bad : {INT32_MIN, -4, 0, 1, 8, 32})
    CHECK(check_channels(bad, 64) == "4 or 16 channels in a work-item on a buffer");
  CHECK(check_depthwise([](Conv& c, P&) {
          c.symbol = "depthwise_conv2d_f32_cl_buffer";
          c.tile = {32, 1, 1, 4, 4};
        }) == "no tile, or the three local sizes, for a GPU kernel");
}

TEST_CASE("matmul refuses operands that do not fit each other") {
  MatMulParams params;
  const OperandShape x = plain({3, 20});
  const OperandShape w = packed(PackingKind::MatMulPanels, {20, 50});
  const OperandShape bias = packed(PackingKind::Bias, {50});
  const OperandShape y = plain({3, 50});
  const auto check_operands = [&](std::vector<OperandShape> operands, SplitDim dim = SplitDim::None,
                                  Range part = {}, std::vector<int32_t> tile = {}) {
    return check({"matmul_f32_cpu", &params, std::move(operands), dim, part, std::move(tile)});
  };
  CHECK(check_operands({x, w, bias, y}) == "ok");
  CHECK(check_operands({x, w, bias, y}, SplitDim::OutputChannel, {32, 50}) == "ok");
  CHECK(check_operands({x, w, bias, y}, SplitDim::Height, {0, 1}) ==
        "output of rank 4 for a part of rows");
  CHECK(check_operands({x, w, y}) == "operands x, w, bias, y");
  CHECK(check_operands({plain({3, 20, 1}), w, bias, y}) == "Plain input and output of rank 2");
  CHECK(check_operands({x, plain({20, 50}), bias, y}) == "packed weights of rank 2");
  CHECK(check_operands({plain({2, 20}), w, bias, y}) == "x [m, k], w [k, n], y [m, n]");
  CHECK(check_operands({plain({3, 21}), w, bias, y}) == "x [m, k], w [k, n], y [m, n]");
  CHECK(check_operands({x, w, bias, plain({3, 49})}) == "x [m, k], w [k, n], y [m, n]");
  OperandShape short_w = w;
  short_w.bytes -= 4;
  CHECK(check_operands({x, short_w, bias, y}) == "packed weights of their shape's size");
  // There are 10^9 elements, 1.12 10^9 with the columns padded to 112.
  OperandShape large_w = plain({10'000'000, 100});
  large_w.layout = Layout::Packed;
  large_w.bytes = packed_bytes({PackingKind::MatMulPanels}, large_w.dims, 2, 1);
  CHECK(check_operands({plain({3, 10'000'000}), large_w, packed(PackingKind::Bias, {100}),
                        plain({3, 100})}) == "packed weights of at most 2^30 elements");
  CHECK(check_operands({x, w, packed(PackingKind::Bias, {49}), y}) ==
        "a packed bias of one value per column");
  CHECK(check_operands({x, w, plain({50}), y}) == "a packed bias of one value per column");
  CHECK(check_operands({x, w, bias, y}, SplitDim::None, {}, {1}) ==
        "no tile numbers for a CPU kernel");
  params.activation = -1;
  CHECK(check_operands({x, w, bias, y}) == "a known activation");
}

TEST_CASE("rows of matmul for many and for few rows") {
  const MatMulParams params;
  const auto check_rows = [&](std::string_view symbol, int32_t m, int32_t k) {
    return check({symbol,
                  &params,
                  {plain({m, k}), packed(PackingKind::MatMulPanels, {k, 50}),
                   packed(PackingKind::Bias, {50}), plain({m, 50})},
                  SplitDim::None,
                  {},
                  {}});
  };
  CHECK(check_rows("matmul_f32_cl_tiled", 9, 20) == "ok");
  CHECK(check_rows("matmul_f32_cl_tiled", 8, 20) == "more than 8 rows for tiles in local memory");
  CHECK(check_rows("matmul_f32_cl_tiled", 9, 21) ==
        "a depth of whole quads for tiles in local memory");
  CHECK(check_rows("matmul_f32_cl_gemv", 8, 21) == "ok");
  CHECK(check_rows("matmul_f32_cl_gemv", 9, 21) == "ok");
  CHECK(check_rows("matmul_f32_cl_gemv", 9, 20) ==
        "at most 8 rows, or a depth without tiles, for a matrix-vector product");
}

TEST_CASE("a work-item of the buffer kernel computes one panel or two") {
  const auto check_panels = [](int32_t panels, int32_t channels, Range part) {
    return check_edited([&](Conv& c) {
      c.symbol = "conv2d_f32_cl_buffer";
      c.tile = {32, 1, 1, 7, panels};
      c.w = packed(PackingKind::ConvPanels, {channels, 8, 3, 3});
      c.bias = packed(PackingKind::Bias, {channels});
      c.y = nhwc({2, channels, 9, 9});
      if (part.empty()) return;
      c.part_dim = SplitDim::OutputChannel;
      c.part = part;
    });
  };
  const std::string expected =
      "1 panel in a work-item, or 2 of one group that has an even number of them";
  CHECK(check_panels(1, 40, {}) == "ok");
  CHECK(check_panels(2, 40, {}) == expected);
  CHECK(check_panels(2, 40, {0, 32}) == "ok");
  CHECK(check_panels(2, 50, {}) == "ok");
  for (int32_t bad : {INT32_MIN, -1, 0, 3, 4, INT32_MAX})
    CHECK(check_panels(bad, 64, {}) == expected);
  CHECK(check_edited([](Conv& c) {
          c.symbol = "conv2d_f32_cl_buffer";
          c.tile = {32, 33, 1, 14, 1};
        }) == "at most 1024 work-items in a group");
  for (int32_t bad : {INT32_MIN, -7, 0, 8, 21})
    CHECK(check_edited([&](Conv& c) {
            c.symbol = "conv2d_f32_cl_buffer";
            c.tile = {32, 1, 1, bad, 1};
          }) == "1 to 7 or 14 pixels in a work-item");
}

TEST_CASE("a work-item of the kernels on texels computes one texel or two of a group") {
  const auto check_tile = [](std::vector<int32_t> tile, int32_t groups, int32_t channels) {
    return check_edited([&](Conv& c) {
      c.symbol = "conv2d_f32_cl_quad";
      c.tile = std::move(tile);
      c.params.groups = groups;
      c.w = packed(PackingKind::ConvPanels, {channels, 8 / groups, 3, 3}, groups);
      c.bias = packed(PackingKind::Bias, {channels});
      c.y = nhwc({2, channels, 9, 9});
    });
  };
  const std::string expected = "1 texel in a work-item, or 2 of a group";
  CHECK(check_tile({4, 4, 4, 4, 2}, 1, 40) == "ok");
  CHECK(check_tile({4, 4, 4, 4, 2}, 1, 3) == "ok");
  CHECK(check_tile({4, 4, 4, 4, 2}, 2, 48) == "ok");
  CHECK(check_tile({4, 4, 4, 4, 2}, 2, 40) == expected);
  CHECK(check_tile({4, 4, 4, 1, 1}, 2, 40) == "ok");
  for (int32_t bad : {INT32_MIN, -1, 0, 3, 4, INT32_MAX})
    CHECK(check_tile({4, 4, 4, 4, bad}, 1, 64) == expected);
  for (int32_t bad : {INT32_MIN, -4, 0, 5, INT32_MAX})
    CHECK(check_tile({4, 4, 4, bad, 2}, 1, 64) == "1 to 4 pixels in a work-item");
  CHECK(check_tile({32, 33, 1, 4, 2}, 1, 64) == "at most 1024 work-items in a group");
  CHECK(check_tile({0, 1, 1, 4, 2}, 1, 64) == "local sizes of 1 to 1024");
  CHECK(check_tile({4, 4, 4, 4}, 1, 64) == "no tile, or the three local sizes, for a GPU kernel");
}

TEST_CASE("a depthwise convolution takes texels where a work-item has few registers") {
  DepthwiseConv2dParams params;
  params.stride_h = params.stride_w = params.dilation_h = params.dilation_w = 1;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
  const StepForTest step = {"depthwise_conv2d_f32_cl_buffer",
                            &params,
                            {nhwc({2, 40, 9, 9}), packed(PackingKind::Depthwise, {40, 1, 3, 3}),
                             packed(PackingKind::Bias, {40}), nhwc({2, 40, 9, 9})}};
  std::vector<int32_t> tile(kernels::kMaxTileInts);
  for (int32_t registers : {0, 255})
    CHECK(kernels::choose_tile(step.shape(), {.thread_registers = registers}, tile.data()) == 0);
  for (int32_t registers : {64, 192}) {
    REQUIRE(kernels::choose_tile(step.shape(), {.thread_registers = registers}, tile.data()) == 4);
    CHECK(tile[3] == 4);
  }
}

TEST_CASE("tiles are chosen for the GPU, and pass") {
  const auto choose = [](std::string_view symbol, int32_t channels, kernels::GpuFacts gpu) {
    Conv c;
    c.symbol = symbol;
    c.bias = packed(PackingKind::Bias, {channels});
    c.y = nhwc({2, channels, 9, 9});
    std::vector<int32_t> tile(kernels::kMaxTileInts);
    c.w = packed(c.step().shape().kernel->packing, {channels, 8, 3, 3});
    const StepForTest step = c.step();
    tile.resize(kernels::choose_tile(step.shape(), gpu, tile.data()));
    c.tile = tile;
    CHECK(check(c.step()) == "ok");
    return tile;
  };
  CHECK(choose("conv2d_f32_cl_buffer", 64, {}).empty());
  CHECK(choose("conv2d_f32_cl_buffer", 64, {132, false, 0}).empty());
  CHECK(choose("conv2d_f32_cl_buffer", 64, {1, true, 512}) == std::vector<int32_t>{2, 1, 1, 7, 2});
  CHECK(choose("conv2d_f32_cl_buffer", 48, {1, true, 512}) == std::vector<int32_t>{2, 1, 1, 7, 1});
  // Two units take larger tiles than 132 do, because those must be filled.
  const std::vector<int32_t> few = choose("conv2d_f32_cl_tiled", 64, {2, false, 0});
  const std::vector<int32_t> many = choose("conv2d_f32_cl_tiled", 64, {132, false, 0});
  REQUIRE(few.size() == 6);
  REQUIRE(many.size() == 6);
  CHECK(few[0] * few[1] > many[0] * many[1]);

  const char* const winograd = "conv2d_winograd4_f32_cl_buffer";
  CHECK(choose(winograd, 64, {}).empty());
  CHECK(choose(winograd, 64, {1, true, 512}) == std::vector<int32_t>{4, 4, 16, 4, 64});
  CHECK(choose(winograd, 96, {1, true, 512}) == std::vector<int32_t>{8, 2, 16, 6, 64});
  CHECK(choose(winograd, 80, {1, true, 512}) == std::vector<int32_t>{8, 1, 16, 5, 64});
  CHECK(choose(winograd, 112, {1, true, 512}) == std::vector<int32_t>{8, 1, 16, 1, 64});
  const auto texels = [&](int32_t channels, int32_t registers) {
    return choose("conv2d_f32_cl_quad", channels, {.thread_registers = registers});
  };
  CHECK(texels(64, 0).empty());
  CHECK(texels(64, 255).empty());
  // A row has 9 pixels.
  CHECK(texels(64, 192) == std::vector<int32_t>{4, 4, 4, 3, 2});
  CHECK(texels(64, 64) == std::vector<int32_t>{4, 4, 4, 3, 2});
  CHECK(texels(64, 48) == std::vector<int32_t>{4, 4, 4, 2, 2});
  CHECK(texels(3, 192) == std::vector<int32_t>{4, 4, 4, 4, 1});
  CHECK(choose("conv2d_f32_cl_buffer", 64, {.thread_registers = 64}) ==
        std::vector<int32_t>{32, 1, 1, 1, 1});
  CHECK(choose("conv2d_f32_cl_buffer", 64, {.thread_registers = 255}).empty());
  // 50 tiles of 2 x 2 make two groups of 32 tiles for each 32 channels.
  const auto group = [&](int32_t units, double local_bytes) {
    return choose("conv2d_winograd2_f32_cl_tiled", 64,
                  {.units = units, .max_group_local_bytes = local_bytes});
  };
  CHECK(group(8, 48 * 1024) == std::vector<int32_t>{32, 32, 8, 8, 8});
  CHECK(group(9, 48 * 1024) == std::vector<int32_t>{8, 32, 16, 8, 4});
  // 38,912 and 49,152 bytes become 22,528 and 26,624 with half the input channels at once.
  CHECK(group(8, 32 * 1024) == std::vector<int32_t>{32, 32, 4, 8, 8});
  CHECK(group(9, 32 * 1024) == std::vector<int32_t>{8, 32, 8, 8, 4});
}

// Returns the tile of a 3x3 convolution of 64 channels on maps of 9 x 9; `part`: range of rows, or
// none.
std::vector<int32_t> tile_of(std::string_view symbol, const kernels::GpuFacts& gpu, Range part) {
  Conv c;
  c.symbol = symbol;
  c.bias = packed(PackingKind::Bias, {64});
  c.y = nhwc({2, 64, 9, 9});
  if (symbol.ends_with("_image")) {
    c.x.layout = c.y.layout = Layout::Image2d;
    c.x.bytes = c.y.bytes = 0;
  }
  c.w = packed(c.step().shape().kernel->packing, {64, 8, 3, 3});
  StepForTest step = c.step();
  if (!part.empty()) {
    step.part_dim = SplitDim::Height;
    step.part = part;
  }
  std::vector<int32_t> tile(kernels::kMaxTileInts);
  tile.resize(kernels::choose_tile(step.shape(), gpu, tile.data()));
  step.tile = tile;
  CHECK(check(step) == "ok");
  return tile;
}

TEST_CASE("a profile's tiles take the place of the defaults, for every part alike") {
  const auto kernel = [](std::string_view symbol) -> const KernelInfo& {
    return *StepForTest{symbol, nullptr, {}}.shape().kernel;
  };
  const int32_t line[] = {128, 1, 1};
  const int32_t grid[] = {8, 8, 4};
  kernels::GpuFacts gpu = {.units = 132};
  gpu.tiles.set_local_size(kernel("conv2d_f32_cl_buffer"), line);
  gpu.tiles.set_local_size(kernel("conv2d_f32_cl_image"), grid);
  // A profile cannot say anything here: these kernels have no local size to choose.
  gpu.tiles.set_local_size(kernel("conv2d_f32_cl_tiled"), grid);
  gpu.tiles.set_local_size(kernel("conv2d_winograd2_f32_cl_tiled"), grid);
  for (const Range part : {Range{}, Range{0, 2}, Range{2, 9}}) {
    CHECK(tile_of("conv2d_f32_cl_buffer", gpu, part) == std::vector<int32_t>{128, 1, 1});
    CHECK(tile_of("conv2d_f32_cl_image", gpu, part) == std::vector<int32_t>{8, 8, 4});
    CHECK(tile_of("conv2d_f32_cl_quad", gpu, part).empty());
    for (const char* own : {"conv2d_f32_cl_tiled", "conv2d_winograd2_f32_cl_tiled"})
      CHECK(tile_of(own, gpu, part) == tile_of(own, {.units = 132}, part));
  }
  // A work-item keeps its pixels and panels.
  gpu.registers = 512;
  CHECK(tile_of("conv2d_f32_cl_buffer", gpu, {}) == std::vector<int32_t>{128, 1, 1, 7, 2});

  const std::vector<int32_t> builtin = tile_of("conv2d_f32_cl_tiled", gpu, {});
  kernels::TimedTiles table = {.kernel_id = kernel("conv2d_f32_cl_tiled").id, .count = 2};
  table.tiles[0] = {{64, 64, 32, 8, 4, 2}, 1, 1, 1};
  table.tiles[1] = {{16, 32, 64, 4, 4, 8}, 1000, 1, 1};  // so it is taken
  REQUIRE(gpu.tiles.set_table(table));
  for (const Range part : {Range{}, Range{0, 2}, Range{2, 9}})
    CHECK(tile_of("conv2d_f32_cl_tiled", gpu, part) == std::vector<int32_t>{16, 32, 64, 4, 4, 8});
  table.tiles[0].macs_per_ns = 1e6;
  REQUIRE(gpu.tiles.set_table(table));  // instead of the first
  CHECK(gpu.tiles.table_count == 1);
  CHECK(tile_of("conv2d_f32_cl_tiled", gpu, {})[0] == 64);
  CHECK(tile_of("conv2d_f32_cl_tiled", {.units = 132}, {}) == builtin);
}

TEST_CASE("groups by Winograd's method need more registers than a phone's GPU has") {
  Conv c;
  c.symbol = "conv2d_winograd2_f32_cl_tiled";
  c.w = packed(PackingKind::Winograd2, {40, 8, 3, 3});
  CHECK(check(c.step()) == "ok");
  const StepForTest step = c.step();
  for (const int32_t registers : {64, 192, 255, 0})
    CHECK(has_room_for_group(step.shape(),
                             {.thread_registers = registers, .max_group_local_bytes = 48 * 1024}) ==
          (registers == 0 || registers == 255));
}

TEST_CASE("there is room for a table of every kernel that chooses among tiles of gemm_tile.cl") {
  uint32_t rows = 0;
  for (const KernelInfo& info : kKernelInfos)
    if (kernels::tile_kind_of(info) == kernels::TileKind::Gemm) ++rows;
  CHECK(rows >= 3);
  CHECK(rows <= kernels::GpuTiles::kMaxTables);
}

TEST_CASE("tiles in local memory are bounded") {
  const auto check_tile = [](std::vector<int32_t> tile) {
    return check_edited([&](Conv& c) {
      c.symbol = "conv2d_f32_cl_tiled";
      c.tile = std::move(tile);
    });
  };
  CHECK(check_tile({}) == "ok");
  CHECK(check_tile({64, 128, 16, 8, 8, 1}) == "ok");
  CHECK(check_tile({8, 8, 8}) == "no tile, or its six numbers");
  const std::string extents = "a tile of 16 to 256 rows and columns, multiples of 16";
  for (int32_t bad : {INT32_MIN, -16, 0, 15, 40, 272, INT32_MAX}) {
    CHECK(check_tile({bad, 64, 16, 4, 4, 1}) == extents);
    CHECK(check_tile({64, bad, 16, 4, 4, 1}) == extents);
  }
  for (int32_t bad : {INT32_MIN, 0, 2, 24, 256})
    CHECK(check_tile({64, 64, bad, 4, 4, 1}) == "a depth of a step of 4 to 128, a power of two");
  for (int32_t bad : {INT32_MIN, 0, 2, 12, 16}) {
    CHECK(check_tile({64, 64, 16, bad, 4, 1}) ==
          "work-items of 4 or 8 rows and columns that divide the tile");
    CHECK(check_tile({64, 64, 16, 4, bad, 1}) ==
          "work-items of 4 or 8 rows and columns that divide the tile");
  }
  for (int32_t bad : {INT32_MIN, -1, 0, 3, 32})
    CHECK(check_tile({64, 64, 16, 4, 4, bad}) == "slices that divide the depth of a step");
  CHECK(check_tile({256, 256, 16, 4, 4, 1}) == "at most 1024 work-items in a group");
  CHECK(check_tile({16, 128, 16, 4, 4, 1}) == "loads that the work-items share evenly");
  CHECK(check_tile({128, 128, 64, 8, 8, 1}) == "48 KB of local memory at most");
  CHECK(check_edited([](Conv& c) {
          c.symbol = "conv2d_f32_cl_tiled";
          c.params.groups = 2;
          c.w = packed(PackingKind::ConvPanels, {40, 4, 3, 3}, 2);
        }) == "one group for tiles in local memory");
}

TEST_CASE("work is that of the part, channels padded as the processor computes them") {
  Conv conv;
  // 2 images x 9 x 9 pixels x 9 taps x 8 channels = 11664 multiply-adds per output channel.
  StepWork work = work_of(conv.step());
  CHECK(work.needed_macs == 11664 * 40);
  CHECK(work.read_bytes == 162 * 8 * 4);
  CHECK(work.written_bytes == 162 * 40 * 4);
  CHECK(work.weight_bytes == (72 + 1) * 48 * 4);

  conv.part_dim = SplitDim::OutputChannel;
  conv.part = {32, 40};
  work = work_of(conv.step());
  CHECK(work.needed_macs == 11664 * 8);
  CHECK(work.weight_bytes == (72 + 1) * 16 * 4);
  conv.part_dim = SplitDim::Height;
  conv.part = {0, 3};
  work = work_of(conv.step());
  CHECK(work.needed_macs == 11664 * 40 / 3);
  // Rows 0 to 2 read rows 0 to 3.
  CHECK(work.read_bytes == 2 * 9 * 4 * 8 * 4);
  CHECK(work.written_bytes == 2 * 9 * 3 * 40 * 4);

  // There are 2 images x 3 x 3 tiles of 4 x 4, 36 positions.
  conv = {};
  conv.symbol = "conv2d_winograd4_f32_cpu";
  conv.w = packed(PackingKind::Winograd4, {40, 8, 3, 3});
  work = work_of(conv.step());
  CHECK(work.needed_macs == 11664 * 40);
  CHECK(work.macs >= 18 * 36 * 8 * 48);
  CHECK(work.weight_bytes == (36 * 8 + 1) * 48 * 4);
  conv.part_dim = SplitDim::Height;
  conv.part = {0, 4};
  CHECK(work_of(conv.step()).macs >= 6 * 36 * 8 * 48);
  CHECK(work_of(conv.step()).macs < work.macs);
}

TEST_CASE("heavy steps are cut into tasks for eight workers, small ones are not") {
  Conv conv;
  conv.x = nhwc({1, 64, 56, 56});
  conv.w = packed(PackingKind::ConvPanels, {64, 64, 3, 3});
  conv.bias = packed(PackingKind::Bias, {64});
  conv.y = nhwc({1, 64, 56, 56});
  CHECK(task_count(conv.step()) >= 32);
  conv.x = nhwc({1, 512, 7, 7});
  conv.w = packed(PackingKind::ConvPanels, {512, 512, 3, 3});
  conv.bias = packed(PackingKind::Bias, {512});
  conv.y = nhwc({1, 512, 7, 7});
  CHECK(task_count(conv.step()) >= 16);
  conv.x = nhwc({1, 8, 4, 4});
  conv.w = packed(PackingKind::ConvPanels, {16, 8, 3, 3});
  conv.bias = packed(PackingKind::Bias, {16});
  conv.y = nhwc({1, 16, 4, 4});
  CHECK(task_count(conv.step()) == 1);
}

}  // namespace
}  // namespace codl::kernels
