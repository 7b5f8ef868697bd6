#include "compiler/device/device_profile.h"

#include <algorithm>

#include "kernels/common/work_counts.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

using test::value_of;

constexpr const char* kProfile = R"({
  "format_version": 2,
  "name": "box",
  "description": "a box",
  "kernel_library": "codl",
  "cpu": {
    "name": "cores", "threads": 2, "vector_lanes": 8,
    "disturbance_percent": {"value": 2, "origin": "assumed", "source": "s"}
  },
  "gpu": {
    "name": "gpu", "layout": "image", "sharing": "sub_buffer", "gate": "user_event",
    "image_max_width": {"value": 4096, "origin": "published", "source": "s"},
    "image_max_height": {"value": 8192, "origin": "published", "source": "s"}
  },
  "exchange": {
    "sync_us": {"value": 1.5, "origin": "measured", "source": "s"},
    "map_us": {"value": 2, "origin": "fitted", "source": "s"},
    "map_us_per_mb": {"value": 3, "origin": "assumed", "source": "s"},
    "copy_us_per_mb": {"value": 4, "origin": "assumed", "source": "s"},
    "cpu_contention_percent": {"value": 5, "origin": "assumed", "source": "s"},
    "gpu_contention_percent": {"value": 6, "origin": "assumed", "source": "s"}
  },
  "models": {
    "conv2d_f32_cl_image": {"mmacs_1x1": {"value": 12.9, "origin": "fitted", "source": "s"}},
    "conv2d_f32_cpu": {
      "mmacs_1x1": {"value": 22, "origin": "assumed", "source": "s"},
      "steps": {"value": 0, "origin": "assumed", "source": "s"}
    }
  },
  "sources": {"s": "a table"}
})";

// kProfile with one text in place of another.
std::string changed(llvm::StringRef from, llvm::StringRef to) {
  std::string text = kProfile;
  const size_t at = text.find(from.str());
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to.str());
}

std::string error_of(const std::string& text) {
  return test::error_of(parse_device_profile(text, "box.json"));
}

TEST_CASE("a profile is read whole") {
  const DeviceProfile profile = value_of(parse_device_profile(kProfile, "box.json"));
  CHECK(profile.name == "box");
  CHECK(profile.kernel_library == "codl");
  CHECK(profile.cpu_threads == 2);
  CHECK(profile.cpu_vector_lanes == 8);
  CHECK(profile.disturbance_percent[0].value == 2);
  CHECK(profile.disturbance_percent[1].value == 0);
  CHECK(profile.has_gpu);
  CHECK(profile.gpu_layout == Layout::Image2d);
  CHECK(profile.sharing == Sharing::SubBuffer);
  CHECK(profile.gate == Gate::UserEvent);
  CHECK(profile.image_max_width == 4096);
  CHECK(profile.image_max_height == 8192);
  CHECK(profile.exchange.sync_us.value == 1.5);
  CHECK(profile.exchange.sync_us.origin == Origin::Measured);
  CHECK(profile.exchange.map_us.origin == Origin::Fitted);
  CHECK(profile.exchange.contention_percent[0].value == 5);
  CHECK(profile.exchange.contention_percent[1].source == "a table");
  REQUIRE(profile.models.size() == 2);
  CHECK(profile.models[0].kernel_id == 1);  // by kernel id, not in the file's order
  REQUIRE(profile.model_of(3) != nullptr);
  CHECK(profile.model_of(3)->terms[0].feature == "mmacs_1x1");
  CHECK(profile.model_of(3)->terms[0].coefficient.value == 12.9);
  CHECK(profile.model_of(2) == nullptr);
}

TEST_CASE("workers are as fast as each other, or as the profile says") {
  CHECK(value_of(parse_device_profile(kProfile, "box.json")).worker_speeds().empty());
  const auto with = [](const std::string& values) {
    return changed("\"threads\": 2,", "\"threads\": 2, \"worker_speeds\": {\"values\": " + values +
                                          ", \"origin\": \"published\", \"source\": \"s\"},");
  };
  const DeviceProfile profile = value_of(parse_device_profile(with("[1, 0.85214]"), "box.json"));
  CHECK(profile.cpu_worker_speeds == std::vector<double>{1, 0.85214});
  CHECK(profile.worker_speeds() == std::vector<uint16_t>{10000, 8521});
  CHECK(describe(profile).find("cpu worker speeds        1.0000 0.8521\n") != std::string::npos);
  const std::string where = "box.json: /cpu/worker_speeds/values";
  CHECK(error_of(with("[1]")) ==
        where + ": expected as many numbers as cpu.threads, found an array");
  CHECK(error_of(with("[0.5, 1]")) ==
        where + ": expected 1 of the first worker, the fastest, found an array");
  CHECK(error_of(with("[1, 0]")) == where + "/1: expected a number from 0.0001 to 1, found 0");
  CHECK(error_of(with("[1, 1.5]")) == where + "/1: expected a number from 0.0001 to 1, found 1.5");
  CHECK(error_of(with("[1, 1], \"speed\": 1")).find("/cpu/worker_speeds: ") != std::string::npos);
}

// Where one of the chip's fast cores is faster than the others, the last of equal shares would take
// 1 / 0.8521 of the first's time.
TEST_CASE("sd855's steps are counted by the speeds of its workers") {
  const DeviceProfile profile = value_of(load_device_profile("sd855"));
  const std::vector<uint16_t> speeds = profile.worker_speeds();
  REQUIRE(speeds == std::vector<uint16_t>{10000, 8521, 8521, 8521});
  kernels::WorkMachine machine;
  machine.threads = profile.cpu_threads;
  kernels::StepWork alike;
  kernels::fill_tasks(3200, 3200, machine, &alike);
  CHECK(alike.busiest_share == 0.25);
  machine.worker_speeds = speeds.data();
  kernels::StepWork work;
  kernels::fill_tasks(3200, 3200, machine, &work);
  CHECK(work.busiest_share == Approx(1 / (1 + 3 * 0.8521)).epsilon(2e-3));
}

TEST_CASE("the hash is of the bytes: a space changes it") {
  CHECK(value_of(parse_device_profile(kProfile, "box.json")).hash !=
        value_of(parse_device_profile(std::string(kProfile) + " ", "box.json")).hash);
}

TEST_CASE("a profile without a GPU has no exchange and no GPU kernels") {
  constexpr const char* kCpuOnly =
      R"({"format_version": 2, "name": "c", "description": "", "kernel_library": "codl",
    "cpu": {"name": "cores", "threads": 1}, "sources": {"s": "t"},
    "models": {"MODEL": {"steps": {"value": 1, "origin": "assumed", "source": "s"}}}})";
  const auto with_model = [&](llvm::StringRef symbol) {
    std::string text = kCpuOnly;
    return text.replace(text.find("MODEL"), 5, symbol.str());
  };
  const DeviceProfile profile =
      value_of(parse_device_profile(with_model("unary_f32_cpu"), "c.json"));
  CHECK_FALSE(profile.has_gpu);
  CHECK(error_of(with_model("unary_f32_cl_buffer")) ==
        "box.json: /models/unary_f32_cl_buffer: expected kernels of the CPU only, as the profile "
        "has no \"gpu\", found an object");
}

TEST_CASE("any_cpu and any_gpu are for the kernels without a model") {
  const auto id_of = [](std::string_view symbol) {
    return std::find_if(std::begin(kKernelRows), std::end(kKernelRows),
                        [&](const KernelRow& row) { return row.symbol == symbol; })
        ->id;
  };
  const DeviceProfile without = value_of(parse_device_profile(kProfile, "box.json"));
  CHECK(without.model_of(id_of("pad_any_cpu")) == nullptr);
  const std::string text =
      changed("\"models\": {",
              "\"models\": {\"any_cpu\": {\"mbytes\": {\"value\": 7, \"origin\": \"assumed\", "
              "\"source\": \"s\"}},");
  const DeviceProfile with = value_of(parse_device_profile(text, "box.json"));
  REQUIRE(with.model_of(id_of("pad_any_cpu")) != nullptr);
  CHECK(with.model_of(id_of("pad_any_cpu"))->terms[0].coefficient.value == 7.0);
  CHECK(with.model_of(id_of("conv2d_f32_cpu"))->terms[0].coefficient.value == 22.0);
  CHECK(with.model_of(id_of("slice_f32_cl_buffer")) == nullptr);
}

TEST_CASE("what sessions hold there: rows of images, and whether weights are copied") {
  const DeviceProfile known = value_of(parse_device_profile(
      changed("\"image_max_width\"",
              "\"image_row_texels\": {\"value\": 64, \"origin\": \"measured\", \"source\": \"s\"}, "
              "\"weights\": \"copied\", \"image_max_width\""),
      "box.json"));
  CHECK(known.image_row_texels == 64);
  CHECK(known.copies_weights);
  const DeviceProfile unknown =
      value_of(parse_device_profile(changed("\"sub_buffer\"", "\"fine_svm\""), "box.json"));
  CHECK(unknown.image_row_texels == 1);
  CHECK_FALSE(unknown.copies_weights);
}

TEST_CASE("every rule of the format has its error, with the place") {
  CHECK(error_of(changed("\"image_max_width\"", "\"weights\": \"gone\", \"image_max_width\"")) ==
        "box.json: /gpu/weights: expected \"in_place\" or \"copied\", found \"gone\"");
  CHECK(
      error_of(changed("\"sub_buffer\"", "\"separate\"")) ==
      "box.json: /gpu/gate: expected \"host_enqueue\" with separate sharing, found \"user_event\"");
  CHECK(error_of(changed("\"sub_buffer\"", "\"foo\"")) ==
        "box.json: /gpu/sharing: expected \"fine_svm\", \"sub_buffer\" or \"separate\", found "
        "\"foo\"");
  CHECK(error_of(changed("\"image\"", "\"texture\"")) ==
        "box.json: /gpu/layout: expected \"buffer\" or \"image\", found \"texture\"");
  CHECK(error_of(changed("\"user_event\"", "1")) ==
        "box.json: /gpu/gate: expected \"host_enqueue\" or \"user_event\", found 1");
  CHECK(error_of(changed("\"threads\": 2", "\"threads\": 0")) ==
        "box.json: /cpu/threads: expected a whole number from 1 to 64, found 0");
  CHECK(error_of(changed("4096", "4096.5")) ==
        "box.json: /gpu/image_max_width/value: expected a whole number from 1 to 16777216, found "
        "4096.5");
  CHECK(error_of(changed("\"name\": \"box\"", "\"name\": \"a/b\"")) ==
        "box.json: /name: expected a name of the characters A-Z, a-z, 0-9, '_', '-', '.', found "
        "\"a/b\"");
  CHECK(error_of(changed("1.5", "-1.5")) ==
        "box.json: /exchange/sync_us/value: expected a number from 0 to 10^12, found -1.5");
  CHECK(error_of(changed("\"measured\"", "\"guessed\"")) ==
        "box.json: /exchange/sync_us/origin: expected \"measured\", \"fitted\", \"published\" or "
        "\"assumed\", found \"guessed\"");
  CHECK(error_of(changed("\"origin\": \"measured\", ", "")) ==
        "box.json: /exchange/sync_us: expected the key \"origin\", found none");
  CHECK(error_of(changed("\"measured\", \"source\": \"s\"", "\"measured\", \"source\": \"t\"")) ==
        "box.json: /exchange/sync_us/source: expected a key of /sources, found \"t\"");
  CHECK(error_of(changed("\"conv2d_f32_cpu\"", "\"conv2d_f32\"")) ==
        "box.json: /models/conv2d_f32: expected the key to be the symbol of a kernel (codlc "
        "--list-ops), found an object");
  CHECK(error_of(changed("{\"mmacs_1x1\": {\"value\": 12.9, \"origin\": \"fitted\", \"source\": "
                         "\"s\"}}",
                         "{}")) ==
        "box.json: /models/conv2d_f32_cl_image: expected one term or more, found an object");
  CHECK(error_of(changed("\"threads\": 2", "\"threads\": 2, \"core\": 1")) ==
        "box.json: /cpu: expected a key of \"name\", \"threads\", \"vector_lanes\", "
        "\"worker_speeds\", \"disturbance_percent\", \"warm_weight_mbytes\", \"probe_us\" or "
        "\"facts\", found \"core\"");
}

// A model as codl-profile writes it.
std::string with_fitted_model() {
  return changed(
      "\"conv2d_f32_cl_image\": {\"mmacs_1x1\": {\"value\": 12.9, \"origin\": \"fitted\", "
      "\"source\": \"s\"}}",
      R"("conv2d_f32_cl_image": {"kind": "analytic", "origin": "fitted", "source": "s",
         "terms": {"mmacs_1x1": 12.9, "kitems": 0.5}, "floor_us": 4.5,
         "fit": {"revision": 1, "samples": 20, "median_error_percent": 3, "within_10_percent": 90,
                 "interval_low": 0.9, "interval_high": 1.1}})");
}

TEST_CASE("a fitted model has one origin for all its terms, and an interval") {
  const DeviceProfile profile = value_of(parse_device_profile(with_fitted_model(), "box.json"));
  const LatencyModel* model = profile.model_of(3);
  REQUIRE(model != nullptr);
  CHECK(model->is_fitted);
  CHECK(model->revision == 1);
  CHECK(model->floor_us == 4.5);
  CHECK(model->interval_low == 0.9);
  CHECK(model->interval_high == 1.1);
  REQUIRE(model->terms.size() == 2);
  CHECK(model->terms[1].coefficient.value == 0.5);
  CHECK(model->terms[1].coefficient.origin == Origin::Fitted);
  CHECK(model->terms[1].coefficient.source == "a table");
}

TEST_CASE("a damaged profile is refused with the place and the reason") {
  const std::string whole = with_fitted_model();
  for (size_t length = 0; length < whole.size(); length += 3)
    CHECK_FALSE(error_of(whole.substr(0, length)).empty());
  const auto error_with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    return error_of(text.replace(text.find(from), from.size(), to));
  };
  CHECK(error_with("12.9", "-12.9") ==
        "box.json: /models/conv2d_f32_cl_image/terms/mmacs_1x1: expected a number from 0 to 10^12, "
        "found -12.9");
  CHECK(error_with("12.9", "1e300") ==
        "box.json: /models/conv2d_f32_cl_image/terms/mmacs_1x1: expected a number from 0 to 10^12, "
        "found 1e+300");
  CHECK(error_with("12.9", "NaN").find("box.json: line ") == 0);
  CHECK(error_with("12.9", "1e999").find("box.json") == 0);
  CHECK(error_with("12.9", "\"fast\"") ==
        "box.json: /models/conv2d_f32_cl_image/terms/mmacs_1x1: expected a number from 0 to 10^12, "
        "found \"fast\"");
  CHECK(error_with("4.5", "-4.5") ==
        "box.json: /models/conv2d_f32_cl_image/floor_us: expected a number from 0 to 10^12, found "
        "-4.5");
  CHECK(error_with("\"format_version\": 2", "\"format_version\": 1") ==
        "box.json: /format_version: expected a whole number from 2 to 2, found 1");
  CHECK(error_with("\"format_version\": 2,", "") ==
        "box.json: expected the key \"format_version\", found none");
  CHECK(error_with("\"analytic\"", "\"forest\"") ==
        "box.json: /models/conv2d_f32_cl_image/kind: expected \"analytic\", found \"forest\"");
  CHECK(error_with("\"samples\": 20", "\"samples\": 0") ==
        "box.json: /models/conv2d_f32_cl_image/fit/samples: expected a whole number from 1 to "
        "2147483647, found 0");
  CHECK(error_with("\"interval_low\": 0.9", "\"interval_low\": 1.9") ==
        "box.json: /models/conv2d_f32_cl_image/fit/interval_low: expected a number of at most "
        "interval_high, found 1.9");
}

// kProfile with these members of gpu.tiles.
std::string with_tiles(const std::string& members) {
  return changed("\"image_max_width\"", "\"tiles\": {" + members + "}, \"image_max_width\"");
}

constexpr const char* kMeasured = R"("origin": "measured", "source": "s"})";

std::string with_local(const std::string& symbol, const std::string& sizes) {
  return with_tiles("\"" + symbol + "\": {\"local\": " + sizes + ", " + kMeasured);
}

std::string with_gemm(const std::string& tile, const std::string& rate = "13") {
  return with_tiles(R"("conv2d_f32_cl_tiled": {"gemm": [{"tile": )" + tile + ", \"macs_per_ns\": " +
                    rate + R"(, "step_ns": 900, "residents": 2}], )" + kMeasured);
}

TEST_CASE("the tiles of a profile are those that its kernels get") {
  const KernelRow& line = kKernelRows[12];   // unary_f32_cl_buffer
  const KernelRow& tiled = kKernelRows[72];  // conv2d_f32_cl_tiled
  const DeviceProfile without = value_of(parse_device_profile(kProfile, "box.json"));
  CHECK(without.gpu_facts.tiles.local_size_of(line) == nullptr);
  CHECK(without.gpu_facts.tiles.table_of(tiled) == nullptr);
  const DeviceProfile profile = value_of(parse_device_profile(
      with_tiles(R"("unary_f32_cl_buffer": {"local": [128, 1, 1], "gain_percent": 23.4, )" +
                 std::string(kMeasured) + R"(, "conv2d_f32_cl_tiled": {"gemm": [
                   {"tile": [64, 64, 32, 8, 4, 2], "macs_per_ns": 13.5, "step_ns": 900,
                    "residents": 2}], )" +
                 kMeasured),
      "box.json"));
  const uint16_t* size = profile.gpu_facts.tiles.local_size_of(line);
  REQUIRE(size != nullptr);
  CHECK(std::vector<int>(size, size + 3) == std::vector<int>{128, 1, 1});
  const kernels::TimedTiles* table = profile.gpu_facts.tiles.table_of(tiled);
  REQUIRE(table != nullptr);
  CHECK(table->count == 1);
  CHECK(table->tiles[0].tile.item_m == 8);
  CHECK(table->tiles[0].macs_per_ns == 13.5);
  CHECK(table->tiles[0].residents == 2);
  const std::string text = describe(profile);
  for (const char* expected :
       {"gpu tile unary_f32_cl_buffer 128 x 1 x 1, measured, 23 % faster than the default\n",
        "gpu tile conv2d_f32_cl_tiled of 64 x 64, measured\n"}) {
    INFO(text);
    CHECK(text.find(expected) != std::string::npos);
  }
}

TEST_CASE("tiles that no kernel could be launched with are refused with the place") {
  const std::string unary = "box.json: /gpu/tiles/unary_f32_cl_buffer";
  const auto local = [](const std::string& sizes) {
    return error_of(with_local("unary_f32_cl_buffer", sizes));
  };
  CHECK(local("[128, 1, 1]").empty());
  CHECK(local("[-8, 1, 1]") ==
        unary + "/local/0: expected a whole number from 1 to 1024, found -8");
  CHECK(local("[8, 0, 1]") == unary + "/local/1: expected a whole number from 1 to 1024, found 0");
  CHECK(local("[8, 8.5, 1]") ==
        unary + "/local/1: expected a whole number from 1 to 1024, found 8.5");
  CHECK(local("[64, 32, 1]") ==
        unary + "/local: expected at most 1024 work-items in a group, found an array");
  CHECK(local("[64, 1]") == unary + "/local: expected 3 whole numbers, found an array");
  CHECK(local("64") == unary + "/local: expected an array, found 64");
  CHECK(error_of(with_local("unary_f32", "[8, 1, 1]")) ==
        "box.json: /gpu/tiles/unary_f32: expected the key to be the symbol of a GPU kernel (codlc "
        "--list-ops), found an object");
  CHECK(error_of(with_local("unary_f32_cpu", "[8, 1, 1]"))
            .find("box.json: /gpu/tiles/unary_f32_cpu: expected the key to be the symbol of a GPU "
                  "kernel") == 0);
  for (const char* own : {"matmul_f32_cl_gemv", "conv2d_winograd2_f32_cl_tiled"})
    CHECK(error_of(with_local(own, "[8, 1, 1]")) ==
          std::string("box.json: /gpu/tiles/") + own +
              ": expected the key to be a kernel whose tile a profile may choose, found an object");
  CHECK(error_of(with_local("conv2d_f32_cl_tiled", "[8, 1, 1]")) ==
        "box.json: /gpu/tiles/conv2d_f32_cl_tiled: expected the key \"gemm\", found none");
  CHECK(error_of(with_tiles(R"("unary_f32_cl_buffer": {"local": [8, 1, 1], "source": "s"})")) ==
        unary + ": expected the key \"origin\", found none");

  const std::string table = "box.json: /gpu/tiles/conv2d_f32_cl_tiled/gemm/0";
  CHECK(error_of(with_gemm("[64, 64, 32, 8, 4, 2]")).empty());
  CHECK(error_of(with_gemm("[64, 64, 32, 8, 4, 3]")) ==
        table + "/tile: expected slices that divide the depth of a step, found an array");
  CHECK(error_of(with_gemm("[64, 64, 32, 8, 4]")) ==
        table + "/tile: expected 6 whole numbers, found an array");
  CHECK(error_of(with_gemm("[64, 64, 32, 8, 4, 2]", "0")) ==
        table + "/macs_per_ns: expected a number from 10^-9 to 10^9, found 0");
  CHECK(error_of(with_tiles(R"("conv2d_f32_cl_tiled": {"gemm": [], )" + std::string(kMeasured)))
            .find("/gpu/tiles/conv2d_f32_cl_tiled/gemm: expected 1 to 8 tiles") !=
        std::string::npos);
}

// kProfile with every optional key.
std::string with_all_keys() {
  std::string text = changed("\"threads\": 2", R"("threads": 2,
    "worker_speeds": {"values": [1, 0.75], "origin": "assumed", "source": "s"},
    "facts": {"origin": "published", "source": "s", "l3_kb": 2048, "simd_bits": 128,
              "clusters": {"big": {"cores": 4, "mhz": 2400}, "little": {"cores": 2, "mhz": 1800}}})");
  const auto insert_before = [&](const std::string& place, const std::string& what) {
    text.insert(text.find(place), what);
  };
  insert_before("\"image_max_width\"",
                R"("tiles": {"unary_f32_cl_image": {"local": [8, 8, 1], "gain_percent": 6.5,
      "origin": "measured", "source": "s"}, "matmul_f32_cl_tiled": {"gemm": [{"tile":
      [32, 32, 32, 4, 4, 4], "macs_per_ns": 1.5, "step_ns": 9, "residents": 2}],
      "origin": "fitted", "source": "s"}}, "launch_us": {"value": 7, "origin": "published", "source": "s"},
    "facts": {"origin": "measured", "source": "s", "mhz": 600, "wave": 64, "driver": "1.2"},
    "quirks": {"slow_maps": "maps take long"}, )");
  insert_before("\"models\"", R"("power": {
    "base_w": {"value": 1.25, "origin": "fitted", "source": "s"},
    "cpu_w": {"value": 4.5, "origin": "fitted", "source": "s"},
    "gpu_w": {"value": 2.5, "origin": "fitted", "source": "s"}}, )");
  return text;
}

TEST_CASE("launch cost, power, facts and known problems are read and shown") {
  const DeviceProfile without = value_of(parse_device_profile(kProfile, "box.json"));
  CHECK(without.launch_us.value == 0);
  CHECK_FALSE(without.power);
  CHECK(without.facts.empty());
  const DeviceProfile profile = value_of(parse_device_profile(with_all_keys(), "box.json"));
  CHECK(profile.launch_us.value == 7);
  REQUIRE(profile.power);
  CHECK(profile.power->base_w.value == 1.25);
  CHECK(profile.power->cpu_w.value == 4.5);
  CHECK(profile.power->gpu_w.origin == Origin::Fitted);
  const std::string text = describe(profile);
  for (const char* line :
       {"cpu cluster              4 x big at 2400 MHz\n", "cpu cluster              2 x little",
        "cpu l3_kb                2048\n", "gpu wave                 64\n",
        "gpu driver               1.2\n", "quirk slow_maps          maps take long\n",
        "gpu launch_us            7.00 published\n", "power base_w             1.25 fitted\n",
        "exchange sync_us         1.50 measured\n",
        "  conv2d_f32_cpu                     assumed   mmacs_1x1 22.000, steps 0.000\n"}) {
    INFO(text);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("optional keys are read as strictly as the others") {
  const std::string whole = with_all_keys();
  const auto error_with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    return error_of(text.replace(text.find(from), from.size(), to));
  };
  CHECK(error_with("\"l3_kb\": 2048", "\"l3_kb\": 0") ==
        "box.json: /cpu/facts/l3_kb: expected a whole number from 1 to 2147483647, found 0");
  CHECK(error_with("\"l3_kb\"", "\"l4_kb\"").find("box.json: /cpu/facts: expected a key of") == 0);
  CHECK(error_with("\"cores\": 4, ", "") ==
        "box.json: /cpu/facts/clusters/big: expected the key \"cores\", found none");
  CHECK(error_with("\"wave\": 64", "\"wave\": \"wide\"") ==
        "box.json: /gpu/facts/wave: expected a whole number from 1 to 2147483647, found \"wide\"");
  CHECK(error_with("\"maps take long\"", "true") ==
        "box.json: /gpu/quirks/slow_maps: expected a string, found true");
  CHECK(error_with("\"value\": 7,", "\"value\": -7,") ==
        "box.json: /gpu/launch_us/value: expected a number from 0 to 10^12, found -7");
  CHECK(error_with("\"cpu_w\"", "\"cpu_j\"") ==
        "box.json: /power: expected the key \"cpu_w\", found none");
  CHECK(error_with("\"value\": 4.5", "\"value\": 1e300") ==
        "box.json: /power/cpu_w/value: expected a number from 0 to 10^12, found 1e+300");
}

TEST_CASE("a profile cut anywhere is refused") {
  const std::string whole = with_all_keys();
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string error = error_of(whole.substr(0, length));
    if (error.find("box.json: ") != 0) FAIL_CHECK("cut at " << length << ": \"" << error << "\"");
  }
}

TEST_CASE("a profile with any byte changed is refused with the file, or holds what is allowed") {
  const std::string whole = with_all_keys();
  // A few of these in each place: with all of them a sanitizer takes minutes.
  constexpr char kBytes[] = {'\0', '"', '{', '}', ',', '-', '0', '9', 'e', 'x', '\xff'};
  constexpr size_t kTries = 3;
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (size_t i = 0; i < kTries; ++i) {
      const char byte = kBytes[(at * kTries + i) % std::size(kBytes)];
      if (whole[at] == byte) continue;
      std::string text = whole;
      text[at] = byte;
      llvm::Expected<DeviceProfile> profile = parse_device_profile(text, "box.json");
      if (!profile) {
        ++refused;
        const std::string error = llvm::toString(profile.takeError());
        if (error.find("box.json: ") != 0) FAIL_CHECK("byte " << at << ": " << error);
        continue;
      }
      bool is_allowed = profile->cpu_threads >= 1 && profile->cpu_threads <= 64;
      for (const double speed : profile->cpu_worker_speeds)
        is_allowed &= speed >= 0.0001 && speed <= 1;
      for (const LatencyModel& model : profile->models)
        for (const LatencyModel::Term& term : model.terms)
          is_allowed &= term.coefficient.value >= 0 && term.coefficient.value <= 1e12;
      is_allowed &= profile->exchange.sync_us.value >= 0 && profile->exchange.sync_us.value <= 1e12;
      if (!is_allowed) FAIL_CHECK("byte " << at << " made " << int{byte} << " was accepted");
    }
  }
  CHECK(refused > kTries * whole.size() * 5 / 11);
}

TEST_CASE("each value of a profile removed, or made another, is refused with its path") {
  // Values that nothing in the format is; a number may be many numbers.
  const std::string whole = with_all_keys();
  for (const char* value : {"NaN", "Infinity", "-1", "1e300", "-1e300", "[]", "null", "true"}) {
    size_t numbers = 0;
    for (size_t at = whole.find("\"value\": "); at != std::string::npos;
         at = whole.find("\"value\": ", at + 1), ++numbers) {
      std::string text = whole;
      const size_t begin = at + 9;
      text.replace(begin, text.find(',', begin) - begin, value);
      const std::string error = error_of(text);
      INFO(value << " in place of number " << numbers << ": " << error);
      const bool is_json = value[0] != 'N' && value[0] != 'I';
      CHECK(error.find(is_json ? "/value: expected a" : ": line ") != std::string::npos);
    }
    CHECK(numbers >= 15);
  }
}

TEST_CASE("a profile over another has what it does not say itself from there") {
  const DeviceProfile base = value_of(load_device_profile("host"));
  const DeviceProfile profile = value_of(parse_device_profile(R"({
    "format_version": 2, "base": "host", "name": "mine",
    "cpu": {"threads": 3},
    "exchange": {"sync_us": {"value": 77, "origin": "assumed", "source": "me"}},
    "sources": {"me": "I say so"}})",
                                                              "mine.json"));
  CHECK(profile.name == "mine");
  CHECK(profile.cpu_threads == 3);
  CHECK(profile.cpu_name == base.cpu_name);
  CHECK(profile.exchange.sync_us.value == 77);
  CHECK(profile.exchange.sync_us.source == "I say so");
  CHECK(profile.exchange.map_us.value == base.exchange.map_us.value);
  CHECK(profile.models.size() == base.models.size());
  CHECK(profile.hash != base.hash);
  CHECK(error_of(R"({"format_version": 2, "base": "../host", "name": "x"})") ==
        "box.json: /base: expected the name of a profile, found \"../host\"");
  // A member of "gpu" that the base lacks; the others are the base's.
  const DeviceProfile tiled = value_of(parse_device_profile(R"({
    "format_version": 2, "base": "sd855", "name": "x", "gpu": {"tiles": {
      "conv2d_f32_cl_image": {"local": [8, 8, 4], "origin": "assumed", "source": "me"}}},
    "sources": {"me": "I say so"}})",
                                                            "x.json"));
  CHECK(tiled.tiles.size() == 1);
  CHECK(tiled.gpu_name == value_of(load_device_profile("sd855")).gpu_name);
  // What the base has and this device has not.
  constexpr const char* kOther =
      R"({"format_version": 2, "base": "sd855", "name": "x", "power": POWER})";
  std::string other = kOther;
  const DeviceProfile sd855 = value_of(load_device_profile("sd855"));
  REQUIRE(sd855.power);
  CHECK_FALSE(
      value_of(parse_device_profile(other.replace(other.find("POWER"), 5, "null"), "x.json"))
          .power);
  CHECK(error_of(changed("\"kernel_library\": \"codl\"", "\"kernel_library\": null")) ==
        "box.json: /kernel_library: expected a string, found null");
  CHECK(error_of(R"({"base": "no_such"})").find("box.json: /base: expected FILE.json or one of") ==
        0);
}

TEST_CASE(
    "every profile of the tree is read, named as its file, and has a source for each number") {
  const std::vector<std::string> names = list_devices();
  CHECK(std::find(names.begin(), names.end(), "host") != names.end());
  CHECK(std::find(names.begin(), names.end(), "sd855") != names.end());
  for (const std::string& name : names) {
    INFO(name);
    const DeviceProfile profile = value_of(load_device_profile(name));
    CHECK(profile.name == name);
    CHECK_FALSE(profile.description.empty());
    for (const LatencyModel& model : profile.models)
      for (const LatencyModel::Term& term : model.terms)
        CHECK_FALSE(term.coefficient.source.empty());
  }
}

TEST_CASE(
    "every profile of the tree can run every operator on the CPU, and what it names on the GPU") {
  for (const std::string& name : list_devices()) {
    INFO(name);
    const DeviceProfile profile = value_of(load_device_profile(name));
    for (const KernelRow& row : kKernelRows) {
      INFO(row.symbol);
      if (row.processor == Processor::Cpu) CHECK(profile.model_of(row.id) != nullptr);
      if (row.processor == Processor::Gpu && row.layout == profile.gpu_layout)
        CHECK(std::any_of(
            std::begin(kKernelRows), std::end(kKernelRows), [&](const KernelRow& other) {
              return other.op == row.op && other.layout == row.layout &&
                     other.processor == row.processor && profile.model_of(other.id) != nullptr;
            }));
    }
  }
}

TEST_CASE("any_gpu does not stand for a row beside one that has a model") {
  const auto id_of = [](std::string_view symbol) {
    return std::find_if(std::begin(kKernelRows), std::end(kKernelRows),
                        [&](const KernelRow& row) { return row.symbol == symbol; })
        ->id;
  };
  const std::string text = changed("\"models\": {", R"("models": {
    "any_gpu": {"mmacs": {"value": 7, "origin": "assumed", "source": "s"}},
    "conv2d_f32_cl_buffer": {"mmacs_1x1": {"value": 9, "origin": "assumed", "source": "s"}},)");
  const DeviceProfile profile = value_of(parse_device_profile(text, "box.json"));
  CHECK(profile.model_of(id_of("conv2d_f32_cl_buffer")) != nullptr);
  CHECK(profile.model_of(id_of("conv2d_f32_cl_tiled")) == nullptr);  // whose mmacs it cannot weigh
  for (const char* winograd : {"conv2d_winograd2_f32_cl_tiled", "conv2d_winograd4_f32_cl_buffer"})
    CHECK(profile.model_of(id_of(winograd)) == nullptr);
  CHECK(profile.model_of(id_of("matmul_f32_cl_tiled")) != nullptr);
}

TEST_CASE("a device that is not there is answered with those that are") {
  const std::string message = test::error_of(load_device_profile("no_such"));
  CHECK(message.find("--device: expected FILE.json or one of ") == 0);
  CHECK(message.find("host") != std::string::npos);
  CHECK(message.find("found \"no_such\"") != std::string::npos);
  for (const char* path : {"no_such.json", "../host", ""})
    CHECK(test::error_of(load_device_profile(path)) != "");
}

}  // namespace
}  // namespace codl::compiler
