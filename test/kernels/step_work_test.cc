// Tests the counts of steps: some by hand, and rules that hold for every kernel.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "kernels/common/work/work_counts.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/winograd.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/kernel_table.h"
#include "kernels/matmul/matmul.h"
#include "kernels/work_table.h"
#include "test/kernels/all_cases.h"
#include "test/kernels/cpu_runner.h"
#include "test/kernels/step_for_tests.h"
#include "test/support/catch.h"

namespace codl::kernels {
namespace {

// Its caches hold everything, unless a test says otherwise.
WorkMachine cpu(int32_t lanes, int32_t threads) {
  WorkMachine machine;
  machine.threads = threads;
  machine.vector_lanes = lanes;
  machine.l1_bytes = machine.l2_bytes = machine.last_level_bytes = 1e9;
  return machine;
}
WorkMachine gpu(int32_t units, int32_t wave_width) {
  WorkMachine machine = cpu(4, 1);
  machine.units = units;
  machine.wave_width = wave_width;
  return machine;
}

OperandShape packed(std::initializer_list<int32_t> dims, uint64_t elements) {
  OperandShape shape = plain(dims);
  shape.layout = Layout::Packed;
  shape.bytes = elements * sizeof(float);
  return shape;
}

// Makes a convolution of one image with a square filter.
StepForTest conv2d(std::string_view symbol, const Conv2dParams& params, int32_t in, int32_t out,
                   int32_t side, int32_t filter, int32_t output_side) {
  const int32_t dims[] = {out, in, filter, filter};
  const bool is_image = symbol.ends_with("_image");
  const auto map = [&](int32_t channels, int32_t extent) {
    return is_image ? image({1, channels, extent, extent}) : nhwc({1, channels, extent, extent});
  };
  return {symbol,
          &params,
          {map(in, side), packed({out, in, filter, filter}, conv2d_packed_elements(dims, 1)),
           packed({out}, static_cast<uint64_t>(panel_channels(out))), map(out, output_side)}};
}

Conv2dParams window(int32_t stride, int32_t pad) {
  Conv2dParams params = {};
  params.stride_h = params.stride_w = stride;
  params.dilation_h = params.dilation_w = 1;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = pad;
  params.groups = 1;
  return params;
}

TEST_CASE("work of a pointwise convolution on a CPU, by hand") {
  const Conv2dParams params = window(1, 0);
  const StepForTest step = conv2d("conv2d_f32_cpu", params, 32, 64, 10, 1, 10);
  // AVX-512: 100 pixels are 8 tiles of at most 14: 4 of 13, computed as 14, and 4 of 12. 4 panels
  // are 2 pairs.
  const WorkMachine machine = cpu(16, 1);
  StepWork work = work_of(step, machine);
  CHECK(work.needed_macs == 100 * 64 * 32);
  CHECK(work.macs == (4 * 14 + 4 * 12) * 64 * 32);
  CHECK(work.tile_calls == 8 * 2);
  CHECK(work.read_bytes == 100 * 32 * 4);
  CHECK(work.written_bytes == 100 * 64 * 4);
  CHECK(work.weight_bytes == (32 + 1) * 64 * 4);
  // Each tile loads all weights, each pair of panels all inputs.
  CHECK(work.moved_bytes == 8 * 64 * 32 * 4 + 104 * 2 * 32 * 4 + 100 * 64 * 4);
  CHECK(work.tasks == 1);
  CHECK(work.busiest_share == 1);
  CHECK(work.phases == 1);
  CHECK(work.launches == 0);
  CHECK(work.beyond_l1_bytes == 0);
  // A run has 46,848 bytes, more than twice a cache of 16 KiB, so all of them come from beyond it,
  // once. Weights are used again after 8,192 bytes of them and 14 pixels of 128 bytes.
  WorkMachine small = machine;
  small.l1_bytes = 16384;
  work = work_of(step, small);
  CHECK(work.beyond_l1_bytes == 12800 + 8448);
  CHECK(work.beyond_l2_bytes == 0);
  // A cache of 8 KiB lacks (8192 + 1792) / 8192 - 1 of the weights that 7 tiles use again.
  small.l1_bytes = 8192;
  work = work_of(step, small);
  CHECK(work.beyond_l1_bytes == Approx(12800 + 8448 + 7 * 8448 * (9984.0 / 8192 - 1)));
  // Without caches, every level lets everything through.
  small.l1_bytes = small.l2_bytes = small.last_level_bytes = 0;
  work = work_of(step, small);
  CHECK(work.beyond_last_bytes == work.beyond_l1_bytes + 100 * 64 * 4);  // with what is stored

  // AVX2 has 17 tiles, 15 of 6 and 2 of 5, of one panel each; NEON has 25 of 4.
  work = work_of(step, cpu(8, 1));
  CHECK(work.macs == 100 * 64 * 32);
  CHECK(work.tile_calls == 17 * 4);
  work = work_of(step, cpu(4, 1));
  CHECK(work.tile_calls == 25 * 4);
}

// The test walks through all tasks.
TEST_CASE("the busiest of unequal workers is the one whose work over its speed is most") {
  constexpr uint16_t kSpeeds[] = {10000, 4261, 8521, 8521};
  for (const int32_t extent : {8, 20, 56, 90})
    for (const int32_t threads : {1, 2, 3, 4}) {
      const Conv2dParams params = window(1, 1);
      const StepForTest step = conv2d("conv2d_f32_cpu", params, 64, 64, extent, 3, extent);
      WorkMachine machine = cpu(16, threads);
      machine.worker_speeds = kSpeeds;
      const StepWork work = work_of(step, machine);
      const StepShape shape = step.shape();
      const Conv2dWork cut = conv2d_work(params, shape.operands[0], shape.operands[1],
                                         shape.output(), SplitDim::None, {});
      INFO(extent << " x " << extent << ", threads " << threads << ", tasks " << work.tasks);
      int64_t sum = 0;
      for (int32_t i = 0; i < threads; ++i) sum += kSpeeds[i];
      std::vector<double> times(static_cast<size_t>(threads));
      double all = 0;
      const int64_t column = cut.images * cut.blocks.pixel_blocks;
      const auto tasks = static_cast<int64_t>(work.tasks);
      for (int64_t task = 0; task < tasks; ++task) {
        // Its worker is the first whose share ends after it.
        size_t worker = 0;
        for (int64_t speed = kSpeeds[0]; tasks > 1 && tasks_before(tasks, speed, sum) <= task;)
          speed += kSpeeds[++worker];
        const int64_t pixel = task % column % cut.blocks.pixel_blocks * cut.blocks.pixels_per_block;
        const int64_t panel = task / column * cut.blocks.panels_per_block;
        const double size = static_cast<double>(std::min<int64_t>(cut.blocks.pixels_per_block,
                                                                  cut.pixels - pixel)) *
                            static_cast<double>(std::min<int64_t>(cut.blocks.panels_per_block,
                                                                  cut.panels.count() - panel));
        times[worker] += size * 10000 / kSpeeds[worker];
        all += size;
      }
      CHECK(work.busiest_share == Approx(*std::max_element(times.begin(), times.end()) / all));
    }
  // A step of one task runs on the first worker; with shares of rows the slowest has too much.
  WorkMachine machine = cpu(16, 4);
  machine.worker_speeds = kSpeeds;
  StepWork one;
  fill_tasks(1000, 1, machine, &one);
  CHECK(one.busiest_share == 1);
  StepWork four;
  fill_tasks(64, 32, machine, &four);
  // 32 * (10000, 14261, 22782, 31303) / 31303 gives 10, 4, 9 and 9 tasks of two units.
  CHECK(four.busiest_share == Approx(std::max(18 / 0.8521, 20 / 1.0) / 64));
}

TEST_CASE("work of a part has its own rows and channels") {
  const Conv2dParams params = window(1, 1);
  StepForTest step = conv2d("conv2d_f32_cpu", params, 64, 64, 56, 3, 56);
  const StepWork whole = work_of(step, cpu(16, 4));
  CHECK(whole.needed_macs == 3136.0 * 64 * 576);
  // There are 56 blocks of 56 pixels with all panels.
  CHECK(whole.tasks == 56);
  CHECK(whole.busiest_share == 0.25);
  CHECK(work_of(step, cpu(16, 3)).busiest_share == Approx(19.0 / 56));
  step.part_dim = SplitDim::Height;
  step.part = {10, 20};
  const StepWork rows = work_of(step, cpu(16, 4));
  CHECK(rows.needed_macs == 560.0 * 64 * 576);
  CHECK(rows.read_bytes == 12.0 * 56 * 64 * 4);  // a row of halo on either side
  CHECK(rows.written_bytes == 560.0 * 64 * 4);
  CHECK(rows.weight_bytes == whole.weight_bytes);
  step.part_dim = SplitDim::OutputChannel;
  step.part = {16, 48};
  const StepWork channels = work_of(step, cpu(16, 4));
  CHECK(channels.needed_macs == 3136.0 * 32 * 576);
  CHECK(channels.read_bytes == whole.read_bytes);
  CHECK(channels.weight_bytes == 577.0 * 32 * 4);
  CHECK(channels.run_bytes == 32 * 4);
}

TEST_CASE("maps and weights count by the bytes of their dtypes") {
  const Conv2dParams params = window(1, 1);
  for (const char* symbol : {"conv2d_f32_cl_buffer", "conv2d_f32_cl_image", "conv2d_f32_cl_quad",
                             "conv2d_f32_cl_tiled", "conv2d_winograd2_f32_cl_tiled"}) {
    INFO(symbol);
    StepForTest step = conv2d(symbol, params, 16, 32, 8, 3, 8);
    // No kernel takes weights of halves yet, so that the contract is not asked.
    const auto work_of_step = [&] {
      StepWork work;
      count_work(step.shape(), gpu(8, 32), &work);
      return work;
    };
    const StepWork floats = work_of_step();
    for (size_t i : {0, 1, 3}) step.operands[i].dtype = DType::F16;
    const StepWork halves = work_of_step();
    CHECK(halves.macs == floats.macs);
    CHECK(2 * halves.read_bytes == floats.read_bytes);
    CHECK(2 * halves.written_bytes == floats.written_bytes);
    CHECK(2 * halves.moved_bytes == floats.moved_bytes);
    CHECK(2 * halves.run_bytes == floats.run_bytes);
    constexpr double kBiasBytes = 32 * 4;  // the bias stays f32
    CHECK(2 * (halves.weight_bytes - kBiasBytes) == floats.weight_bytes - kBiasBytes);
  }
}

TEST_CASE("a processor with half arithmetic multiplies halves, another converts them") {
  const Conv2dParams params = window(1, 0);
  const auto work_of_halves = [](StepForTest step, const WorkMachine& machine) {
    for (OperandShape& operand : step.operands)
      if (operand.layout != Layout::Packed || operand.rank > 1) operand.dtype = DType::F16;
    StepWork work;
    count_work(step.shape(), machine, &work);
    return work;
  };
  const auto with_halves = [](WorkMachine machine) {
    machine.has_half_arithmetic = true;
    return machine;
  };
  // There are 13 tiles of at most 8 of 100 pixels, and 4 panels, one in a call.
  const StepForTest direct = conv2d("conv2d_f32_cpu", params, 32, 64, 10, 1, 10);
  const StepWork halves = work_of_halves(direct, with_halves(cpu(4, 1)));
  CHECK(halves.mac_type == DType::F16);
  CHECK(halves.macs == 100 * 64 * 32);
  CHECK(halves.tile_calls == 13 * 4);
  CHECK(halves.operations == 0);
  CHECK(halves.moved_bytes == (13 * 64 * 32 + 100 * 4 * 32 + 100 * 64) * 2);
  // With floats every number that is loaded or stored is converted.
  const StepWork floats = work_of_halves(direct, cpu(4, 1));
  CHECK(floats.mac_type == DType::F32);
  CHECK(floats.tile_calls == 25 * 4);
  CHECK(floats.operations == 25 * 64 * 32 + 100 * 4 * 32 + 100 * 64);
  CHECK(work_of(direct, with_halves(cpu(4, 1))).mac_type == DType::F32);
  CHECK(work_of(direct, cpu(4, 1)).operations == 0);

  // A row has three panels, two in a call; a vector has 8 of 48 channels, in 10 runs of 8 pixels.
  const MatMulParams product = {};
  const int32_t dims[] = {32, 48};
  const StepForTest row = {"matmul_f32_cpu",
                           &product,
                           {plain({1, 32}), packed({32, 48}, matmul_packed_elements(dims)),
                            packed({48}, 48), plain({1, 48})}};
  CHECK(work_of_halves(row, with_halves(cpu(4, 1))).mac_type == DType::F16);
  CHECK(work_of_halves(row, with_halves(cpu(4, 1))).tile_calls == 2);
  DepthwiseConv2dParams depthwise = {};
  depthwise.stride_h = depthwise.stride_w = depthwise.dilation_h = depthwise.dilation_w = 1;
  const int32_t filters[] = {48, 1, 1, 1};
  const StepForTest taps = {
      "depthwise_conv2d_f32_cpu",
      &depthwise,
      {nhwc({1, 48, 10, 8}), packed({48, 1, 1, 1}, depthwise_conv2d_packed_elements(filters)),
       packed({48}, 48), nhwc({1, 48, 10, 8})}};
  CHECK(work_of_halves(taps, with_halves(cpu(4, 1))).mac_type == DType::F16);
  CHECK(work_of_halves(taps, with_halves(cpu(4, 1))).tile_calls == 10 * 6);
  CHECK(work_of_halves(taps, cpu(4, 1)).tile_calls == 10 * 12);

  const StepForTest texels = conv2d("conv2d_f32_cl_image", params, 128, 32, 7, 1, 7);
  CHECK(work_of_halves(texels, gpu(8, 64)).mac_type == DType::F32);
  CHECK(work_of_halves(texels, gpu(8, 64)).operations == 0);
  const StepWork one_run = work_of_halves(texels, with_halves(gpu(8, 64)));
  CHECK(one_run.mac_type == DType::F16);
  CHECK(one_run.item_registers == (16 + 16 + 4) / 2);
  const StepForTest more = conv2d("conv2d_f32_cl_image", params, 132, 32, 7, 1, 7);
  CHECK(work_of_halves(more, with_halves(gpu(8, 64))).item_registers == (16 + 16 + 4) / 2 + 16);
}

TEST_CASE(
    "with 64 registers, tiles of halves in runs whose work-items would spill are no candidates") {
  const Conv2dParams params = window(1, 1);
  constexpr kernels::GpuFacts kMali = {.thread_registers = 64};
  const auto chosen = [&](int32_t channels, bool is_half) {
    StepForTest step = conv2d("conv2d_f32_cl_quad", params, channels, 64, 12, 3, 12);
    if (is_half)
      for (uint32_t operand : {0, 1, 3}) step.operands[operand].dtype = DType::F16;
    std::vector<int32_t> tile(kernels::kMaxTileInts);
    tile.resize(kernels::choose_tile(step.shape(), kMali, tile.data()));
    REQUIRE(tile.size() == kernels::kConv2dItemInts);
    return std::pair(tile[3], tile[4]);
  };
  // Compiled by Mesa 25.0.7 for Mali G610, 3 x 2 spills in sums of more than 128 products, and
  // nowhere else (docs/results/mobile_kernels.md).
  CHECK(chosen(64, false) == std::pair(3, 2));
  CHECK(chosen(14, true) == std::pair(3, 2));
  CHECK(chosen(64, true) == std::pair(2, 2));
  const auto fits = [&](int32_t pixels) {
    StepForTest step = conv2d("conv2d_f32_cl_quad", params, 64, 64, 12, 3, 12);
    step.tile = {4, 4, 4, pixels, 2};
    for (uint32_t operand : {0, 1, 3}) step.operands[operand].dtype = DType::F16;
    kernels::WorkMachine machine = gpu(8, 16);
    machine.has_half_arithmetic = true;
    StepWork work;
    count_work(step.shape(), machine, &work);
    return kMali.has_registers(work.item_registers + work.address_registers);
  };
  CHECK(fits(2));
  CHECK_FALSE(fits(3));
}

TEST_CASE("a CPU converts the elements of a map that changes its dtype") {
  const ConvertParams params = {};
  StepForTest step = {"convert_f32_cpu", &params, {nhwc({1, 32, 8, 8}), nhwc({1, 32, 8, 8})}};
  CHECK(work_of(step, cpu(4, 1)).operations == 0);
  step.operands[1].dtype = DType::F16;
  CHECK(work_of(step, cpu(4, 1)).operations == 64 * 32);
  step.operands[0].dtype = DType::F16;
  CHECK(work_of(step, cpu(4, 1)).operations == 0);
}

TEST_CASE("work of a convolution by Winograd's method, by hand") {
  const Conv2dParams params = window(1, 1);
  StepForTest step = conv2d("conv2d_winograd4_f32_cpu", params, 16, 16, 8, 3, 8);
  const int32_t dims[] = {16, 16, 3, 3};
  step.operands[1].bytes = winograd_packed_elements(PackingKind::Winograd4, dims) * sizeof(float);
  const StepWork work = work_of(step, cpu(4, 1));
  CHECK(work.needed_macs == 64 * 16 * 144);
  // There are 4 tiles of 4 x 4, 36 positions, 1 panel.
  CHECK(work.macs == 36 * 4 * 16 * 16);
  CHECK(work.tile_calls == 36);
  // In the input's transform a line takes 12 operations, 12 lines a tile; in the output's 13, 10.
  CHECK(work.operations == 4 * 16 * 12 * 12 + 4 * 16 * 13 * 10);
  CHECK(work.weight_bytes == (36 * 16 + 1) * 16 * 4);
}

TEST_CASE("work of a depthwise convolution, by hand") {
  DepthwiseConv2dParams params = {};
  params.stride_h = params.stride_w = params.dilation_h = params.dilation_w = 1;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
  const int32_t dims[] = {32, 1, 3, 3};
  const StepForTest step = {
      "depthwise_conv2d_f32_cpu",
      &params,
      {nhwc({1, 32, 8, 8}), packed({32, 1, 3, 3}, depthwise_conv2d_packed_elements(dims)),
       packed({32}, 32), nhwc({1, 32, 8, 8})}};
  const StepWork work = work_of(step, cpu(16, 1));
  CHECK(work.needed_macs == 64 * 32 * 9);
  // 2 of 8 x 3 taps along an axis are in the padding, and left out.
  CHECK(work.macs == 22 * 22 * 32);
  // A run of 8 outputs has 10 inputs; 3 weights; in each of 22 rows of taps.
  CHECK(work.moved_bytes == 22 * (10 + 3) * 32 * 4 + 64 * 32 * 4);
  CHECK(work.tile_calls == 8 * 2);  // two vectors each
  CHECK(work.gathers == 0);
  CHECK(work.weight_bytes == (9 + 1) * 32 * 4);
  // 6 of 38 channels come after whole vectors, with pad lanes: a load for each of their taps, a
  // store for each output.
  const int32_t more[] = {38, 1, 3, 3};
  const StepForTest rest = {
      "depthwise_conv2d_f32_cpu",
      &params,
      {nhwc({1, 38, 8, 8}), packed({38, 1, 3, 3}, depthwise_conv2d_packed_elements(more)),
       packed({38}, 48), nhwc({1, 38, 8, 8})}};
  CHECK(work_of(rest, cpu(16, 1)).gathers == 22 * 22 + 64);
}

TEST_CASE("work of a depthwise convolution on a GPU, by hand") {
  DepthwiseConv2dParams params = {};
  params.stride_h = params.stride_w = 2;
  params.dilation_h = params.dilation_w = 1;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
  const int32_t dims[] = {32, 1, 3, 3};
  StepForTest step = {
      "depthwise_conv2d_f32_cl_buffer",
      &params,
      {nhwc({1, 32, 14, 14}), packed({32, 1, 3, 3}, depthwise_conv2d_packed_elements(dims)),
       packed({32}, 32), nhwc({1, 32, 7, 7})}};
  const double written = 49 * 32 * 4;
  const StepWork lanes = work_of(step, gpu(8, 32));
  // 7 pixels and 16 channels an item: each tap loads 7 inputs and a weight.
  CHECK(lanes.macs == 49 * 32 * 9);
  CHECK(lanes.moved_bytes == 7 * 2 * 9 * 16 * (7 + 1) * 4 + written);
  CHECK(lanes.item_registers == (7 + 2) * 16);
  // 2 items of 4 pixels in a row, and 8 texels; a row of taps loads 9 inputs and 3 weights.
  step.tile = {4, 4, 4, 4};
  const StepWork texels = work_of(step, gpu(8, 64));
  CHECK(texels.macs == 7 * 2 * 8 * 16 * 9);
  CHECK(texels.moved_bytes == 7 * 2 * 8 * 3 * 4 * (9 + 3) * 4 + written);
  CHECK(texels.item_registers == (4 + 3 + 1) * 4);
  CHECK(texels.work_groups == 2 * 1 * 2);
  CHECK(texels.tile_calls == texels.waves * 3);
  // With dilation an item loads an input for each tap.
  params.dilation_w = 2;
  params.pad_left = params.pad_right = 2;
  CHECK(work_of(step, gpu(8, 64)).moved_bytes == 7 * 2 * 8 * 9 * 4 * (4 + 1) * 4 + written);
}

TEST_CASE("work of norms of lines on a GPU, by hand") {
  const NormalizeParams layer = {.axes_mask = 2, .has_scale = 1, .has_bias = 1};
  const double bytes = 197 * 192 * 4;
  const StepForTest norm = {"normalize_f32_cl_buffer",
                            &layer,
                            {plain({197, 192}), plain({192}), plain({192}), plain({197, 192})}};
  const StepWork norm_work = work_of(norm, gpu(8, 64));
  // 16 items have 3 of 48 quads each; 4 lines make a group. All quads are loaded at once.
  CHECK(norm_work.work_groups == 50);
  CHECK(norm_work.tile_calls == 50);
  CHECK(norm_work.moved_bytes == 2 * bytes + 2 * 192 * 4);
  CHECK(norm_work.item_registers == 2 * 4 * 4);
  const SoftmaxParams last = {.axis = 1};
  const auto runs = [&](int32_t length) {
    return work_of({"softmax_f32_cl_buffer", &last, {plain({20, length}), plain({20, length})}},
                   gpu(8, 64));
  };
  // 32 items have up to 7 of 197 elements; 2 runs make a group. 513 elements are not kept.
  CHECK(runs(197).work_groups == 10);
  CHECK(runs(197).tile_calls == 10);
  CHECK(runs(197).moved_bytes == 2 * 20 * 197 * 4);
  CHECK(runs(513).work_groups == 20);
  CHECK(runs(513).tile_calls == 20 * 3 * 9);
  CHECK(runs(513).moved_bytes == 5 * 20 * 513 * 4);
}

TEST_CASE("work of a product with weights, by hand") {
  MatMulParams params = {};
  const int32_t dims[] = {128, 1000};
  StepForTest step = {"matmul_f32_cpu",
                      &params,
                      {plain({1, 128}), packed({128, 1000}, matmul_packed_elements(dims)),
                       packed({1000}, 1008), plain({1, 1000})}};
  // 62 panels and a half: AVX-512 computes all of the last, AVX2 half of it.
  const StepWork wide = work_of(step, cpu(16, 1));
  CHECK(wide.needed_macs == 128 * 1000);
  CHECK(wide.macs == 128 * 1008);
  CHECK(wide.tile_calls == 31 + 1);
  CHECK(work_of(step, cpu(8, 1)).macs == 128 * 1000);
  CHECK(work_of(step, cpu(8, 1)).tile_calls == 15 + 3);
  CHECK(wide.weight_bytes == (128 + 1) * 1008 * 4);
  CHECK(wide.read_bytes == 128 * 4);
  // 8 blocks of 8 panels, the last of 7: the second of 3 workers has 3 of 8; all read x.
  const StepWork shared = work_of(step, cpu(16, 3));
  CHECK(shared.tasks == 8);
  CHECK(shared.busiest_share == Approx(24.0 / 63));
  CHECK(shared.read_bytes == wide.read_bytes);

  // There is a group of 16 work-items for each of 63 panels.
  step.symbol = "matmul_f32_cl_buffer";
  const StepWork work = work_of(step, gpu(8, 32));
  CHECK(work.work_groups == 63);
  CHECK(work.waves == 63);
  CHECK(work.work_items == 63 * 16);
  CHECK(work.macs == 63 * 16 * 128);
  CHECK(work.launches == 1);
  CHECK(work.group_local_bytes == 16 * 16 * 4);

  // A group's 64 fours of items share the depth: 32 take four depths of a panel's row, two passes
  // at once. The sums are 4 floats; weights and x of two passes, 2 x (16 + 4).
  step.symbol = "matmul_f32_cl_gemv";
  const StepWork vector = work_of(step, gpu(8, 32));
  CHECK(vector.work_groups == 63);
  CHECK(vector.waves == 63 * 8);
  CHECK(vector.tile_calls == 63 * 8);
  CHECK(vector.macs == work.macs);
  CHECK(vector.item_registers == 4 + 2 * (16 + 4));
}

TEST_CASE("work of a product of a batch, by hand") {
  BatchMatMulParams params = {};
  params.is_b_transposed = 1;
  StepForTest step = {"batch_matmul_f32_cl_buffer",
                      &params,
                      {plain({3, 197, 64}), plain({3, 197, 64}), plain({3, 197, 197})}};
  // 50 x 25 tiles of 4 x 8 in groups of 4 x 4 x 4, whose work-items load single elements of b.
  const StepWork wide = work_of(step, gpu(8, 64));
  CHECK(wide.work_groups == 13 * 7);
  CHECK(wide.macs == 3 * 50 * 25 * 32 * 64);
  CHECK(wide.item_registers == 32 + 12);
  CHECK(wide.gathers == 3 * 50 * 25 * 8 * 64);
  CHECK(wide.tile_calls == wide.waves * 64);
  // 50 x 50 tiles of 4 x 4, which load four depths of a row of a and of b at once.
  step.tile = {4, 4, 4, 4};
  const StepWork few = work_of(step, gpu(8, 64));
  CHECK(few.work_groups == 13 * 13);
  CHECK(few.macs == 3 * 50 * 50 * 16 * 64);
  CHECK(few.moved_bytes == 3 * 50 * 50 * 64 * 8 * 4 + 3 * 197 * 197 * 4);
  CHECK(few.item_registers == 16 + 16 + 4);
  CHECK(few.gathers == 0);
  CHECK(few.tile_calls == few.waves * 16);
}

TEST_CASE("work of tiles in local memory, by hand") {
  MatMulParams params = {};
  const int32_t dims[] = {64, 64};
  const StepForTest step = {"matmul_f32_cl_tiled",
                            &params,
                            {plain({64, 64}), packed({64, 64}, matmul_packed_elements(dims)),
                             packed({64}, 64), plain({64, 64})},
                            SplitDim::None,
                            {},
                            {32, 32, 32, 4, 4, 4}};
  const StepWork work = work_of(step, gpu(8, 32));
  // There are 2 x 2 groups of 2 steps, and 8 x 8 tiles of 4 x 4 for each of 4 slices.
  CHECK(work.macs == 64 * 64 * 64);
  CHECK(work.work_groups == 4);
  CHECK(work.work_items == 4 * 256);
  CHECK(work.waves == 4 * 8);
  CHECK(work.tile_calls == 4 * 8 * 2);
  // 16 sums, 8 factors, and 2 x 32 x 32 floats that 256 items load.
  CHECK(work.item_registers == 16 + 8 + 8);
  CHECK(work.moved_bytes == 4 * 2 * 2 * 32 * 32 * 4 + 64 * 64 * 4);
}

TEST_CASE("work of GPU kernels of a convolution, by hand") {
  const Conv2dParams params = window(1, 0);
  const StepWork buffer =
      work_of(conv2d("conv2d_f32_cl_buffer", params, 16, 32, 7, 1, 7), gpu(8, 32));
  // 49 pixels, whose rows are joined, by 7; 2 panels.
  CHECK(buffer.macs == 49 * 32 * 16);
  CHECK(buffer.work_items == 32);
  CHECK(buffer.work_groups == 1);
  CHECK(buffer.item_registers == 7 * 16 + 16 + 7);
  CHECK(buffer.moved_bytes == 14 * 16 * (16 + 7) * 4 + 49 * 32 * 4);
  const StepWork texels =
      work_of(conv2d("conv2d_f32_cl_image", params, 16, 32, 7, 1, 7), gpu(8, 64));
  // There are 8 texels of channels, 2 blocks of 4 pixels of each of 7 rows; groups of 4 x 4 x 4.
  CHECK(texels.macs == 8 * 2 * 7 * 16 * 16);
  CHECK(texels.work_groups == 2 * 1 * 2);
  CHECK(texels.waves == 4);
  // In buffers the rows are joined: 3 pairs of texels, of which 5 texels are stored, 17 blocks of 3
  // pixels.
  StepForTest pairs = conv2d("conv2d_f32_cl_quad", params, 15, 20, 7, 1, 7);
  pairs.tile = {4, 4, 4, 3, 2};
  const StepWork tiled = work_of(pairs, gpu(8, 64));
  CHECK(tiled.macs == 3 * 17 * 24 * 15);
  CHECK(tiled.work_groups == 1 * 5 * 1);
  CHECK(tiled.item_registers == 24 + 12 + 8);
  CHECK(tiled.moved_bytes == 3 * 17 * (4 * 3 * 4 + 15 * 8) * 4 + 49 * 20 * 4);
}

TEST_CASE("no work-item of a direct convolution has more registers than a thread") {
  const Conv2dParams params = window(1, 1);
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernel.op != OpKind::Conv2d || kernel.processor != Processor::Gpu ||
        (kernel.algorithm != Algorithm::Direct && kernel.algorithm != Algorithm::Texels))
      continue;
    for (const int32_t registers : {64, 96, 128, 192, 255})
      for (const int32_t channels : {3, 4, 20, 64})
        for (const int32_t side : {1, 2, 3, 7, 14, 56}) {
          StepForTest step = conv2d(kernel.symbol, params, 16, channels, side, 3, side);
          std::vector<int32_t> tile(kMaxTileInts);
          tile.resize(choose_tile(step.shape(), {.thread_registers = registers}, tile.data()));
          step.tile = tile;
          INFO(kernel.symbol << ", " << registers << " registers, " << channels << " channels, "
                             << side);
          CHECK(work_of(step, gpu(8, 64)).item_registers <= registers);
        }
  }
}

TEST_CASE("work of pools, values and moves, by hand") {
  Pool2dParams pool = {};
  pool.kind = kPool2dMax;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 2;
  pool.dilation_h = pool.dilation_w = 1;
  const StepWork maximum =
      work_of({"pool2d_f32_cpu", &pool, {nhwc({1, 16, 8, 8}), nhwc({1, 16, 4, 4})}}, cpu(4, 1));
  CHECK(maximum.operations == 16 * 16 * 4);
  CHECK(maximum.transcendentals == 0);
  CHECK(maximum.read_bytes == 64 * 16 * 4);
  CHECK(maximum.moved_bytes == (16 * 16 * 4 + 16 * 16) * 4);

  // Each pixel has a work-item of 16 channels, which takes four taps one after the other.
  const StepWork on_gpu = work_of(
      {"pool2d_f32_cl_buffer", &pool, {nhwc({1, 16, 8, 8}), nhwc({1, 16, 4, 4})}}, gpu(8, 32));
  CHECK(on_gpu.waves == 1);
  CHECK(on_gpu.tile_calls == 4);

  UnaryParams sigmoid = {};
  sigmoid.kind = kUnarySigmoid;
  const StepWork values =
      work_of({"unary_f32_cpu", &sigmoid, {plain({100}), plain({100})}}, cpu(4, 4));
  // A sigmoid takes limits, a sign, the exponential's ten, a sum, a comparison and a choice; a
  // quotient.
  CHECK(values.operations == 1600);
  CHECK(values.transcendentals == 100);
  // It takes an estimate of the quotient and two instructions.
  const StepWork estimated =
      work_of({"unary_f32_cpu", &sigmoid, {plain({100}), plain({100})}}, cpu(16, 4));
  CHECK(estimated.operations == 1900);
  CHECK(estimated.transcendentals == 0);
  // It takes an exponential and a quotient.
  CHECK(work_of({"unary_f32_cl_buffer", &sigmoid, {plain({100}), plain({100})}}, gpu(8, 32))
            .transcendentals == 200);

  // 20 channels are a vector of 16 lanes and 4 single ones; there is a call for each and each of
  // two rows of taps. A maximum is three instructions.
  const StepWork narrow =
      work_of({"pool2d_f32_cpu", &pool, {nhwc({1, 20, 8, 8}), nhwc({1, 20, 4, 4})}}, cpu(16, 1));
  CHECK(narrow.operations == 16 * 32 * 4 * 3);
  CHECK(narrow.tile_calls == 16 * 2 * 2);
  CHECK(values.read_bytes == 400);
  CHECK(values.written_bytes == 400);
  CHECK(values.run_bytes == 400);
  CHECK(values.tasks == 1);

  // With 3 channels and a pad lane, pixels are copied one by one.
  ConvertParams convert = {};
  StepForTest copies = {"convert_f32_cpu", &convert, {nhwc({1, 3, 4, 4}), nhwc({1, 3, 4, 4})}};
  CHECK(work_of(copies, cpu(16, 1)).tile_calls == 16);
  CHECK(work_of(copies, cpu(16, 1)).gathers == 16);
  CHECK(work_of(copies, cpu(16, 1)).run_bytes == 12);
  // 64 of 192 bytes of a pixel: reading and writing touches 112 bytes of lines, if they begin
  // anywhere.
  copies = {"convert_f32_cpu", &convert, {nhwc({1, 48, 4, 4}), nhwc({1, 48, 4, 4})}};
  copies.part_dim = SplitDim::OutputChannel;
  copies.part = {0, 16};
  WorkMachine none = cpu(16, 1);
  none.l1_bytes = none.last_level_bytes = 0;
  CHECK(work_of(copies, none).beyond_l1_bytes == 16 * 112);
  CHECK(work_of(copies, none).beyond_last_bytes == 2 * 16 * 112);
  CHECK(work_of(copies, none).read_bytes == 16 * 64);

  // Runs of 19 elements leave 3 after the vectors, in two inputs and the output.
  BinaryParams add = {};
  add.kind = kBinaryAdd;
  const StepWork sums =
      work_of({"binary_f32_cpu", &add, {plain({8, 19}), plain({19}), plain({8, 19})}}, cpu(16, 1));
  CHECK(sums.tile_calls == 8);
  CHECK(sums.run_bytes == 19 * 4);
  CHECK(sums.gathers == 8 * 3);

  ConcatParams concat = {};
  concat.axis = 1;
  const StepWork joined = work_of(
      {"concat_f32_cpu", &concat, {nhwc({1, 8, 4, 4}), nhwc({1, 24, 4, 4}), nhwc({1, 32, 4, 4})}},
      cpu(4, 1));
  CHECK(joined.run_bytes == 8 * 4);
  CHECK(joined.tile_calls == 16 * 2);
  CHECK(joined.read_bytes == 16 * 32 * 4);
  CHECK(joined.operations == 0);

  // An activation adds its curve to a norm, and a pass over the cache, except for limits of
  // columns.
  const auto norm_of = [&](const OperandShape& x, int32_t activation) {
    const NormalizeParams norm = {.axes_mask = 12, .activation = activation};
    return work_of({"normalize_f32_cpu", &norm, {x, x}}, cpu(4, 1));
  };
  const auto added = [&](const OperandShape& x, int32_t activation, double StepWork::*count) {
    return norm_of(x, activation).*count - norm_of(x, kUnaryIdentity).*count;
  };
  const OperandShape columns = nhwc({1, 16, 4, 4});
  CHECK(added(columns, kUnaryRelu, &StepWork::operations) == 2 * 256);
  CHECK(added(columns, kUnaryRelu, &StepWork::moved_bytes) == 0);
  CHECK(added(columns, kUnaryHardSwish, &StepWork::operations) == 4 * 256);
  CHECK(added(columns, kUnaryHardSwish, &StepWork::moved_bytes) == 2 * 4 * 256);
  CHECK(added(plain({1, 16, 4, 4}), kUnaryRelu, &StepWork::operations) == 2 * 256);
  CHECK(added(plain({1, 16, 4, 4}), kUnaryRelu, &StepWork::moved_bytes) == 2 * 4 * 256);

  // Plain loops have one task, and a load and a store of every element.
  const OperandShape numbers = test::typed_operand(DType::I64, {10, 10});
  CastParams cast = {};
  cast.to = static_cast<int32_t>(DType::I64);
  const StepWork loops = work_of({"cast_any_cpu", &cast, {numbers, numbers}}, cpu(4, 4));
  CHECK(loops.tasks == 1);
  CHECK(loops.busiest_share == 1);
  CHECK(loops.gathers == 200);
  CHECK(loops.read_bytes == 800);
}

// ---- every kernel
// --------------------------------------------------------------------------------

const std::pair<const char*, double StepWork::*> kCounts[] = {
    {"macs", &StepWork::macs},
    {"needed_macs", &StepWork::needed_macs},
    {"operations", &StepWork::operations},
    {"transcendentals", &StepWork::transcendentals},
    {"read_bytes", &StepWork::read_bytes},
    {"written_bytes", &StepWork::written_bytes},
    {"weight_bytes", &StepWork::weight_bytes},
    {"moved_bytes", &StepWork::moved_bytes},
    {"beyond_l1_bytes", &StepWork::beyond_l1_bytes},
    {"beyond_l2_bytes", &StepWork::beyond_l2_bytes},
    {"beyond_last_bytes", &StepWork::beyond_last_bytes},
    {"run_bytes", &StepWork::run_bytes},
    {"gathers", &StepWork::gathers},
    {"tile_calls", &StepWork::tile_calls},
    {"phases", &StepWork::phases},
    {"tasks", &StepWork::tasks},
    {"busiest_share", &StepWork::busiest_share},
    {"launches", &StepWork::launches},
    {"work_items", &StepWork::work_items},
    {"work_groups", &StepWork::work_groups},
    {"waves", &StepWork::waves},
    {"item_registers", &StepWork::item_registers},
    {"address_registers", &StepWork::address_registers},
    {"group_local_bytes", &StepWork::group_local_bytes},
};
// mac_type is no count, and takes the room of one.
static_assert(sizeof(StepWork) == (std::size(kCounts) + 1) * sizeof(double));

WorkMachine machine_for(const KernelInfo& kernel, int32_t lanes, int32_t threads) {
  WorkMachine machine = kernel.processor == Processor::Cpu ? cpu(lanes, threads) : gpu(8, 32);
  machine.l1_bytes = 32 * 1024;
  machine.l2_bytes = 256 * 1024;
  machine.last_level_bytes = 2 * 1024 * 1024;
  return machine;
}

void each_step(const KernelInfo& kernel, const std::function<void(const StepShape&)>& visit) {
  for (const test::KernelCase& plain_case : test::cases_of(kernel.op)) {
    const test::KernelCase item = test::with_images(kernel, test::case_for(kernel, plain_case));
    StepShape step = step_of(kernel, item);
    StepNeeds needs;
    if (check_step(step, &needs) != nullptr) continue;
    INFO(kernel.symbol << " \"" << item.name << '"');
    visit(step);
  }
}

// Returns the fault in a step's counts; empty: none.
std::string fault_of(const StepWork& work, const StepNeeds& needs, int32_t threads) {
  for (const auto& [name, count] : kCounts)
    if (!std::isfinite(work.*count) || work.*count < 0) return name;
  if (work.written_bytes == 0 || work.moved_bytes == 0) return "no bytes";
  if (work.run_bytes == 0 || work.tile_calls == 0) return "no runs or calls";
  if (work.macs > 0 && work.needed_macs == 0) return "multiply-adds that nobody needs";
  if (work.launches > 0) {  // a GPU's
    if (work.launches != 1 || work.tasks != 0 || work.phases != 1) return "launches";
    const bool is_whole = work.waves >= work.work_groups && work.work_items >= work.work_groups;
    return is_whole && work.work_groups > 0 ? "" : "groups";
  }
  if (work.tasks != needs.task_count || work.phases != needs.phase_count) return "tasks";
  if (work.work_items + work.work_groups + work.waves > 0) return "work-items of a CPU";
  const double least = needs.task_count == 1 ? 1 : 1.0 / threads;
  return work.busiest_share >= least - 1e-9 && work.busiest_share <= 1 ? "" : "the busiest worker";
}

TEST_CASE("every kernel counts the work of its steps", "[long]") {
  for (const KernelInfo& kernel : kKernelInfos) {
    INFO(kernel.symbol);
    REQUIRE(kernels::work_of(kernel.op).work != nullptr);
    int steps = 0;
    each_step(kernel, [&](const StepShape& step) {
      ++steps;
      StepNeeds needs;
      check_step(step, &needs);
      for (const int32_t lanes : {4, 8, 16})
        for (const int32_t threads : {1, 3, 8}) {
          StepWork work;
          count_work(step, machine_for(kernel, lanes, threads), &work);
          if (const std::string fault = fault_of(work, needs, threads); !fault.empty())
            FAIL_CHECK(fault << ", lanes " << lanes << ", threads " << threads);
        }
    });
    CHECK(steps > 0);
  }
}

// Smaller caches never let less through.
TEST_CASE("what comes from beyond a cache rises as the cache shrinks", "[long]") {
  for (const KernelInfo& kernel : kKernelInfos)
    each_step(kernel, [&](const StepShape& step) {
      double l1 = -1;
      double l2 = -1;
      double last = -1;
      for (const double share : {64.0, 4.0, 1.0, 0.25, 0.0}) {
        WorkMachine machine = machine_for(kernel, 8, 4);
        machine.l1_bytes *= share;
        machine.l2_bytes *= share;
        machine.last_level_bytes *= share;
        StepWork work;
        count_work(step, machine, &work);
        if (work.beyond_l1_bytes < l1 || work.beyond_l2_bytes < l2 || work.beyond_last_bytes < last)
          FAIL_CHECK("less from beyond a smaller cache");
        l1 = work.beyond_l1_bytes;
        l2 = work.beyond_l2_bytes;
        last = work.beyond_last_bytes;
      }
    });
}

// Checks that parts of a whole step, along rows or channels, add up to it, and that more rows never
// take less. Scalar kernels have no tiles to fill up; with other kernels the cuts decide how much
// filling adds.
void check_parts(const KernelInfo& kernel, SplitDim dim) {
  const int32_t grain = dim == SplitDim::Height ? 1 : kChannelPanel;
  int steps = 0;
  each_step(kernel, [&](StepShape step) {
    const OperandShape& y = step.output();
    const Range all = dim == SplitDim::Height ? rows_of_part(SplitDim::None, {}, y)
                                              : channels_of_part(SplitDim::None, {}, y);
    if (step.part_dim != SplitDim::None || y.rank != 4 || all.count() <= grain) return;
    for (const int32_t lanes : {1, 16}) {
      const WorkMachine machine = machine_for(kernel, lanes, 1);
      step.part_dim = SplitDim::None;
      step.part = {};
      StepWork whole;
      count_work(step, machine, &whole);
      step.part_dim = dim;
      StepWork before;
      for (int32_t cut = all.begin + grain; cut < all.end; cut += grain) {
        StepWork parts[2];
        bool is_legal = true;
        for (int i = 0; i < 2; ++i) {
          step.part = i == 0 ? Range{all.begin, cut} : Range{cut, all.end};
          StepNeeds needs;
          is_legal = is_legal && check_step(step, &needs) == nullptr;
          if (is_legal) count_work(step, machine, &parts[i]);
        }
        if (!is_legal) continue;
        ++steps;
        INFO("cut at " << cut << ", lanes " << lanes);
        const auto sum = [&](double StepWork::*count) { return parts[0].*count + parts[1].*count; };
        CHECK(sum(&StepWork::needed_macs) == Approx(whole.needed_macs));
        CHECK(sum(&StepWork::written_bytes) == Approx(whole.written_bytes));
        CHECK(sum(&StepWork::transcendentals) == Approx(whole.transcendentals));
        // Filled-up tiles and the halo add to this.
        CHECK(sum(&StepWork::read_bytes) >= whole.read_bytes * (1 - 1e-9));
        if (lanes == 1) {
          CHECK(sum(&StepWork::macs) >= whole.macs * (1 - 1e-9));
          CHECK(sum(&StepWork::operations) >= whole.operations * (1 - 1e-9));
        }
        for (const auto count :
             {&StepWork::macs, &StepWork::needed_macs, &StepWork::operations,
              &StepWork::transcendentals, &StepWork::read_bytes, &StepWork::written_bytes})
          if (parts[0].*count < before.*count * (1 - 1e-9)) FAIL_CHECK("less for more rows");
        before = parts[0];
      }
    }
  });
  INFO(kernel.symbol);
  CHECK(steps > 0);
}

TEST_CASE("parts of rows add up to the whole, and more rows are no less work", "[long]") {
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.can_split(SplitDim::Height)) check_parts(kernel, SplitDim::Height);
}

TEST_CASE("parts of the channels of norms and pads add up to the whole") {
  for (const KernelInfo& kernel : kKernelInfos)
    if ((kernel.op == OpKind::Normalize || kernel.op == OpKind::Pad) &&
        kernel.can_split(SplitDim::OutputChannel))
      check_parts(kernel, SplitDim::OutputChannel);
}

}  // namespace
}  // namespace codl::kernels
