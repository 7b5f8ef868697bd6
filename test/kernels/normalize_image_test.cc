// Tests Normalize on texels: what it refuses, its counts by hand, and its digits. Results and
// parts: cl_conformance_test.cc, split_test.cc, cl_window_test.cc.
#include <cmath>

#include "test/kernels/opencl_device.h"
#include "test/kernels/step_for_tests.h"

namespace codl::kernels {
namespace {

constexpr const char* kSymbol = "normalize_f32_cl_image";

NormalizeParams instances(bool has_scale, bool has_bias) {
  return {.axes_mask = 12, .has_scale = has_scale, .has_bias = has_bias, .epsilon = 1e-5f};
}

TEST_CASE("Normalize on texels has means of channels, and scale and bias of channels") {
  const OperandShape map = image({2, 6, 4, 5});
  const auto bare = [&](int32_t mask) {
    const NormalizeParams params = {.axes_mask = mask};
    return check({kSymbol, &params, {map, map}});
  };
  const char* const axes = "means over the rows and columns of each channel for a kernel on texels";
  CHECK(bare(12) == "ok");
  for (const int32_t mask : {2, 4, 8, 13, 14, 15}) CHECK(bare(mask) == axes);
  CHECK(bare(16) == "a mask of the input's axes");

  const auto with = [&](const OperandShape& scale, const OperandShape& bias) {
    const NormalizeParams params = instances(true, true);
    return check({kSymbol, &params, {map, scale, bias, map}});
  };
  const char* const even =
      "scale and bias that are one for all pixels of a channel for a kernel on texels";
  CHECK(with(plain({6, 1, 1}), plain({1})) == "ok");
  CHECK(with(plain({2, 6, 1, 1}), plain({2, 1, 1, 1})) == "ok");
  CHECK(with(plain({6, 1, 5}), plain({6, 1, 1})) == even);
  CHECK(with(plain({6, 1, 1}), plain({4, 1})) == even);
  CHECK(with(plain({5, 1, 1}), plain({1})) == "plain scale and bias that broadcast to the input");
  CHECK(with(image({1, 6, 1, 1}), plain({1})) ==
        "plain scale and bias that broadcast to the input");

  const NormalizeParams params = instances(false, false);
  CHECK(check({kSymbol, &params, {image({2, 6, 4, 5}, {1, 4}), map}}) == "all rows in memory");
  CHECK(check({kSymbol, &params, {nhwc({2, 6, 4, 5}), map}}) == "input and output of one layout");
  CHECK(check({kSymbol, &params, {nhwc({2, 6, 4, 5}), nhwc({2, 6, 4, 5})}}) ==
        "output in the kernel's layout");
  CHECK(check({"normalize_f32_cl_buffer", &params, {map, map}}) == "plain or Nhwc operands");
}

TEST_CASE("work of Normalize on texels, by hand") {
  WorkMachine machine;
  machine.units = 4;
  machine.wave_width = 32;
  machine.texture_bytes = machine.l1_bytes = machine.l2_bytes = machine.last_level_bytes = 1e9;
  const auto work = [&](const StepForTest& step) { return work_of(step, machine); };
  NormalizeParams params = instances(true, false);
  const OperandShape map = image({2, 18, 7, 9});
  StepForTest step = {kSymbol, &params, {map, plain({18, 1, 1}), map}};
  // There are 5 texels in 2 batches, each a group of 64 items, which read its 63 pixels at once.
  const StepWork whole = work(step);
  CHECK(whole.work_groups == 10);
  CHECK(whole.waves == 20);
  CHECK(whole.tile_calls == 20 * 3);
  CHECK(whole.operations == 5 * 2 * 63 * 20);
  CHECK(whole.read_bytes == 4 * (2 * 63 * 20 + 18));
  CHECK(whole.written_bytes == 4 * 2 * 63 * 20);
  CHECK(whole.moved_bytes == 4 * (4 * 2 * 63 * 20 + 18));
  CHECK(whole.run_bytes == 16);
  CHECK(whole.group_local_bytes == 64 * 16);
  // The second reading comes from beyond a unit's cache, but not from beyond one that holds all.
  CHECK(whole.beyond_l1_bytes >= 2.0 * 4 * 2 * 63 * 20);
  CHECK(whole.beyond_l2_bytes == 0);
  step.part_dim = SplitDim::OutputChannel;
  step.part = {0, 16};
  CHECK(work(step).work_groups == 8);
  CHECK(work(step).read_bytes == 4 * (2 * 63 * 16 + 16));
  params = {.axes_mask = 12, .activation = kUnaryRelu};
  CHECK(work({kSymbol, &params, {map, map}}).operations == (5 + 3) * 2 * 63 * 20);
  params = {.axes_mask = 12, .is_rms = 1};
  CHECK(work({kSymbol, &params, {map, map}}).tile_calls == 20 * 2);
  // For many pixels there are 256 items, which take 5 times 4 each.
  params = instances(false, false);
  const OperandShape wide = image({1, 4, 65, 67});
  CHECK(work({kSymbol, &params, {wide, wide}}).waves == 8);
  CHECK(work({kSymbol, &params, {wide, wide}}).tile_calls == 8 * 3 * 5);
}

// There are two passes: they add squares of distances from the mean, for numbers whose own squares
// would not fit.
TEST_CASE("a variance on texels keeps its digits far from zero", "[opencl]") {
  test::ClDevice* const device = test::opencl_device();
  if (device == nullptr) return;
  for (const int32_t side : {19, 67}) {  // 64 items, 256
    const OperandShape map = image({1, 3, side, side});
    const auto pixels = static_cast<size_t>(side * side);
    std::vector<float> x(pixels * 4), y(pixels * 4, 7.0f);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = i % 4 == 3 ? 0.0f : 4e4f * static_cast<float>(i % 4) + static_cast<float>(i / 4 % 7);
    const NormalizeParams params = instances(false, false);
    const StepForTest test_step = {kSymbol, &params, {map, map}};
    const StepShape step = test_step.shape();
    REQUIRE(check(test_step) == "ok");
    ClLaunch launch;
    launch_of(step, &launch);
    const auto extent = static_cast<size_t>(side);
    const test::ClOperand in = {.data = x.data(),
                                .bytes = x.size() * sizeof(float),
                                .is_image = true,
                                .width = extent,
                                .height = extent};
    test::ClOperand out = in;
    out.data = y.data();
    out.is_output = true;
    const std::vector<test::ClOperand> operands = {in, out};
    REQUIRE(device->run(*step.kernel, launch, operands) == "");
    for (size_t channel = 0; channel < 4; ++channel) {
      double mean = 0, squares = 0;
      for (size_t i = channel; i < x.size(); i += 4)
        mean += static_cast<double>(x[i]) / static_cast<double>(pixels);
      for (size_t i = channel; i < x.size(); i += 4)
        squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
      const double deviation = std::sqrt(squares / static_cast<double>(pixels) + 1e-5);
      double worst = 0;
      for (size_t i = channel; i < x.size(); i += 4) {
        const double expected = (static_cast<double>(x[i]) - mean) / deviation;
        worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - expected));
      }
      // The mean itself is a float: its last place is 0.004 of a deviation of 2.
      INFO("side " << side << ", channel " << channel);
      CHECK(worst < 0.01);
    }
  }
}

}  // namespace
}  // namespace codl::kernels
