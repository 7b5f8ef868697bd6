// Tests "soc" and "facts" of profiles, and facts that contradict each other.
#include <string>

#include "compiler/device/device_profile.h"
#include "llvm/ADT/StringRef.h"
#include "test/support/catch.h"
#include "test/support/expected.h"

namespace codl::compiler {
namespace {

using test::error_of;
using test::value_of;

// Returns a profile with sd855 as its base (4 threads at 2.84 GHz, 768 lanes in 2 units at 0.585
// GHz).
std::string over_sd855(const std::string& members) {
  return R"({"format_version": 3, "base": "sd855", "name": "x", )" + members +
         R"(, "sources": {"me": "I say so"}})";
}

std::string error_with(const std::string& members) {
  return error_of(parse_device_profile(over_sd855(members), "x.json"));
}

std::string with_clusters(const std::string& clusters) {
  return error_with(R"("cpu": {"facts": {"origin": "assumed", "source": "me", "clusters": )" +
                    clusters + "}}");
}

// Returns sd855's machines with one number changed.
std::string with_fact(const std::string& processor, const std::string& name,
                      const std::string& value) {
  const bool is_cpu = processor == "cpu";
  std::string machine =
      is_cpu ? R"({"origin": "assumed", "source": "me", "ghz": 2.84, "vector_lanes": 4,
        "fma_per_cycle": 2, "loads_per_cycle": 2, "l1_kb": 64, "l2_kb": 512,
        "last_level_kb": 2048, "l2_gb_per_s": 90, "last_level_gb_per_s": 28,
        "memory_gb_per_s": 13, "memory_all_gb_per_s": 20, "fork_join_us": 15})"
             : R"({"origin": "assumed", "source": "me", "units": 2, "wave_width": 64,
        "ghz": 0.585, "fma_per_cycle": 384, "max_waves": 16, "registers_kb": 64,
        "local_kb": 32, "l1_kb": 1, "texture_kb": 0, "l2_kb": 128, "last_level_kb": 0,
        "l1_gb_per_s": 37, "l2_gb_per_s": 102, "last_level_gb_per_s": 34,
        "memory_gb_per_s": 20, "latency_ns": 400, "launch_us": 0})";
  const size_t begin = machine.find('"' + name + "\": ") + name.size() + 4;
  machine.replace(begin, machine.find_first_of(",}", begin) - begin, value);
  return error_with("\"" + processor + R"(": {"machine": )" + machine + "}");
}

TEST_CASE("names of the chip and of the GPU are read and shown") {
  const std::string text = describe(value_of(load_device_profile("sd855")));
  for (const char* line :
       {"soc manufacturer         QTI, Qualcomm\n", "soc model                SM8150\n",
        "gpu alus                 768\n", "gpu opencl_name          QUALCOMM Adreno(TM)\n"}) {
    INFO(text);
    CHECK(text.find(line) != std::string::npos);
  }
  CHECK(error_with(R"("soc": {"manufacturer": ["Q"], "model": [], "origin": "assumed",
                              "source": "me"})") ==
        "x.json: /soc/model: expected one name or more, found an array");
  CHECK(error_with(R"("soc": {"manufacturer": ["Q"], "model": ["M"], "origin": "assumed",
                              "source": "me"})") == "");
}

TEST_CASE("clusters add up to the workers, and one of them has their clock") {
  CHECK(with_clusters(
            R"({"big": {"cores": 1, "mhz": 2840}, "little": {"cores": 3, "mhz": 2000}})") == "");
  CHECK(
      with_clusters(R"({"big": {"cores": 1, "mhz": 2840}, "little": {"cores": 2, "mhz": 2000}})") ==
      "x.json: /cpu/facts/clusters: expected 4 cores in all or more, as many as cpu.threads; "
      "there are 3, found an object");
  CHECK(with_clusters(R"({"big": {"cores": 4, "mhz": 2800}})") ==
        "x.json: /cpu/facts/clusters: expected a cluster of cpu.machine.ghz, 2.84; the fastest has "
        "2800 MHz, found an object");
}

TEST_CASE("a cache is no smaller than the one before it, and a core has two") {
  CHECK(with_fact("cpu", "l2_kb", "64") == "");
  CHECK(with_fact("cpu", "last_level_kb", "0") == "");
  CHECK(with_fact("cpu", "l2_kb", "32") ==
        "x.json: /cpu/machine/l2_kb: expected a cache no smaller than the one before it, 64 KB, "
        "found 32");
  CHECK(with_fact("cpu", "last_level_kb", "256") ==
        "x.json: /cpu/machine/last_level_kb: expected a cache no smaller than the one before it, "
        "512 KB, found 256");
  CHECK(with_fact("gpu", "texture_kb", "256") ==
        "x.json: /gpu/machine/l2_kb: expected a cache no smaller than the one before it, 256 KB, "
        "found 128");
  CHECK(llvm::StringRef(with_fact("cpu", "l1_kb", "0")).startswith("x.json: /cpu/machine/l1_kb: "));
  CHECK(llvm::StringRef(with_fact("cpu", "l2_kb", "0")).startswith("x.json: /cpu/machine/l2_kb: "));
}

TEST_CASE("a GPU's rates are within its queues and clock") {
  CHECK(with_fact("gpu", "fma_per_cycle", "384") == "");
  CHECK(with_fact("gpu", "fma_per_cycle", "390") ==
        "x.json: /gpu/machine/fma_per_cycle: expected at most gpu.facts.alus, 768, over 2 units, "
        "found 390");
  const auto with_rate = [](const std::string& macs_per_ns) {
    return error_with(R"("gpu": {"tiles": {"conv2d_f32_cl_tiled": {"gemm": [{"tile":
        [64, 64, 16, 8, 4, 2], "macs_per_ns": )" +
                      macs_per_ns + R"(, "step_ns": 9, "residents": 2}],
        "origin": "measured", "source": "me"}}})");
  };
  CHECK(with_rate("224") == "");
  CHECK(with_rate("448") ==
        "x.json: /gpu/tiles/conv2d_f32_cl_tiled/gemm/0/macs_per_ns: expected no more than the "
        "machine's fma_per_cycle x ghz, 224.64, found 448");
}

}  // namespace
}  // namespace codl::compiler
