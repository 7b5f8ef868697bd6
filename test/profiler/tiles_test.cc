#include "profiler/fit/tiles.h"

#include "compiler/device/device_profile.h"
#include "kernels/common/work/gemm_tile_choice.h"
#include "kernels/work_table.h"
#include "profiler/fit/profile_json.h"
#include "profiler/measure/find_tile.h"
#include "test/profiler/kernel_of.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "tools/json_writer.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

// Returns a line, a grid, a table, and a kernel for which the default is best.
std::vector<FoundTile> some_tiles() {
  FoundTile table = {.kernel = &kernel_of("matmul_f32_cl_tiled"), .gain_percent = 7.25};
  table.table.kernel_id = table.kernel->id;
  table.table.count = 2;
  table.table.tiles[0] = {{64, 64, 32, 8, 4, 2}, 13.25, 812.5, 3};
  table.table.tiles[1] = {{16, 32, 64, 4, 4, 8}, 6.5, 0.25, 1};
  return {{.kernel = &kernel_of("unary_f32_cl_buffer"), .local = {128, 1, 1}, .gain_percent = 11},
          {.kernel = &kernel_of("conv2d_f32_cl_image"), .local = {8, 8, 4}, .gain_percent = 23},
          {.kernel = &kernel_of("pad_f32_cl_buffer")},
          table};
}

std::string text_of(const std::vector<FoundTile>& tiles) {
  std::string text = "#probe,1,2\n";
  for (const FoundTile& tile : tiles) text += to_line(tile) + "\n";
  return text;
}

std::string tile_error_of(const std::string& text) {
  try {
    read_found_tiles(text, "x.csv");
  } catch (const tools::ToolError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("tiles come back from their lines, and samples do not see them") {
  const std::vector<FoundTile> tiles = some_tiles();
  const std::string text = text_of(tiles);
  const std::vector<FoundTile> read = read_found_tiles(text, "x.csv");
  REQUIRE(read.size() == tiles.size());
  CHECK(text_of(read) == text);
  CHECK(read_samples(text, "x.csv").empty());
  // The last line of a kernel counts.
  const std::vector<FoundTile> again =
      read_found_tiles(text + "#tile,unary_f32_cl_buffer,1,5,local,64 1 1\n", "x.csv");
  REQUIRE(again.size() == tiles.size());
  CHECK(again.back().local == std::vector<int32_t>{64, 1, 1});
}

TEST_CASE("a line of a tile that is cut or touched is refused, or its kernel left out") {
  for (const FoundTile& tile : some_tiles()) {
    const std::string line = to_line(tile);
    for (size_t length = 6; length < line.size(); ++length) {
      const std::string text = "#probe,1,2\n" + line.substr(0, length);
      const std::string error = tile_error_of(text);
      if (!error.empty())
        CHECK(error.find("x.csv: line 2: expected a tile") == 0);
      else
        for (const FoundTile& read : read_found_tiles(text, "x.csv"))
          CHECK(line.starts_with(to_line(read).substr(0, 8)));
    }
  }
  for (const char* line :
       {"#tile,unary_f32_cl_buffer,1,5,local,64 1", "#tile,unary_f32_cl_buffer,1,5,local,64 1 0",
        "#tile,unary_f32_cl_buffer,1,5,local,64 -1 1",
        "#tile,unary_f32_cl_buffer,1,5,local,64 32 1",
        "#tile,unary_f32_cl_buffer,1,5,local,64 1 1 1",
        "#tile,unary_f32_cl_buffer,1,5,local,99999999999 1 1",
        "#tile,unary_f32_cl_buffer,1,-5,local,64 1 1", "#tile,unary_f32_cl_buffer,1,5,square,8",
        "#tile,matmul_f32_cl_tiled,1,5,local,64 1 1",
        "#tile,unary_f32_cl_buffer,1,5,gemm,64 64 32 8 4 2 13 812 3",
        "#tile,matmul_f32_cl_tiled,1,5,gemm", "#tile,matmul_f32_cl_tiled,1,5,gemm,64 64 32 8 4 2",
        "#tile,matmul_f32_cl_tiled,1,5,gemm,64 64 32 8 4 3 13 812 3",
        "#tile,matmul_f32_cl_tiled,1,5,gemm,64 64 32 8 4 2 nan 812 3",
        "#tile,matmul_f32_cl_tiled,1,5,gemm,64 64 32 8 4 2 0 812 3",
        "#tile,matmul_f32_cl_tiled,1,5,gemm,64 64 32 8 4 2 13 1e300 3"}) {
    INFO(line);
    CHECK(tile_error_of(line).find("x.csv: line 1: expected a tile, found ") == 0);
  }
  CHECK(read_found_tiles("#tile,unary_f99_cl_buffer,1,5,local,64 1 1", "x.csv").empty());
  CHECK(read_found_tiles("#tile,unary_f32_cl_buffer,99,5,local,64 1 1", "x.csv").empty());
}

TEST_CASE("codlc chooses the tiles that codl-profile writes") {
  DeviceFacts facts;
  facts.name = "box";
  facts.has_gpu = true;
  facts.sharing = "separate";
  facts.image_max_width = facts.image_max_height = 4096;
  set_transfer({{"enqueue", 0, 3}, {"turn_call", 0, 5}, {"turn", 0, 25}}, &facts);
  facts.tiles = read_found_tiles(text_of(some_tiles()), "x.csv");
  for (const auto& field : compiler::kCpuMachineFields)
    facts.machine.set(field.value, 8, Origin::Measured);
  for (const auto& field : compiler::kGpuMachineFields)
    facts.machine.set(field.value, 8, Origin::Measured);
  // This limits some_tiles().
  facts.machine.set(&compiler::GpuMachine::local_kb, 34, Origin::Measured);
  facts.machine.set(&compiler::GpuMachine::thread_registers, 255, Origin::Published);
  const kernels::GpuFacts gpu = facts.processor_facts().gpu;
  const compiler::DeviceProfile profile = test::value_of(
      compiler::parse_device_profile(tools::pretty_json(profile_json(facts, {}), 2), "box.json"));
  CHECK(profile.tiles.size() == 3);
  std::mt19937_64 random(3);
  for (const KernelInfo& kernel : kKernelInfos) {
    if (kernel.processor != Processor::Gpu) continue;
    for (int i = 0; i < 5; ++i) {
      const std::optional<StepCase> item = draw_step(kernel, {}, random);
      if (!item) break;
      int32_t own[kernels::kMaxTileInts] = {};
      int32_t read[kernels::kMaxTileInts] = {};
      INFO(kernel.symbol);
      CHECK(choose_tile(step_of(kernel, *item), gpu, own) ==
            choose_tile(step_of(kernel, *item), profile.gpu_facts, read));
      CHECK(std::equal(std::begin(own), std::end(own), std::begin(read)));
    }
  }
  facts.tiles = {{.kernel = &kernel_of("pad_f32_cl_buffer")}};
  CHECK(profile_json(facts, {}).find("tiles") == std::string::npos);
}

// ---- the search ---------------------------------------------------------------------------------

// A GPU on which large tiles are expected to be fast.
kernels::GpuFacts some_gpu() {
  kernels::GpuFacts gpu;
  gpu.units = 2;
  gpu.unit_macs_per_ns = 250;
  gpu.unit_registers = 65536;
  gpu.unit_local_bytes = 228 << 10;
  gpu.latency_ns = 600;
  return gpu;
}

// Searches on a GPU for which the test says how long a step takes with a tile.
TileSearch search_with(std::function<double(const Tile& tile, size_t call)> time_us) {
  TileSearch search;
  search.times_us = [=, call = size_t{0}](const KernelInfo&, const StepCase&,
                                          const std::vector<Tile>& tiles) mutable {
    std::vector<double> us;
    for (const Tile& tile : tiles) us.push_back(time_us(tile, call));
    ++call;
    return us;
  };
  search.is_over = [] { return false; };
  search.gpu = some_gpu();
  return search;
}

FoundTile tile_found(const char* symbol, const TileSearch& search) {
  std::mt19937_64 random(1);
  const std::optional<TileResult> result = find_tile(kernel_of(symbol), search, random);
  REQUIRE(result.has_value());
  return result->tile;
}

TEST_CASE("a local size that is faster on all steps is found, of a line and of a grid") {
  const auto favour = [](const Tile& best) {
    return search_with([=](const Tile& tile, size_t) { return tile == best ? 80.0 : 100.0; });
  };
  const FoundTile line = tile_found("unary_f32_cl_buffer", favour({128, 1, 1}));
  CHECK(line.local == std::vector<int32_t>{128, 1, 1});
  CHECK(line.gain_percent == Approx(25));
  CHECK(tile_found("conv2d_f32_cl_quad", favour({8, 8, 4})).local == std::vector<int32_t>{8, 8, 4});
  // On a processor, the local size of the buffer kernel is part of a tile.
  TileSearch processor =
      search_with([](const Tile& tile, size_t) { return tile[0] == 64 ? 80.0 : 100.0; });
  processor.is_processor = true;
  processor.gpu.is_processor = true;
  processor.gpu.registers = 512;
  CHECK(tile_found("conv2d_f32_cl_buffer", processor).local == std::vector<int32_t>{64, 1, 1});
}

TEST_CASE("what is hardly faster, only by chance or not at all leaves the default") {
  CHECK(tile_found("unary_f32_cl_buffer", search_with([](const Tile& tile, size_t) {
                     return tile == Tile{128, 1, 1} ? 97.0 : 100.0;
                   }))
            .is_default());
  // The tile is faster only on the steps that it is chosen by.
  CHECK(tile_found("unary_f32_cl_buffer", search_with([](const Tile& tile, size_t call) {
                     return tile == Tile{128, 1, 1} && call < 4 ? 70.0 : 100.0;
                   }))
            .is_default());
  // Medians lie anywhere between 100 and 120 us; among a hundred searches, one chooses something.
  std::mt19937_64 noise(7);
  size_t chosen = 0;
  for (int i = 0; i < 100; ++i)
    if (!tile_found("unary_f32_cl_buffer", search_with([&](const Tile&, size_t) {
                      return 100.0 + 20.0 * static_cast<double>(noise() >> 11) * 0x1p-53;
                    }))
             .is_default())
      ++chosen;
  CHECK(chosen <= 3);
}

TEST_CASE("a local size that the device refuses for one step is not chosen") {
  const TileSearch search = search_with([](const Tile& tile, size_t call) {
    if (tile == Tile{256, 1, 1}) return call == 2 ? 0.0 : 10.0;
    return tile == Tile{64, 1, 1} ? 80.0 : 100.0;
  });
  CHECK(tile_found("unary_f32_cl_buffer", search).local == std::vector<int32_t>{64, 1, 1});
}

TEST_CASE("groups larger than the device has are not tried") {
  TileSearch search = search_with([](const Tile& tile, size_t) {
    return tile.empty() ? 1000.0 : 1000.0 / (tile[0] * tile[1] * tile[2]);
  });
  search.most_items = 64;
  CHECK(tile_found("unary_f32_cl_buffer", search).local == std::vector<int32_t>{64, 1, 1});
}

TEST_CASE(
    "rates of its own where small tiles are fast, and the default where they are as built in") {
  // On this GPU groups of few work-items never wait, and large tiles spill.
  const FoundTile found =
      tile_found("matmul_f32_cl_tiled", search_with([](const Tile& tile, size_t) {
                   return tile[0] * tile[1] > 32 * 32 ? 400.0 : 100.0;
                 }));
  REQUIRE_FALSE(found.is_default());
  kernels::GpuFacts gpu = some_gpu();
  CHECK(found.table.count == kernels::timed_gemm_tiles(gpu).count);
  REQUIRE(gpu.tiles.set_table(found.table));
  const kernels::GemmTile tile =
      fastest_gemm_tile(kernel_of("matmul_f32_cl_tiled"), {512, 512, 512}, gpu);
  CHECK(tile.m * tile.n <= 32 * 32);
  CHECK(tile_found("matmul_f32_cl_tiled", search_with([](const Tile&, size_t) { return 100.0; }))
            .is_default());
}

TEST_CASE("when the time is over nothing is found, and rows of their own have nothing to try") {
  TileSearch search = search_with([](const Tile&, size_t) { return 100.0; });
  search.is_over = [] { return true; };
  std::mt19937_64 random(1);
  CHECK_FALSE(find_tile(kernel_of("unary_f32_cl_buffer"), search, random).has_value());
  CHECK_FALSE(find_tile(kernel_of("conv2d_f32_cl_tiled"), search, random).has_value());
  CHECK_FALSE(has_tiles_to_try(kernel_of("conv2d_winograd2_f32_cl_tiled"), search));
  CHECK_FALSE(has_tiles_to_try(kernel_of("normalize_f32_cl_buffer"), search));
  CHECK_FALSE(has_tiles_to_try(kernel_of("conv2d_f32_cpu"), search));
  search.is_processor = true;
  CHECK_FALSE(has_tiles_to_try(kernel_of("conv2d_f32_cl_tiled"), search));
}

}  // namespace
}  // namespace codl::profiler
