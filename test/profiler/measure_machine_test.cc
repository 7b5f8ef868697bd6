#include "profiler/measure/measure_machine.h"

#include <filesystem>
#include <fstream>

#include "test/support/catch.h"

namespace codl::profiler {
namespace {

// Returns sizes of 8 KiB to 64 MiB with the time of a load for each.
template <typename Time>
std::vector<std::pair<double, double>> curve_of(Time time) {
  std::vector<std::pair<double, double>> curve;
  for (double kb = 8; kb <= 65536; kb *= 2) curve.emplace_back(kb, time(kb));
  return curve;
}

TEST_CASE("caches end where a load takes longer") {
  const CacheSizes three = cache_steps(curve_of([](double kb) {
    return kb <= 32 ? 1.0 : kb <= 512 ? 4.0 : kb <= 8192 ? 10.0 : 80.0;
  }));
  CHECK(three.l1_kb == 32);
  CHECK(three.l2_kb == 512);
  CHECK(three.last_level_kb == 8192);
  // The steps are not sharp: part of the data is still in the cache.
  const CacheSizes two = cache_steps(curve_of([](double kb) {
    return kb <= 64 ? 1.0 : kb <= 128 ? 3.0 : kb <= 1024 ? 4.0 : kb <= 2048 ? 40.0 : 80.0;
  }));
  CHECK(two.l1_kb == 64);
  CHECK(two.l2_kb == 1024);
  CHECK(two.last_level_kb == 0);
  CHECK(cache_steps(curve_of([](double) { return 5.0; })).l1_kb == 0);
  CHECK(cache_steps({}).l1_kb == 0);
}

TEST_CASE("caches are read as Linux tells them, code's left out") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "codl_measure_machine_test";
  std::filesystem::remove_all(folder);
  const auto add = [&](int index, const char* level, const char* type, const char* size) {
    const std::filesystem::path own = folder / ("index" + std::to_string(index));
    std::filesystem::create_directories(own);
    std::ofstream(own / "level") << level << "\n";
    std::ofstream(own / "type") << type << "\n";
    std::ofstream(own / "size") << size << "\n";
  };
  CHECK(read_cache_sizes(folder.string()).l1_kb == 0);
  add(0, "1", "Data", "48K");
  add(1, "1", "Instruction", "32K");
  add(2, "2", "Unified", "2M");
  add(3, "3", "Unified", "107520K");
  const CacheSizes sizes = read_cache_sizes(folder.string());
  CHECK(sizes.l1_kb == 48);
  CHECK(sizes.l2_kb == 2048);
  CHECK(sizes.last_level_kb == 107520);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a machine that is measured has all its fields") {
  MeasuredCpu processor(1, {});
  MachineFacts facts;
  measure_cpu_machine(processor, &facts);
  CHECK(facts.missing(false).empty());
  CHECK(facts.machine.cpu.fork_join_us == 0);
}

}  // namespace
}  // namespace codl::profiler
