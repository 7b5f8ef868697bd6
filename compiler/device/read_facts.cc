// Reads "soc" and "facts" of a profile, and refuses facts that cannot be true together.
#include <algorithm>

#include "compiler/device/profile_parts.h"
#include "llvm/Support/FormatVariadic.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

// Data sheets round: 341.3 multiply-adds for 1024 / 3, 3.19 GHz for 3187 MHz.
constexpr double kRounding = 1.01;

std::string number_text(double value) { return llvm::formatv("{0}", llvm::format("%.6g", value)); }

}  // namespace

std::string joined_names(const JsonValue& json) {
  std::string text;
  for (const JsonValue& name : json.elements())
    text += (text.empty() ? "" : ", ") + name.as_string();
  if (text.empty()) json.expected("one name or more");
  return text;
}

void read_soc(const JsonValue& json, const Sources& sources, DeviceProfile& profile) {
  read_origin(json, sources);
  profile.facts.push_back({"soc manufacturer", joined_names(json.member("manufacturer"))});
  profile.facts.push_back({"soc model", joined_names(json.member("model"))});
}

void read_cpu_facts(const JsonValue& json, const Sources& sources, DeviceProfile& profile) {
  read_origin(json, sources);
  const JsonValue clusters = json.optional_member("clusters");
  if (!clusters) return;
  int64_t all_cores = 0;
  int64_t most_mhz = 0;
  for (const std::string& name : clusters.keys()) {
    const JsonValue cluster = clusters.member(name);
    const int64_t cores = cluster.member("cores").as_integer(1, kMaxThreads);
    const int64_t mhz = cluster.member("mhz").as_integer(1, INT32_MAX);
    all_cores += cores;
    most_mhz = std::max(most_mhz, mhz);
    profile.facts.push_back(
        {"cpu cluster", llvm::formatv("{0} x {1} at {2} MHz", cores, name, mhz).str()});
  }
  const Machine& machine = profile.machine;
  if (all_cores < machine.cpu_threads)
    clusters.expected(
        llvm::formatv("{0} cores in all or more, as many as cpu.threads; there are {1}",
                      machine.cpu_threads, all_cores)
            .str());
  if (machine.cpu.ghz * 1000 > kRounding * static_cast<double>(most_mhz))
    clusters.expected(llvm::formatv("a cluster of cpu.machine.ghz, {0}; the fastest has {1} MHz",
                                    number_text(machine.cpu.ghz), most_mhz)
                          .str());
}

void read_gpu_facts(const JsonValue& json, const JsonValue& machine, const Sources& sources,
                    DeviceProfile& profile) {
  read_origin(json, sources);
  const GpuMachine& gpu = profile.machine.gpu;
  if (const JsonValue items = json.optional_member("max_work_group")) {
    profile.gpu_facts.max_group_items = static_cast<int32_t>(items.as_integer(1, INT32_MAX));
    profile.facts.push_back(
        {"gpu max_work_group", std::to_string(profile.gpu_facts.max_group_items)});
  }
  if (const JsonValue alus = json.optional_member("alus")) {
    const int64_t count = alus.as_integer(1, INT32_MAX);
    profile.facts.push_back({"gpu alus", std::to_string(count)});
    if (gpu.units * gpu.fma_per_cycle > kRounding * static_cast<double>(count))
      machine.member("fma_per_cycle")
          .expected(llvm::formatv("at most gpu.facts.alus, {0}, over {1} units", count,
                                  number_text(gpu.units))
                        .str());
  }
  for (const char* name : {"opencl_name", "opencl_version", "driver", "extensions", "svm"})
    if (const JsonValue text = json.optional_member(name))
      profile.facts.push_back({(llvm::Twine("gpu ") + name).str(), text.as_string()});
}

void check_caches(const JsonValue& machine, Processor processor, const DeviceProfile& profile) {
  // These are the sizes of the cache levels: the first two of a core or unit, the last of all; 0:
  // there is none.
  const CpuMachine& cpu = profile.machine.cpu;
  const GpuMachine& gpu = profile.machine.gpu;
  const bool is_cpu = processor == Processor::Cpu;
  const double sizes[] = {is_cpu ? cpu.l1_kb : std::max(gpu.l1_kb, gpu.texture_kb),
                          is_cpu ? cpu.l2_kb : gpu.l2_kb,
                          is_cpu ? cpu.last_level_kb : gpu.last_level_kb};
  constexpr const char* kNames[] = {"l1_kb", "l2_kb", "last_level_kb"};
  for (int i = 1; i < 3; ++i)
    if (sizes[i] > 0 && sizes[i] < sizes[i - 1])
      machine.member(kNames[i]).expected(
          llvm::formatv("a cache no smaller than the one before it, {0} KB",
                        number_text(sizes[i - 1]))
              .str());
}

}  // namespace codl::compiler
