#include "compiler/device/device_profile.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "compiler/device/device_names.h"
#include "kernels/common/work/work_counts.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "llvm/Support/Threading.h"
#include "schema/plan_layout.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

using test::value_of;

constexpr const char* kProfile = R"({
  "format_version": 3,
  "name": "box",
  "description": "a box",
  "kernel_library": "codl",
  "cpu": {
    "name": "cores", "threads": 2,
    "interference_percent": {"value": 2, "origin": "assumed", "source": "s"},
    "machine": {
      "origin": "published", "source": "s", "ghz": 2.5, "vector_lanes": 8, "fma_per_cycle": 2,
      "half_rate": 2,
      "byte_rate": 4,
      "loads_per_cycle": {"value": 3, "origin": "assumed", "source": "t"},
      "l1_kb": 48, "l2_kb": 1024, "last_level_kb": 0, "l2_gb_per_s": 80,
      "last_level_gb_per_s": 25, "memory_gb_per_s": 12, "memory_all_gb_per_s": 21,
      "fork_join_us": 6
    }
  },
  "gpu": {
    "name": "gpu", "device_type": "gpu", "layout": "image", "sharing": "sub_buffer",
    "gate": "user_event",
    "machine": {
      "origin": "measured", "source": "s", "units": 9, "wave_width": 64, "ghz": 0.5,
      "fma_per_cycle": 128, "half_rate": 1.95, "max_waves": 16, "registers_kb": 96, "thread_registers": 96,
      "local_kb": 32, "l1_kb": 16, "texture_kb": 0, "l2_kb": 512, "last_level_kb": 0, "l1_gb_per_s": 40, "l2_gb_per_s": 90,
      "last_level_gb_per_s": 30, "memory_gb_per_s": 22, "latency_ns": 400, "launch_us": 5
    },
    "image_max_width": {"value": 4096, "origin": "published", "source": "s"},
    "image_max_height": {"value": 8192, "origin": "published", "source": "s"}
  },
  "transfer": {
    "sync_us": {"value": 1.5, "origin": "measured", "source": "s"},
    "map_us": {"value": 2, "origin": "fitted", "source": "s"},
    "map_us_per_mb": {"value": 3, "origin": "assumed", "source": "s"},
    "copy_us_per_mb": {"value": 4, "origin": "assumed", "source": "s"},
    "cpu_contention_percent": {"value": 5, "origin": "assumed", "source": "s"},
    "gpu_contention_percent": {"value": 6, "origin": "assumed", "source": "s"},
    "flag_to_cpu_us": {"value": 2.5, "origin": "measured", "source": "s"},
    "flag_to_gpu_us": {"value": 1000, "origin": "assumed", "source": "s"},
    "memory_gb_per_s": {"value": 27.5, "origin": "assumed", "source": "s"}
  },
  "families": {
    "cpu": {
      "convolution": {
        "level": "anchors", "origin": "fitted", "source": "t",
        "shares": {"compute": 1.25, "step": 7}, "interval": [0.6, 1.7]
      }
    }
  },
  "kernels": {
    "conv2d_f32_cl_image": {
      "level": "samples", "origin": "measured", "source": "s",
      "shares": {"compute": 1.125, "l2": 0.5}, "interval": [0.9, 1.2],
      "fit": {"revision": 4, "samples": 20, "median_error_percent": 3, "within_10_percent": 90}
    }
  },
  "sources": {"s": "a table", "t": "a rule"}
})";

// Returns kProfile with one text replaced by another.
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
  CHECK(profile.machine.cpu_threads == 2);
  CHECK(profile.machine.cpu.ghz == 2.5);
  CHECK(profile.machine.cpu.vector_lanes == 8);
  CHECK(profile.machine.cpu.loads_per_cycle == 3);
  CHECK(profile.machine.cpu.fork_join_us == 6);
  CHECK(profile.machine.cpu.half_rate == 2);
  CHECK(profile.machine.cpu.byte_rate == 4);
  CHECK(profile.interference_percent[0].value == 2);
  CHECK(profile.interference_percent[1].value == 0);
  CHECK(profile.has_gpu);
  CHECK_FALSE(profile.machine.is_gpu_a_processor);
  CHECK(profile.machine.gpu.units == 9);
  CHECK(profile.machine.gpu.wave_width == 64);
  CHECK(profile.machine.gpu.launch_us == 5);
  CHECK(profile.gpu_facts.units == 9);
  CHECK_FALSE(profile.gpu_facts.is_processor);
  CHECK(profile.gpu_layout == Layout::Image2d);
  CHECK(profile.transfer.sharing == Sharing::SubBuffer);
  CHECK(profile.gate == Gate::UserEvent);
  CHECK(profile.image_max_width == 4096);
  CHECK(profile.image_max_height == 8192);
  CHECK(profile.transfer.sync_us.value == 1.5);
  CHECK(profile.transfer.sync_us.origin == Origin::Measured);
  CHECK(profile.transfer.map_us.origin == Origin::Fitted);
  CHECK(profile.transfer.contention_percent[0].value == 5);
  CHECK(profile.transfer.contention_percent[1].source == "a table");
  CHECK(profile.transfer.memory_gb_per_s.value == 27.5);
  REQUIRE(profile.transfer.flags);
  CHECK(profile.transfer.flags->to_cpu_us.value == 2.5);
  CHECK(profile.transfer.flags->to_cpu_us.origin == Origin::Measured);
  CHECK(profile.transfer.flags->to_gpu_us.value == 1000);
}

const KernelInfo& row_of(std::string_view symbol) {
  return *std::find_if(std::begin(kKernelInfos), std::end(kKernelInfos),
                       [&](const KernelInfo& info) { return info.symbol == symbol; });
}

const Calibration& calibration_of(const DeviceProfile& profile, std::string_view symbol) {
  return profile.calibration_of(row_of(symbol));
}

TEST_CASE("every fact of a machine is read, a number or a number with an origin of its own") {
  const DeviceProfile profile = value_of(parse_device_profile(kProfile, "box.json"));
  double number = 100;
  const auto check_fields = [&](const auto& fields, bool is_cpu) {
    for (const auto& field : fields) {
      INFO(field.name);
      // The field is in the processor's own object.
      const std::string whole = kProfile;
      const size_t begin = whole.find(std::string("\"") + field.name + "\": ",
                                      whole.find(is_cpu ? "\"cpu\"" : "\"gpu\""));
      const size_t end = std::string(field.name) == "loads_per_cycle"
                             ? whole.find('}', begin) + 1
                             : whole.find_first_of(",\n", begin);
      const bool is_queues = std::string(field.name) == "vector_lanes";
      // No cache is smaller than the one before it.
      const double least = std::string(field.name) == "last_level_kb" ? 2000 : 0;
      const double value = is_queues ? 16 : least + ++number;
      const std::string key = std::string("\"") + field.name + "\": ";
      for (const std::string& text :
           {std::to_string(value),
            "{\"value\": " + std::to_string(value) + R"(, "origin": "assumed", "source": "s"})"}) {
        std::string edited = whole;
        edited.replace(begin, end - begin, key + text);
        const DeviceProfile read = value_of(parse_device_profile(edited, "box.json"));
        if constexpr (std::is_same_v<decltype(field.value), double CpuMachine::*>)
          CHECK(read.machine.cpu.*field.value == value);
        else
          CHECK(read.machine.gpu.*field.value == value);
      }
      std::string without = whole;
      without.replace(begin, key.size(), "\"other\": ");
      const std::string machine =
          std::string("box.json: /") + (is_cpu ? "cpu" : "gpu") + "/machine";
      CHECK(error_of(without).find(field.is_optional ? machine + ": expected a key of "
                                                     : machine + ": expected the key \"" +
                                                           field.name + "\", found none") == 0);
      std::string negative = whole;
      negative.replace(begin, end - begin, key + "-1");
      CHECK(error_of(negative).find(machine + "/" + field.name + ": expected a") == 0);
    }
  };
  check_fields(kCpuMachineFields, true);
  check_fields(kGpuMachineFields, false);
  CHECK(describe(profile).find("cpu loads_per_cycle      3.00 assumed\n") != std::string::npos);
  CHECK(describe(profile).find("cpu fork_join_us         6.00 published\n") != std::string::npos);
  CHECK(describe(profile).find("gpu units                9.00 measured\n") != std::string::npos);
}

TEST_CASE("what is known of a kernel stands before its family, that before other machines") {
  const DeviceProfile profile = value_of(parse_device_profile(kProfile, "box.json"));
  const Calibration& own = calibration_of(profile, "conv2d_f32_cl_image");
  CHECK(own.level == Level::Samples);
  CHECK(own.origin == Origin::Measured);
  CHECK(own.source == "a table");
  CHECK(own.shares[Term::Compute] == 1.125);
  CHECK(own.shares[Term::L2] == 0.5);
  CHECK(own.shares[Term::Step] == 0);
  CHECK(own.interval_low == 0.9);
  CHECK(own.interval_high == 1.2);
  CHECK(own.revision == 4);
  for (const char* symbol : {"conv2d_f32_cpu", "conv2d_winograd4_f32_cpu"}) {
    const Calibration& family = calibration_of(profile, symbol);
    CHECK(family.level == Level::Anchors);
    CHECK(family.origin == Origin::Fitted);
    CHECK(family.shares[Term::Compute] == 1.25);
    CHECK(family.shares[Term::Step] == 7);
    CHECK(family.interval_high == 1.7);
    CHECK(family.revision == 0);
  }
  // The CPU's family says nothing about the GPU's, nor about reference kernels.
  for (const char* symbol : {"conv2d_f32_cl_buffer", "softmax_f32_cpu", "conv_nd_any_cpu"}) {
    const KernelInfo& info = row_of(symbol);
    const Calibration expected =
        family_calibration(kernels::family_of(info), info.processor, false);
    const Calibration& other = profile.calibration_of(info);
    CHECK(other.level == Level::Facts);
    CHECK(other.origin == Origin::Assumed);
    CHECK(std::equal(std::begin(other.shares.of), std::end(other.shares.of),
                     std::begin(expected.shares.of)));
    CHECK(other.interval_high == expected.interval_high);
  }
}

TEST_CASE(
    "tiled kernels have a family of their own, or their operator's where a profile has none") {
  const auto with_families = [](const std::string& families) {
    return value_of(parse_device_profile(
        changed("\"families\": {\n", "\"families\": {\n    \"gpu\": {" + families + "},\n"),
        "box.json"));
  };
  const auto calibration = [](const std::string& name, const std::string& share) {
    return "\"" + name +
           "\": {\"level\": \"anchors\", \"origin\": \"fitted\", \"source\": \"t\", " +
           "\"shares\": {\"compute\": " + share + "}, \"interval\": [0.6, 1.7]}";
  };
  const std::string operators =
      calibration("convolution", "2") + ", " + calibration("product", "3");
  const auto compute_of = [](const DeviceProfile& profile, const char* symbol) {
    return calibration_of(profile, symbol).shares[Term::Compute];
  };
  const DeviceProfile without = with_families(operators);
  CHECK(compute_of(without, "conv2d_f32_cl_tiled") == 2);
  CHECK(compute_of(without, "conv2d_winograd2_f32_cl_tiled") == 2);
  CHECK(compute_of(without, "matmul_f32_cl_tiled") == 3);
  const DeviceProfile with = with_families(operators + ", " + calibration("tiled", "4"));
  for (const char* symbol : {"conv2d_f32_cl_tiled", "conv2d_winograd2_f32_cl_tiled",
                             "matmul_f32_cl_tiled", "batch_matmul_f32_cl_tiled"})
    CHECK(compute_of(with, symbol) == 4);
  CHECK(compute_of(with, "conv2d_f32_cl_buffer") == 2);
  CHECK(compute_of(with, "matmul_f32_cl_gemv") == 3);
}

TEST_CASE("OpenCL on a processor has the shares and tiles of one") {
  const DeviceProfile profile = value_of(parse_device_profile(
      changed("\"device_type\": \"gpu\"", "\"device_type\": \"cpu\""), "box.json"));
  CHECK(profile.machine.is_gpu_a_processor);
  CHECK(profile.gpu_facts.is_processor);
  CHECK(profile.gpu_facts.registers == 96 * 1024 / 4);
  const KernelInfo& info = row_of("softmax_f32_cl_buffer");
  const Calibration expected = family_calibration(kernels::family_of(info), info.processor, true);
  CHECK(std::equal(std::begin(expected.shares.of), std::end(expected.shares.of),
                   std::begin(profile.calibration_of(info).shares.of)));
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

// One of the chip's fast cores is faster than the others: with equal shares the last would take 1 /
// 0.8521 of the first's time.
TEST_CASE("sd855's steps are counted by the speeds of its workers") {
  const DeviceProfile profile = value_of(load_device_profile("sd855"));
  const std::vector<uint16_t> speeds = profile.worker_speeds();
  REQUIRE(speeds == std::vector<uint16_t>{10000, 8521, 8521, 8521});
  kernels::WorkMachine machine = work_machine(profile.machine, Processor::Cpu);
  kernels::StepWork work;
  kernels::fill_tasks(3200, 3200, machine, &work);
  CHECK(work.busiest_share == Approx(1 / (1 + 3 * 0.8521)).epsilon(2e-3));
  machine.worker_speeds = nullptr;
  kernels::StepWork alike;
  kernels::fill_tasks(3200, 3200, machine, &alike);
  CHECK(alike.busiest_share == 0.25);
}

TEST_CASE("the hash is of the bytes: a space changes it") {
  CHECK(value_of(parse_device_profile(kProfile, "box.json")).hash !=
        value_of(parse_device_profile(std::string(kProfile) + " ", "box.json")).hash);
}

TEST_CASE("a profile without a GPU has no transfer and no GPU kernels") {
  const auto with_kernel = [](llvm::StringRef symbol) {
    std::string text = changed("conv2d_f32_cl_image", symbol);
    for (const char* part : {"\"gpu\": {", "\"transfer\": {"}) {
      const size_t begin = text.find(part);
      // The beginning of the next member of the root, or the root's end.
      const size_t end = text.find("\n  \"", begin) + 3;
      text.erase(begin, end - begin);
    }
    return text;
  };
  const DeviceProfile profile =
      value_of(parse_device_profile(with_kernel("unary_f32_cpu"), "box.json"));
  CHECK_FALSE(profile.has_gpu);
  CHECK(calibration_of(profile, "unary_f32_cpu").revision == 4);
  CHECK(error_of(with_kernel("unary_f32_cl_buffer")) ==
        "box.json: /kernels/unary_f32_cl_buffer: expected kernels of the CPU only, as the profile "
        "has no \"gpu\", found an object");
}

TEST_CASE("rows of images are padded as the profile says, or not at all") {
  const DeviceProfile known = value_of(parse_device_profile(
      changed("\"image_max_width\"",
              "\"image_row_texels\": {\"value\": 64, \"origin\": \"measured\", \"source\": \"s\"}, "
              "\"image_max_width\""),
      "box.json"));
  CHECK(known.image_row_texels == 64);
  const DeviceProfile unknown =
      value_of(parse_device_profile(changed("\"sub_buffer\"", "\"fine_svm\""), "box.json"));
  CHECK(unknown.image_row_texels == 1);
}

TEST_CASE("every rule of the format has its error, with the place") {
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
        "box.json: /transfer/sync_us/value: expected a number from 0 to 10^12, found -1.5");
  CHECK(error_of(changed("1.5, \"origin\": \"measured\"", "1.5, \"origin\": \"guessed\"")) ==
        "box.json: /transfer/sync_us/origin: expected \"measured\", \"fitted\", \"published\" or "
        "\"assumed\", found \"guessed\"");
  CHECK(error_of(changed("1.5, \"origin\": \"measured\", ", "1.5, ")) ==
        "box.json: /transfer/sync_us: expected the key \"origin\", found none");
  CHECK(error_of(changed("1.5, \"origin\": \"measured\", \"source\": \"s\"",
                         "1.5, \"origin\": \"measured\", \"source\": \"u\"")) ==
        "box.json: /transfer/sync_us/source: expected a key of /sources, found \"u\"");
  CHECK(error_of(changed("\"threads\": 2", "\"threads\": 2, \"core\": 1")) ==
        "box.json: /cpu: expected a key of \"name\", \"threads\", \"workers\", \"machine\", "
        "\"worker_speeds\", \"interference_percent\", \"warm_weight_mbytes\", \"probe_us\" or "
        "\"facts\", "
        "found \"core\"");
  CHECK(error_of(changed("\"device_type\": \"gpu\"", "\"device_type\": \"npu\"")) ==
        "box.json: /gpu/device_type: expected \"gpu\" or \"cpu\", found \"npu\"");
}

TEST_CASE("what a machine cannot be is refused with the place") {
  const std::string cpu = "box.json: /cpu/machine";
  const std::string gpu = "box.json: /gpu/machine";
  CHECK(error_of(changed("\"ghz\": 2.5", "\"ghz\": 0")) ==
        cpu + "/ghz: expected a number from 0.01 to 1e+09, found 0");
  CHECK(error_of(changed("\"ghz\": 2.5", "\"ghz\": 1e10")) ==
        cpu + "/ghz: expected a number from 0.01 to 1e+09, found 10000000000.0");
  CHECK(error_of(changed("\"vector_lanes\": 8", "\"vector_lanes\": 7.5")) ==
        cpu + "/vector_lanes: expected a whole number from 4 to 16, found 7.5");
  CHECK(error_of(changed("\"vector_lanes\": 8", "\"vector_lanes\": 32")) ==
        cpu + "/vector_lanes: expected a whole number from 4 to 16, found 32");
  CHECK(error_of(changed("\"units\": 9", "\"units\": 0")) ==
        gpu + "/units: expected a whole number from 1 to 65536, found 0");
  CHECK(error_of(changed("\"units\": 9", "\"units\": \"many\"")) ==
        gpu + "/units: expected a number from 0 to 10^12, found \"many\"");
  CHECK(error_of(changed("\"registers_kb\": 96", "\"registers_kb\": 1e9")) ==
        gpu + "/registers_kb: expected a number from 0.1 to 1e+06, found 1000000000.0");
  CHECK(error_of(changed("{\"value\": 5,", "{\"value\": 10001,")) ==
        "box.json: /transfer/cpu_contention_percent/value: expected a number from 0 to 10^4, found "
        "10001");
  CHECK(error_of(changed("{\"value\": 2,", "{\"value\": 10001,")) ==
        "box.json: /cpu/interference_percent/value: expected a number from 0 to 10^4, found "
        "10001");
  CHECK(error_of(changed("\"origin\": \"published\", \"source\": \"s\", \"ghz\"",
                         "\"origin\": \"published\", \"ghz\"")) ==
        cpu + ": expected the key \"source\", found none");
  CHECK(error_of(changed("\"ghz\": 2.5", "\"ghz\": 2.5, \"mhz\": 2500"))
            .find(cpu + ": expected a key of ") == 0);
  CHECK(error_of(changed("{\"value\": 3, \"origin\": \"assumed\", \"source\": \"t\"}",
                         "{\"value\": 3, \"origin\": \"assumed\"}")) ==
        cpu + "/loads_per_cycle: expected the key \"source\", found none");
  CHECK(error_of(changed("{\"value\": 3, \"origin\": \"assumed\", \"source\": \"t\"}",
                         "{\"value\": 3, \"origin\": \"assumed\", \"source\": \"u\"}")) ==
        cpu + "/loads_per_cycle/source: expected a key of /sources, found \"u\"");
}

TEST_CASE("what no kernel can reach is refused with the place") {
  const std::string kernel = "box.json: /kernels/conv2d_f32_cl_image";
  const std::string family = "box.json: /families/cpu/convolution";
  CHECK(error_of(changed("\"conv2d_f32_cl_image\"", "\"conv2d_f32\"")) ==
        "box.json: /kernels/conv2d_f32: expected the key to be the symbol of a kernel (codlc "
        "--list-ops), found an object");
  CHECK(error_of(changed("\"convolution\"", "\"folding\""))
            .find("box.json: /families/cpu: expected a key of \"convolution\", \"product\"") == 0);
  CHECK(error_of(changed("\"families\": {\n    \"cpu\"", "\"families\": {\n    \"npu\"")) ==
        "box.json: /families: expected a key of \"cpu\" or \"gpu\", found \"npu\"");
  CHECK(error_of(changed("{\"compute\": 1.25, \"step\": 7}", "{}")) ==
        family + "/shares: expected one term or more, found an object");
  CHECK(error_of(changed("\"compute\": 1.25", "\"computing\": 1.25"))
            .find(family + "/shares: expected a key of \"compute\", \"operations\"") == 0);
  CHECK(error_of(changed("1.125", "-1.125")) ==
        kernel + "/shares/compute: expected a number from 0 to 10^6, found -1.125");
  CHECK(error_of(changed("\"anchors\"", "\"guess\"")) ==
        family + "/level: expected \"facts\", \"anchors\" or \"samples\", found \"guess\"");
  CHECK(error_of(changed("\"level\": \"anchors\", ", "")) ==
        family + ": expected the key \"level\", found none");
  CHECK(error_of(changed("\"fitted\", \"source\": \"t\",\n", "\"fitted\",\n")) ==
        family + ": expected the key \"source\", found none");
  for (const char* interval : {"[0.6]", "[]", "[0.6, 1, 1.7]", "[0, 1.7]", "[1.8, 1.7]"})
    CHECK(error_of(changed("[0.6, 1.7]", interval)) ==
          family + "/interval: expected two numbers over 0, the lower one first, found an array");
  CHECK(error_of(changed("\"revision\": 4", "\"revision\": 0")) ==
        kernel + "/fit/revision: expected a whole number from 1 to 65535, found 0");
  CHECK(error_of(changed("\"samples\": 20", "\"samples\": 0")) ==
        kernel + "/fit/samples: expected a whole number from 1 to 2147483647, found 0");
  CHECK(error_of(changed("\"samples\": 20, ", "")) ==
        kernel + "/fit: expected the key \"samples\", found none");
}

// Returns kProfile with joint shares of the kernel that has samples.
std::string with_joint(const std::string& joint) {
  return changed("\"l2\": 0.5}", "\"l2\": 0.5}, \"joint\": " + joint);
}

TEST_CASE("joint shares are read, and shown with the terms") {
  const DeviceProfile profile = value_of(parse_device_profile(
      with_joint("[[\"compute\", \"l2\", 0.75, 0.5], [\"l1\", \"step\", 12.5, 3]]"), "box.json"));
  const auto joints = calibration_of(profile, "conv2d_f32_cl_image").shares.joints();
  REQUIRE(joints.size() == 2);
  CHECK(joints[0].term == Term::Compute);
  CHECK(joints[0].other == Term::L2);
  CHECK(joints[0].factor == 0.75);
  CHECK(joints[0].share == 0.5);
  CHECK(joints[1].is_beyond());
  CHECK(joints[1].term == Term::L1);
  CHECK(joints[1].factor == 12.5);
  CHECK(joints[1].share == 3);
  CHECK(describe(profile).find("longer of compute and 0.75 x l2 0.500, l1 beyond 12.5 us 3.000") !=
        std::string::npos);
  CHECK(calibration_of(profile, "conv2d_f32_cpu").shares.joints().empty());
}

TEST_CASE("a joint share of nothing is refused with the place") {
  const std::string joint = "box.json: /kernels/conv2d_f32_cl_image/joint";
  const auto error_with = [](const std::string& text) { return error_of(with_joint(text)); };
  const std::string one = "[\"l1\", \"l2\", 1, 1]";
  CHECK(error_with("[]") == joint + ": expected 1 to 4 arrays, found an array");
  CHECK(error_with("[" + one + "," + one + "," + one + "," + one + "," + one + "]") ==
        joint + ": expected 1 to 4 arrays, found an array");
  for (const char* parts : {"[]", "[\"l1\", \"l2\", 1]", "[\"l1\", \"l2\", 1, 1, 1]"})
    CHECK(error_with("[" + one + ", " + parts + "]") ==
          joint + "/1: expected two terms, a factor and a share, found an array");
  CHECK(error_with("[[\"step\", \"l1\", 1, 1]]").find(joint + "/0/0: expected \"compute\", ") == 0);
  CHECK(error_with("[[\"l1\", \"l9\", 1, 1]]").find(joint + "/0/1: expected \"compute\", ") == 0);
  CHECK(error_with("[[\"l1\", \"l1\", 1, 1]]") ==
        joint + "/0/1: expected another term, found \"l1\"");
  CHECK(error_with("[[\"l1\", \"l2\", 0, 1]]") ==
        joint + "/0/2: expected a number over 0, found 0");
  CHECK(error_with("[[\"l1\", \"step\", 1, -1]]") ==
        joint + "/0/3: expected a number from 0 to 10^6, found -1");
  CHECK(error_with("[[\"l1\", \"step\", 1, 1000001]]") ==
        joint + "/0/3: expected a number from 0 to 10^6, found 1000001");
  CHECK(error_with("[[\"l1\", \"l2\", 1e12, 1]]").find(joint + "/0/2: expected a number from 0") ==
        0);
}

TEST_CASE("a damaged profile is refused with the place and the reason") {
  const std::string share = "box.json: /kernels/conv2d_f32_cl_image/shares/compute";
  CHECK(error_of(changed("1.125", "1e300")) ==
        share + ": expected a number from 0 to 10^6, found 1e+300");
  CHECK(error_of(changed("1.125", "1e7")).find(share + ": expected a number from 0 to 10^6") == 0);
  CHECK(error_of(changed("1.125", "NaN")).find("box.json: line ") == 0);
  CHECK(error_of(changed("1.125", "1e999")).find("box.json") == 0);
  CHECK(error_of(changed("1.125", "\"fast\"")) ==
        share + ": expected a number from 0 to 10^6, found \"fast\"");
  CHECK(error_of(changed("\"format_version\": 3", "\"format_version\": 2")) ==
        "box.json: /format_version: expected a whole number from 3 to 3, found 2");
  CHECK(error_of(changed("\"format_version\": 3,", "")) ==
        "box.json: expected the key \"format_version\", found none");
}

// Returns kProfile with these members of gpu.tiles.
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
  const KernelInfo& line = kKernelInfos[12];   // unary_f32_cl_buffer
  const KernelInfo& tiled = kKernelInfos[72];  // conv2d_f32_cl_tiled
  const DeviceProfile without = value_of(parse_device_profile(kProfile, "box.json"));
  CHECK(without.gpu_facts.tiles.local_size_of(line) == nullptr);
  CHECK(without.gpu_facts.tiles.table_of(tiled) == nullptr);
  const DeviceProfile profile = value_of(parse_device_profile(
      with_tiles(R"("unary_f32_cl_buffer": {"local": [128, 1, 1], "gain_percent": 23.4, )" +
                 std::string(kMeasured) + R"(, "conv2d_f32_cl_tiled": {"gemm": [
                   {"tile": [64, 64, 16, 8, 4, 2], "macs_per_ns": 13.5, "step_ns": 900,
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
  CHECK(error_of(with_gemm("[64, 64, 16, 8, 4, 2]")).empty());
  CHECK(error_of(with_gemm("[64, 64, 16, 8, 8, 1]")) ==
        table +
            "/tile: expected a tile whose 112 registers for sums and factors, and 16 others, fit "
            "gpu.machine.thread_registers, 96, found an array");
  CHECK(error_of(with_gemm("[64, 64, 32, 8, 4, 3]")) ==
        table + "/tile: expected slices that divide the depth of a step, found an array");
  CHECK(error_of(with_gemm("[64, 64, 32, 8, 4]")) ==
        table + "/tile: expected 6 whole numbers, found an array");
  CHECK(error_of(with_gemm("[64, 64, 16, 8, 4, 2]", "0")) ==
        table + "/macs_per_ns: expected a number from 10^-9 to 10^9, found 0");
  CHECK(error_of(with_tiles(R"("conv2d_f32_cl_tiled": {"gemm": [], )" + std::string(kMeasured)))
            .find("/gpu/tiles/conv2d_f32_cl_tiled/gemm: expected 1 to 8 tiles") !=
        std::string::npos);
}

// Returns kProfile with every optional key.
std::string with_all_keys() {
  std::string text = changed("\"threads\": 2", R"("threads": 2,
    "worker_speeds": {"values": [1, 0.75], "origin": "assumed", "source": "s"},
    "facts": {"origin": "published", "source": "s",
              "clusters": {"big": {"cores": 4, "mhz": 2500}, "little": {"cores": 2, "mhz": 1800}}})");
  const auto insert_before = [&](const std::string& place, const std::string& what) {
    text.insert(text.find(place), what);
  };
  insert_before("\"image_max_width\"",
                R"("tiles": {"unary_f32_cl_image": {"local": [8, 8, 1], "gain_percent": 6.5,
      "origin": "measured", "source": "s"}, "matmul_f32_cl_tiled": {"gemm": [{"tile":
      [32, 32, 32, 4, 4, 4], "macs_per_ns": 1.5, "step_ns": 9, "residents": 2}],
      "origin": "fitted", "source": "s"}}, "launch_us": {"value": 7, "origin": "published", "source": "s"},
    "facts": {"origin": "measured", "source": "s", "max_work_group": 512, "driver": "1.2"},
    "quirks": {"slow_maps": "maps take long"}, )");
  insert_before("\"families\"", R"("power": {
    "base_w": {"value": 1.25, "origin": "fitted", "source": "s"},
    "cpu_w": {"value": 4.5, "origin": "fitted", "source": "s"},
    "gpu_w": {"value": 2.5, "origin": "fitted", "source": "s"}}, )");
  return text;
}

TEST_CASE("launch cost, power, facts and known problems are read and shown") {
  const DeviceProfile without = value_of(parse_device_profile(kProfile, "box.json"));
  CHECK(without.launch_us.value == 0);
  CHECK_FALSE(without.power);
  CHECK(without.quirks.empty());
  const DeviceProfile profile = value_of(parse_device_profile(with_all_keys(), "box.json"));
  CHECK(profile.launch_us.value == 7);
  REQUIRE(profile.power);
  CHECK(profile.power->base_w.value == 1.25);
  CHECK(profile.power->cpu_w.value == 4.5);
  CHECK(profile.power->gpu_w.origin == Origin::Fitted);
  const std::string text = describe(profile);
  for (const char* line :
       {"cpu cluster              4 x big at 2500 MHz\n", "cpu cluster              2 x little",
        "gpu max_work_group       512\n", "gpu driver               1.2\n",
        "quirk slow_maps          maps take long\n", "gpu launch_us            7.00 published\n",
        "power base_w             1.25 fitted\n", "transfer sync_us         1.50 measured\n",
        "  conv2d_f32_cpu                     anchors  fitted    0.60 to 1.70  compute 1.250, step "
        "7.000\n"}) {
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
  CHECK(error_with("\"cores\": 4, ", "") ==
        "box.json: /cpu/facts/clusters/big: expected the key \"cores\", found none");
  CHECK(error_with("\"max_work_group\": 512", "\"max_work_group\": \"wide\"") ==
        "box.json: /gpu/facts/max_work_group: expected a whole number from 1 to 2147483647, found "
        "\"wide\"");
  CHECK(error_with("\"max_work_group\"", "\"wave\"")
            .find("box.json: /gpu/facts: expected a key of") == 0);
  CHECK(error_with("\"max_work_group\": 512", "\"max_work_group\": 63") ==
        "box.json: /gpu/tiles/unary_f32_cl_image/local: expected at most "
        "gpu.facts.max_work_group, 63 work-items, found an array");
  CHECK(error_with("\"local_kb\": 32", "\"local_kb\": 16")
            .find("box.json: /gpu/tiles/matmul_f32_cl_tiled/gemm/0/tile: expected at most "
                  "gpu.machine.local_kb, 16384 bytes of local memory, found") == 0);
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
  // A few of these are tried at each place, in turns: all of them would take minutes with a
  // sanitizer.
  constexpr char kBytes[] = {'\0', '"', '{', '}', ',', '-', '0', '9', 'e', 'x', '\xff'};
#ifdef CODL_SLOW_RUN
  constexpr size_t kTries = 1;
#else
  constexpr size_t kTries = 3;
#endif
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
      const Machine& machine = profile->machine;
      bool is_allowed = machine.cpu_threads >= 1 && machine.cpu_threads <= 64;
      for (const auto& field : kCpuMachineFields)
        is_allowed &=
            machine.cpu.*field.value >= field.least && machine.cpu.*field.value <= field.most;
      for (const auto& field : kGpuMachineFields)
        is_allowed &=
            machine.gpu.*field.value >= field.least && machine.gpu.*field.value <= field.most;
      for (const Calibration& known : profile->kernels) {
        is_allowed &= known.interval_low > 0 && known.interval_low <= known.interval_high;
        for (const double share : known.shares.of) is_allowed &= share >= 0 && share <= 1e12;
        for (const JointShare& joint : known.shares.joints())
          is_allowed &= joint.term != joint.other && joint.factor > 0 && joint.share >= 0;
      }
      for (const double speed : profile->cpu_worker_speeds)
        is_allowed &= speed >= 0.0001 && speed <= 1;
      is_allowed &= profile->transfer.sync_us.value >= 0 && profile->transfer.sync_us.value <= 1e12;
      if (!is_allowed) FAIL_CHECK("byte " << at << " made " << int{byte} << " was accepted");
    }
  }
  CHECK(refused > kTries * whole.size() * 5 / 11);
}

TEST_CASE("each value of a profile removed, or made another, is refused with its path") {
  // Values that nothing in the format allows; a number may be several numbers.
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
    CHECK(numbers >= 14);
  }
}

TEST_CASE("host is the machine that codlc runs on, its OpenCL device the same cores") {
  const DeviceProfile host = value_of(load_device_profile("host"));
  CHECK(host.machine.cpu_threads ==
        static_cast<int32_t>(
            std::min(llvm::hardware_concurrency().compute_thread_count(), kMaxThreads)));
  CHECK(host.shares_cores);
  CHECK(host.machine.gpu.units == host.machine.cpu_threads);
  CHECK(host.transfer.contention_percent[0].value == 100);
  CHECK(host.transfer.contention_percent[1].value == 100);
  const DeviceProfile pair = value_of(load_device_profile("host-pair"));
  CHECK(pair.machine.cpu_threads == 1);
  CHECK(!pair.shares_cores);
  CHECK(error_of(R"({"format_version": 3, "base": "sd855", "name": "x", "sources": {},
    "gpu": {"cores": "shared"}})") ==
        "box.json: /gpu/cores: expected \"own\" of a GPU that is no processor, found \"shared\"");
}

TEST_CASE("a profile over another has what it does not say itself from there") {
  const DeviceProfile base = value_of(load_device_profile("host-pair"));
  const DeviceProfile profile = value_of(parse_device_profile(R"({
    "format_version": 3, "base": "host-pair", "name": "mine",
    "cpu": {"threads": 3},
    "transfer": {"sync_us": {"value": 77, "origin": "assumed", "source": "me"}},
    "sources": {"me": "I say so"}})",
                                                              "mine.json"));
  CHECK(profile.name == "mine");
  CHECK(profile.machine.cpu_threads == 3);
  CHECK(profile.machine.cpu.ghz == base.machine.cpu.ghz);
  CHECK(profile.cpu_name == base.cpu_name);
  CHECK(profile.transfer.sync_us.value == 77);
  CHECK(profile.transfer.sync_us.source == "I say so");
  CHECK(profile.transfer.map_us.value == base.transfer.map_us.value);
  CHECK(profile.calibration_of(kKernelInfos[0]).shares[Term::Step] ==
        base.calibration_of(kKernelInfos[0]).shares[Term::Step]);
  CHECK(profile.hash != base.hash);
  CHECK(error_of(R"({"format_version": 3, "base": "../host", "name": "x"})") ==
        "box.json: /base: expected the name of a profile, found \"../host\"");
  // The profile gives a member of "gpu" that the base lacks; the others come from the base.
  const DeviceProfile tiled = value_of(parse_device_profile(R"({
    "format_version": 3, "base": "sd855", "name": "x", "gpu": {"tiles": {
      "conv2d_f32_cl_image": {"local": [8, 8, 4], "origin": "assumed", "source": "me"}}},
    "sources": {"me": "I say so"}})",
                                                            "x.json"));
  CHECK(tiled.tiles.size() == 1);
  CHECK(tiled.gpu_name == value_of(load_device_profile("sd855")).gpu_name);
  // Facts that the base has and this device has not.
  constexpr const char* kOther =
      R"({"format_version": 3, "base": "sd855", "name": "x", "power": POWER})";
  std::string other = kOther;
  const DeviceProfile sd855 = value_of(load_device_profile("sd855"));
  REQUIRE(sd855.power);
  CHECK_FALSE(
      value_of(parse_device_profile(other.replace(other.find("POWER"), 5, "null"), "x.json"))
          .power);
  CHECK(error_of(changed("\"kernel_library\": \"codl\"", "\"kernel_library\": null")) ==
        "box.json: /kernel_library: expected a string, found null");
  CHECK(error_of(R"({"base": "no_such"})")
            .find("box.json: /base: expected FILE.json or a device of") == 0);
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
    for (const Calibration& known : profile.kernels) CHECK_FALSE(known.source.empty());
  }
}

TEST_CASE("a device is known by its chip's name, model and phones, in any case and punctuation") {
  for (const auto& [name, profile] : {std::pair("Snapdragon 8 Gen 2", "sd8gen2"),
                                      {"snapdragon855", "sd855"},
                                      {"SNAPDRAGON-855", "sd855"},
                                      {"Snapdragon 855+", "sd855plus"},
                                      {"Qualcomm Snapdragon 8+ Gen 1", "sd8plusgen1"},
                                      {"SM8150", "sd855"},
                                      {"SM8150-AC", "sd855plus"},
                                      {"sm8650-ac", "sd8gen3"},
                                      {"mt6989", "dimensity9300"},
                                      {"MediaTek Dimensity 9300", "dimensity9300"},
                                      {"mt6991", "dimensity9400"},
                                      {"Snapdragon 8 Elite", "sd8elite"},
                                      {"Snapdragon 8 Elite Gen 5", "sd8elitegen5"},
                                      {"SM8850-AC", "sd8elitegen5"},
                                      {"S5E9945", "exynos2400"},
                                      {"tensor g4", "tensor_g4"},
                                      {"Google Pixel 7", "tensor_g2"},
                                      {"galaxy s23", "sd8gen2"},
                                      {"Xiaomi Mi 9", "sd855"},
                                      {"SD-855", "sd855"},
                                      {"OnePlus 7 Pro", "sd855"},
                                      {"OnePlus 11 5G", "sd8gen2"},
                                      {"Samsung Galaxy S23+", "sd8gen2"},
                                      {"Galaxy S24 Ultra", "sd8gen3"},
                                      {"nothing phone 2", "sd8plusgen1"},
                                      {"Sony Xperia 1 V", "sd8gen2"},
                                      {"rk3588s", "rk3588"}}) {
    CAPTURE(name);
    CHECK(find_device(name) == profile);
  }
  CHECK(value_of(load_device_profile("Galaxy S23")).name == "sd8gen2");
  for (const char* name : {"", " ", "+", "sd", "sm", "qualcomm", "Pixel", "../sd855", "sd855/",
                           "Pixel 8", "Galaxy S24" /* two chips */})
    CHECK(find_device(name) == "");
}

TEST_CASE(
    "a misspelt device is answered with the one that is meant, another with those there are") {
  const std::string expected = "--device: expected FILE.json or a device of --list-devices, found ";
  const std::string makes = "; codl-profile on the device itself makes one";
  CHECK(test::error_of(load_device_profile("no_such")) ==
        expected +
            "\"no_such\", which has no profile; others have, like sd8elitegen5, dimensity9400, "
            "exynos2400, sd8elite, tensor_g4, dimensity8300" +
            makes);
  CHECK(test::error_of(load_device_profile("snapdargon 855")) ==
        expected + "\"snapdargon 855\" (did you mean Snapdragon 855 (sd855)?)");
  CHECK(test::error_of(load_device_profile("Galaxy S24")) ==
        expected +
            "\"Galaxy S24\", which has several chips: Galaxy S24 (exynos2400), Galaxy S24 "
            "(sd8gen3)");
  CHECK(test::error_of(load_device_profile("tensor_g3")) ==
        expected + "\"tensor_g3\", which has no profile; others have, like tensor_g2, tensor_g4" +
            makes);
  CHECK(test::error_of(load_device_profile("Pixel 8")) ==
        expected +
            "\"Pixel 8\", which has no profile; others have, like Pixel 5 (sd765g), Pixel 4 "
            "(sd855), Pixel 7 (tensor_g2), Pixel 9 (tensor_g4)" +
            makes);
  for (const char* path : {"no_such.json", "../host", ""})
    CHECK(test::error_of(load_device_profile(path)) != "");
}

}  // namespace
}  // namespace codl::compiler
