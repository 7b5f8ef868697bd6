#include "kernels/pool2d/pool2d.h"

#include "kernels/work_table.h"
#include "test/kernels/step_for_tests.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

// 3x3 windows, stride 2, padding 1: 9 rows and columns become 5.
Pool2dParams small_params() {
  Pool2dParams params;
  params.kind = kPool2dMax;
  params.kernel_h = params.kernel_w = 3;
  params.stride_h = params.stride_w = 2;
  params.dilation_h = params.dilation_w = 1;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
  return params;
}

std::string check_params(const Pool2dParams& params) {
  return check({"pool2d_f32_cpu", &params, {nhwc({1, 5, 9, 9}), nhwc({1, 5, 5, 5})}});
}

template <typename Edit>
std::string check_edited_pool(Edit edit) {
  Pool2dParams params = small_params();
  edit(params);
  return check_params(params);
}

TEST_CASE("pool2d takes quads where a work-item has few registers") {
  const Pool2dParams params = small_params();
  StepForTest step = {"pool2d_f32_cl_buffer", &params, {nhwc({1, 5, 9, 9}), nhwc({1, 5, 5, 5})}};
  std::vector<int32_t> tile(kMaxTileInts);
  for (int32_t registers : {0, 192})
    CHECK(choose_tile(step.shape(), {.thread_registers = registers}, tile.data()) == 0);
  tile.resize(choose_tile(step.shape(), {.thread_registers = 64}, tile.data()));
  CHECK(tile == std::vector<int32_t>{32, 1, 1, 4});
  step.tile = tile;
  CHECK(check(step) == "ok");
  CHECK(work_of(step).item_registers == 2 * 4);
  for (int32_t bad : {INT32_MIN, 0, 8, INT32_MAX}) {
    step.tile[3] = bad;
    CHECK(check(step) == "4 or 16 channels in a work-item on a buffer");
  }
  const StepForTest on_image = {
      "pool2d_f32_cl_image", &params, {image({1, 5, 9, 9}), image({1, 5, 5, 5})},
      SplitDim::None,        {},      tile};
  CHECK(check(on_image) == "4 or 16 channels in a work-item on a buffer");
}

TEST_CASE("pool2d takes a padded window and refuses parameters that miss the map") {
  CHECK(check_params(small_params()) == "ok");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.kind = 3; }) == "a member of Pool2d");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.kernel_h = 0; }) == "kernel of 1 to 2^24 taps");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.kernel_w = INT32_MAX; }) ==
        "kernel of 1 to 2^24 taps");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.stride_h = 0; }) == "stride of 1 to 2^24");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.dilation_w = -1; }) == "dilation of 1 to 2^24");
  CHECK(check_edited_pool([](Pool2dParams& p) {
          p.kernel_h = 1 << 20;
          p.dilation_h = 1 << 20;
        }) == "a window of at most 2^24 rows and columns");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.pad_top = 3; }) ==
        "padding smaller than the window");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.pad_bottom = -1; }) ==
        "padding smaller than the window");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.dilation_h = 10; }) ==
        "no padding where taps may straddle the map");
  CHECK(check_edited_pool([](Pool2dParams& p) { p.stride_w = 3; }) ==
        "every window to begin before the end of the map");
}

TEST_CASE("pool2d adds whole panels of channels, in steps of all channels only") {
  const Pool2dParams params = small_params();
  const auto check_added = [&](int32_t from, int32_t to, SplitDim dim = SplitDim::None) {
    StepForTest step = {"pool2d_f32_cpu", &params, {nhwc({1, from, 9, 9}), nhwc({1, to, 5, 5})}};
    step.part_dim = dim;
    if (dim != SplitDim::None) step.part = {0, dim == SplitDim::Height ? 5 : 16};
    return check(step);
  };
  const std::string panels = "whole panels, and no part of the channels, where some are added";
  CHECK(check_added(16, 48) == "ok");
  CHECK(check_added(16, 48, SplitDim::Height) == "ok");
  CHECK(check_added(16, 48, SplitDim::OutputChannel) == panels);
  CHECK(check_added(16, 24) == panels);
  CHECK(check_added(8, 16) == panels);
  CHECK(check_added(48, 16) == "input and output of one batch, and no channel less");
}

TEST_CASE("pool2d refuses operands that do not fit each other") {
  const Pool2dParams params = small_params();
  const auto check_operands = [&](const OperandShape& x, const OperandShape& y) {
    return check({"pool2d_f32_cpu", &params, {x, y}});
  };
  CHECK(check_operands(nhwc({2, 5, 9, 9}), nhwc({1, 5, 5, 5})) ==
        "input and output of one batch, and no channel less");
  CHECK(check_operands(nhwc({1, 6, 9, 9}), nhwc({1, 5, 5, 5})) ==
        "input and output of one batch, and no channel less");
  CHECK(check_operands(plain({1, 5, 9, 9}), nhwc({1, 5, 5, 5})) ==
        "input and output of one layout");
  CHECK(check({"pool2d_f32_cl_image", &params, {nhwc({1, 5, 9, 9}), image({1, 5, 5, 5})}}) ==
        "input and output of one layout");
  CHECK(check({"pool2d_f32_cpu",
               &params,
               {nhwc({1, 5, 9, 9}), nhwc({1, 5, 9, 9}), nhwc({1, 5, 5, 5})}}) ==
        "the operator's number of operands");
  CHECK(check({"pool2d_f32_cpu",
               &params,
               {nhwc({1, 5, 9, 9}), nhwc({1, 5, 5, 5})},
               SplitDim::None,
               {},
               {4, 4, 4}}) == "no tile for a CPU kernel");
}

TEST_CASE("a part of a pooling needs its input rows and their halo, clipped to the map") {
  const Pool2dParams params = small_params();
  const auto check_rows = [&](Range part, Range input_rows) {
    return check({"pool2d_f32_cpu",
                  &params,
                  {nhwc({1, 5, 9, 9}, input_rows), nhwc({1, 5, 5, 5})},
                  SplitDim::Height,
                  part});
  };
  // Output row o reads input rows 2o - 1 to 2o + 1.
  CHECK(check_rows({1, 3}, {1, 6}) == "ok");
  CHECK(check_rows({1, 3}, {2, 6}) == "input rows of the part inside the operand");
  CHECK(check_rows({1, 3}, {1, 5}) == "input rows of the part inside the operand");
  CHECK(check_rows({0, 1}, {0, 2}) == "ok");
  CHECK(check_rows({4, 5}, {7, 9}) == "ok");
}

TEST_CASE("global pooling is shared out by channels, a tiny one is not") {
  Pool2dParams params;
  params.kind = kPool2dAverage;
  params.kernel_h = params.kernel_w = 7;
  params.stride_h = params.stride_w = params.dilation_h = params.dilation_w = 1;
  const auto tasks_of = [&](int32_t channels) {
    return task_count(
        {"pool2d_f32_cpu", &params, {nhwc({1, channels, 7, 7}), nhwc({1, channels, 1, 1})}});
  };
  CHECK(tasks_of(512) == 8);
  CHECK(tasks_of(2048) == 32);
  CHECK(tasks_of(64) == 1);
}

TEST_CASE("work of a pooling is that of its part") {
  Pool2dParams params = small_params();
  StepForTest step = {"pool2d_f32_cpu", &params, {nhwc({1, 16, 200, 100}), nhwc({1, 16, 100, 50})}};
  const StepWork whole = work_of(step);
  CHECK(whole.read_bytes == 200 * 100 * 16 * 4);
  CHECK(whole.written_bytes == 100 * 50 * 16 * 4);
  step.part_dim = SplitDim::Height;
  step.part = {0, 50};
  const StepWork half = work_of(step);
  CHECK(half.read_bytes == 100 * 100 * 16 * 4);
  CHECK(half.written_bytes == 50 * 50 * 16 * 4);
}

}  // namespace
}  // namespace codl::kernels
