// What the GPU features of steps say; through the profiler's steps, which are easy to make.
#include "kernels/gpu_features.h"

#include <map>
#include <string>

#include "kernels/work_table.h"
#include "profiler/sample.h"
#include "test/profiler/row_of.h"
#include "test/support/catch.h"

namespace codl::profiler {
namespace {

constexpr kernels::LaneFacts kGpu = {1, {132, 0}};
constexpr kernels::LaneFacts kProcessor = {1, {2, 512}};

// Of the step in a line of a sample file.
std::map<std::string, double> features_of_line(const std::string& line,
                                               const kernels::LaneFacts& lane = kGpu) {
  const std::vector<Sample> samples = read_samples(line, "test");
  REQUIRE(samples.size() == 1);
  std::map<std::string, double> named;
  for (const auto& [name, value] : features_of(*samples[0].row, samples[0].item, lane))
    named[name] = value;
  return named;
}

std::string matmul_line(const char* symbol, int m, int k, int n) {
  const int panels = (n + 15) / 16;
  char line[300];
  std::snprintf(line, sizeof(line),
                "%s,%d,5,0,9,0,0 0 0,1 0 1086324736,1:0:0:0:%d:%dx%d 1:3:0:0:%d:%dx%d "
                "1:3:0:0:%d:%d 1:0:0:0:%d:%dx%d",
                symbol, row_of(symbol).revision, m * k * 4, m, k, panels * k * 64, k, n,
                panels * 64, n, m * n * 4, m, n);
  return line;
}

TEST_CASE("a tile counts under its own sides, by its groups and their steps") {
  // 16 x 16: one group of 4 steps of 128, as 512 rows of B are.
  const auto features = features_of_line(matmul_line("matmul_f32_cl_tiled", 16, 512, 16));
  CHECK(features.at("tiles_chain") == Approx(4e-3));
  CHECK(features.at("tile16x16_unit") == Approx(1));
  CHECK(features.at("tile16x16_mmacs") == Approx(16 * 16 * 512 * 1e-6));
  CHECK(features.count("tile32x32_unit") == 0);
}

TEST_CASE("a product of one row is a case of its own") {
  // 256 items for the 16 lanes of a panel in fours: 64 of them for 1024 of depth.
  CHECK(features_of_line(matmul_line("matmul_f32_cl_gemv", 1, 1024, 64)).at("single_row_chain") ==
        Approx(16e-3));
  CHECK(features_of_line(matmul_line("matmul_f32_cl_gemv", 3, 1024, 64)).at("usual_chain") ==
        Approx(16e-3));
}

TEST_CASE("waves are as many as groups fill the units that often") {
  // 4096 panels of one row: 32 groups a unit.
  const auto features = features_of_line(matmul_line("matmul_f32_cl_gemv", 1, 64, 65536));
  CHECK(features.at("unit_groups") == Approx(32));
  CHECK(features.at("single_row_wave4") == Approx(8e-3));
  CHECK(features.at("single_row_wave32") == Approx(1e-3));
}

TEST_CASE("taps outside the map are not counted") {
  // 5x5 on a row at the border of a map of 7 x 7: three rows; 29 of 35 columns.
  const std::string line = "depthwise_conv2d_f32_cl_buffer," +
                           std::to_string(row_of("depthwise_conv2d_f32_cl_buffer").revision) +
                           ",5,0,9,0,1 0 1,1 1 1 1 2 2 2 2 0 1 0 1086324736,1:1:0:7:3136:1x16x7x7 "
                           "1:3:0:0:1600:16x1x5x5 1:3:0:0:64:16 1:1:0:7:3136:1x16x7x7";
  CHECK(features_of_line(line).at("usual_chain") == Approx(3 * 29.0 / 7 * 1e-3));
}

// 3x3, 32 to 96 channels, on a map of 14 x 14.
std::string winograd_line(const char* symbol, int positions) {
  char line[300];
  std::snprintf(line, sizeof(line),
                "%s,%d,5,0,9,0,0 0 0,1 1 1 1 1 1 1 1 1 0 1 0 1086324736,1:1:0:14:25088:1x32x14x14 "
                "1:3:0:0:%d:96x32x3x3 1:3:0:0:384:96 1:1:0:14:75264:1x96x14x14",
                symbol, row_of(symbol).revision, positions * 32 * 96 * 4);
  return line;
}

TEST_CASE("Winograd's rows count what their work-items and groups compute") {
  // 7 x 7 tiles and 96 channels: two blocks of 32 by three, fewer than half the units: seven of 8
  // by three.
  const auto groups = features_of_line(winograd_line("conv2d_winograd2_f32_cl_tiled", 16));
  CHECK(groups.at("group8x32_chain") == Approx(2e-3));
  CHECK(groups.at("group8x32_unit") == Approx(1));
  CHECK(groups.at("group8x32_mmacs") == Approx(16 * 8 * 32 * 32 * 1e-6));
  // 16 tiles of 4 x 4 outputs: four and one panel for each of 24 work-items, 16 channels at once.
  const auto items = features_of_line(winograd_line("conv2d_winograd4_f32_cl_buffer", 36));
  CHECK(items.at("unit_groups") == Approx(1));
  CHECK(items.at("single_mmacs") == Approx(4 * 36 * 16 * 32 * 1e-6));
  CHECK(items.at("transformed_melements") == Approx(4 * 36 * 32 * 1e-6));
  CHECK(items.at("sums_melements") == Approx(2 * 4 * 36 * 16 * 1e-6));
  CHECK(items.at("read_weight_mbytes") == Approx(4 * 36 * 32 * 96 * 4e-6));
}

// 5x5 on a row at the border of a map of 7 x 7.
std::string depthwise_line(int channels) {
  char line[300];
  std::snprintf(line, sizeof(line),
                "depthwise_conv2d_f32_cl_buffer,%d,5,0,9,0,1 0 1,1 1 1 1 2 2 2 2 0 1 0 1086324736,"
                "1:1:0:7:%d:1x%dx7x7 1:3:0:0:%d:%dx1x5x5 1:3:0:0:%d:%d 1:1:0:7:%d:1x%dx7x7",
                row_of("depthwise_conv2d_f32_cl_buffer").revision, channels * 196, channels,
                (channels + 15) / 16 * 1600, channels, (channels + 15) / 16 * 64, channels,
                channels * 196, channels);
  return line;
}

TEST_CASE("on a processor, taps count by how their vectors are loaded") {
  // Three rows of 29 taps: of a whole vector, whose every second lies in two lines, and of 8 lanes.
  const auto features = features_of_line(depthwise_line(24), kProcessor);
  CHECK(features.at("ragged_ktaps") == Approx(87e-3));
  CHECK(features.at("piece_ktaps") == Approx(87e-3));
  CHECK(features.at("split_ktaps") == Approx(87e-3 / 2));
  CHECK(features.at("weight_krows") == Approx(2 * 15e-3));
  CHECK(features.at("kitems") == Approx(2e-3));
  CHECK(features.count("apart_kpixels") == 0);
  // Pixels 256 bytes apart: half of the lines are not one of a pair.
  CHECK(features_of_line(depthwise_line(64), kProcessor).at("apart_kpixels") ==
        Approx(7 * 4e-3 / 2));
}

TEST_CASE("on a processor, the unit that has most groups counts") {
  // Three panels of a row: two for one unit, with their weights.
  const auto features =
      features_of_line(matmul_line("matmul_f32_cl_buffer", 1, 64, 48), kProcessor);
  CHECK(features.at("shares") == 1);
  CHECK(features.at("begins") == 1);  // one has two panels at once, the other what is left
  CHECK(features.at("single_kgroups") == Approx(2e-3));
  CHECK(features.at("single_weight_mbytes") == Approx(65 * 48 * 4e-6 * 2 / 3));
  // Two panels and two blocks of rows: each unit reads all weights.
  CHECK(features_of_line(matmul_line("matmul_f32_cl_buffer", 8, 64, 32), kProcessor)
            .at("weight_mbytes") == Approx(65 * 32 * 4e-6));
}

TEST_CASE("on a processor, weights count that work-items read again and do not find") {
  // Two panels a unit, 16 lines of each page apart for an item: twice what a place holds.
  const auto features =
      features_of_line(matmul_line("matmul_f32_cl_gemv", 1, 1024, 64), kProcessor);
  CHECK(features.at("lines_over_8_kdepths") == Approx(2 * 1.024));
  CHECK(features.count("lost_kdepths") == 0);
  CHECK(features_of_line(matmul_line("matmul_f32_cl_gemv", 1, 512, 64), kProcessor)
            .count("lines_over_8_kdepths") == 0);
}

TEST_CASE("on a processor, exponentials count by the vector and one by one") {
  // Runs of 530 for 64 items, 32 of each unit: 18 items have 9 elements, the others 8.
  const std::string line = "softmax_f32_cl_buffer," +
                           std::to_string(row_of("softmax_f32_cl_buffer").revision) +
                           ",5,0,9,0,0 0 0,1 0,1:0:0:0:135680:64x530 1:0:0:0:135680:64x530";
  const auto features = features_of_line(line, {1, {2, 128}});
  CHECK(features.at("shared_kvectors") == Approx(32 * 64e-3));
  CHECK(features.at("shared_rest_kelements") == Approx(32 * 18e-3));
  // With AVX-512, too.
  CHECK(features_of_line(line, kProcessor).at("shared_kvectors") == Approx(32 * 64e-3));
}

TEST_CASE("on a processor, weights of a gemv count by the loop that takes them") {
  // 513 depths for 64 quads of items: nine steps of the first, of which one is left, and
  // eight of the others. Two groups a unit.
  const auto features = features_of_line(matmul_line("matmul_f32_cl_gemv", 1, 513, 64), kProcessor);
  CHECK(features.at("single_ktrips") == Approx(2 * 64e-3));
  CHECK(features.at("single_rest_kdepths") == Approx(2 * 1e-3));
  CHECK(features.count("single_again_kitems") == 0);
  CHECK(features_of_line(matmul_line("matmul_f32_cl_gemv", 1, 128, 64), kProcessor)
            .at("single_again_kitems") == Approx(2 * 64e-3));
}

}  // namespace
}  // namespace codl::profiler
