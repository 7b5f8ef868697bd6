// Describes a device profile for people.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "compiler/device/device_profile.h"
#include "compiler/device/profile_parts.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {

namespace {

void print_line(llvm::raw_ostream& os, llvm::StringRef name, llvm::StringRef value) {
  const auto shown = [](llvm::StringRef text) {
    return tools::printable({text.data(), text.size()});
  };
  os << llvm::formatv("{0,-24} {1}\n", shown(name), shown(value));
}

void print_quantity(llvm::raw_ostream& os, llvm::StringRef name, const Quantity& quantity) {
  print_line(os, name, llvm::formatv("{0:f2} {1}", quantity.value, name_of(quantity.origin)).str());
}

void print_copy_costs(llvm::raw_ostream& os, const std::string& name, const CopyCosts& costs) {
  print_quantity(os, name + "_call_us", costs.call_us);
  print_quantity(os, name + "_call_us_per_mb", costs.call_us_per_mb);
  print_quantity(os, name + "_us", costs.rest_us);
  print_quantity(os, name + "_us_per_mb", costs.rest_us_per_mb);
}

void print_host_costs(llvm::raw_ostream& os, const HostCosts& costs, Sharing sharing) {
  print_quantity(os, "transfer enqueue_us", costs.enqueue_us);
  print_quantity(os, "transfer submit_us", costs.submit_us);
  if (costs.recorded_us) print_quantity(os, "transfer recorded_us", *costs.recorded_us);
  print_quantity(os, "transfer start_us", costs.start_us);
  print_quantity(os, "transfer wake_us", costs.wake_us);
  print_quantity(os, "transfer cpu_resume_us", costs.cpu_resume_us);
  print_quantity(os, "transfer cpu_cold_us_per_mb", costs.cpu_cold_us_per_mb);
  print_quantity(os, "transfer gpu_cold_us_per_mb", costs.gpu_cold_us_per_mb);
  if (sharing != Sharing::Separate) return;
  print_quantity(os, "transfer queue_us", costs.queue_us);
  print_copy_costs(os, "transfer upload", costs.upload);
  print_copy_costs(os, "transfer download", costs.download);
  print_line(os, "transfer download_call", costs.download_call_waits ? "waits" : "returns");
}

// Prints one line about the calibration of a kernel or a family.
void print_calibration(llvm::raw_ostream& os, llvm::StringRef name, const Calibration& known) {
  std::string text;
  for (int term = 0; term < kTermCount; ++term)
    if (known.shares.of[term] > 0)
      text += llvm::formatv("{0}{1} {2:f3}", text.empty() ? "" : ", ", kTermNames[term],
                            known.shares.of[term]);
  for (const JointShare& joint : known.shares.joints())
    text += llvm::formatv("{0}{1} {2:f3}", text.empty() ? "" : ", ", name_of(joint), joint.share);
  os << llvm::formatv("  {0,-34} {1,-8} {2,-9} {3:f2} to {4:f2}  {5}\n", name,
                      kLevelNames[static_cast<size_t>(known.level)], name_of(known.origin),
                      known.interval_low, known.interval_high, text);
}

// Returns the origins of the numbers that predictions use: models and costs.
std::string origins_of(const DeviceProfile& profile) {
  std::set<Origin> origins;
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.processor == Processor::Cpu || profile.has_gpu)
      origins.insert(profile.calibration_of(kernel).origin);
  if (profile.has_gpu)
    for (const Quantity* cost : {&profile.transfer.sync_us, &profile.transfer.map_us,
                                 &profile.transfer.map_us_per_mb, &profile.transfer.copy_us_per_mb})
      origins.insert(cost->origin);
  if (profile.has_gpu) origins.insert(profile.transfer.sync_origin());
  std::string text;
  for (const Origin origin : origins)
    text += (text.empty() ? "" : ", ") + std::string(name_of(origin));
  return text;
}

// Returns the level of the processor's best kernels; plain loops do not count.
const char* level_of(const DeviceProfile& profile, Processor processor) {
  Level best = Level::Facts;
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.processor == processor && kernels::family_of(kernel) != kernels::KernelFamily::Loops)
      best = std::max(best, profile.calibration_of(kernel).level);
  return best == Level::Facts ? "extrapolated" : kLevelNames[static_cast<size_t>(best)];
}

std::string levels_of(const DeviceProfile& profile) {
  const std::string cpu = level_of(profile, Processor::Cpu);
  const std::string gpu = profile.has_gpu ? level_of(profile, Processor::Gpu) : cpu;
  return cpu == gpu ? cpu : "CPU " + cpu + ", GPU " + gpu;
}

std::string year_text(int32_t year) { return year == 0 ? "-" : std::to_string(year); }

}  // namespace

llvm::Expected<std::string> describe_devices(llvm::ArrayRef<std::string> names) {
  constexpr const char* kTitles[] = {"phones", "other machines", "templates"};
  constexpr size_t kColumns = 7;
  using Row = std::array<std::string, kColumns>;
  const Row heading = {"name", "chip", "GPU", "times", "numbers", "year", "description"};
  std::vector<Row> rows[std::size(kTitles)];
  size_t widths[kColumns] = {};
  const auto add = [&](std::vector<Row>& section, Row row) {
    for (size_t i = 0; i < kColumns; ++i) {
      row[i] = tools::printable(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
    section.push_back(std::move(row));
  };
  for (std::vector<Row>& section : rows) add(section, heading);
  for (const std::string& name : names.empty() ? list_devices() : names.vec()) {
    CODL_ASSIGN_OR_RETURN(profile, load_device_profile(name));
    // Leaves out details that codl-profile adds: "NVIDIA H200, 132 units".
    const llvm::StringRef gpu = llvm::StringRef(profile.gpu_name).split(',').first;
    // Devices that were asked for stay in their order, in one section.
    add(rows[names.empty() ? static_cast<size_t>(profile.kind) : 0],
        {profile.name, year_text(profile.chip_year), profile.has_gpu ? gpu.str() : "none",
         levels_of(profile), origins_of(profile), year_text(profile.year), profile.description});
  }
  std::string text;
  const auto print_rows = [&](const std::vector<Row>& section) {
    for (const Row& row : section) {
      text += " ";
      for (size_t i = 0; i + 1 < kColumns; ++i)
        text += " " + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
      text += " " + row.back() + "\n";
    }
  };
  if (!names.empty()) {
    print_rows(rows[0]);
    return text;
  }
  for (size_t kind = 0; kind < std::size(kTitles); ++kind) {
    text += (kind == 0 ? "" : "\n") + std::string(kTitles[kind]) + "\n";
    print_rows(rows[kind]);
  }
  return text +
         "\nA chip's name, its model number and a phone that has it mean its profile: "
         "--device=SM8550, --device=\"Galaxy S23\".\n"
         "\nchip: the year in which it came out; times: what they stand on, samples measured "
         "there, "
         "anchors (latencies\nof that chip that others published), or extrapolated, from facts "
         "alone: "
         "no claim about latency; numbers: the\norigins of what predictions are made from "
         "(profiles/README.md), most of them of that year\n";
}

const char* name_of(Origin origin) { return kOriginNames[static_cast<size_t>(origin)]; }

std::string describe(const DeviceProfile& profile) {
  constexpr const char* kKinds[] = {"phone", "machine", "template"};
  std::string text;
  llvm::raw_string_ostream os(text);
  print_line(os, "profile", profile.name);
  print_line(os, "description", profile.description);
  print_line(os, "kind", kKinds[static_cast<size_t>(profile.kind)]);
  if (profile.chip_year != 0) print_line(os, "chip year", std::to_string(profile.chip_year));
  if (profile.year != 0) print_line(os, "year of the numbers", std::to_string(profile.year));
  print_line(os, "kernel library", profile.kernel_library);
  print_line(os, "cpu", profile.cpu_name);
  print_line(os, "cpu threads", std::to_string(profile.machine.cpu_threads));
  if (!profile.cpu_worker_speeds.empty()) {
    std::string speeds;
    for (const double speed : profile.cpu_worker_speeds)
      speeds += llvm::formatv("{0}{1:f4}", speeds.empty() ? "" : " ", speed).str();
    print_line(os, "cpu worker speeds", speeds);
  }
  if (profile.has_gpu) {
    print_line(os, "gpu", profile.gpu_name);
    print_line(os, "gpu layout", profile.gpu_layout == Layout::Image2d ? "image" : "buffer");
    print_line(os, "gpu sharing", name_of(profile.transfer.sharing));
    print_line(os, "gpu gate", name_of(profile.gate));
    print_line(os, "gpu image rows",
               llvm::formatv("multiples of {0} texels", profile.image_row_texels).str());
    print_line(
        os, "gpu image limit",
        llvm::formatv("{0} x {1} texels", profile.image_max_width, profile.image_max_height).str());
  }
  for (const DeviceFact& fact : profile.facts) print_line(os, fact.name, fact.value);
  for (const DeviceFact& tile : profile.tiles) print_line(os, "gpu tile " + tile.name, tile.value);
  for (const DeviceFact& quirk : profile.quirks) print_line(os, "quirk " + quirk.name, quirk.value);
  if (profile.has_gpu) {
    const TransferCosts& transfer = profile.transfer;
    print_quantity(os, "transfer sync_us", transfer.sync_us);
    print_quantity(os, "transfer map_us", transfer.map_us);
    print_quantity(os, "transfer map_us_per_mb", transfer.map_us_per_mb);
    print_quantity(os, "transfer copy_us_per_mb", transfer.copy_us_per_mb);
    if (transfer.host) print_host_costs(os, *transfer.host, profile.transfer.sharing);
    if (transfer.flags) {
      print_quantity(os, "transfer flag_to_cpu_us", transfer.flags->to_cpu_us);
      print_quantity(os, "transfer flag_to_gpu_us", transfer.flags->to_gpu_us);
    }
    print_quantity(os, "cpu contention percent", transfer.contention_percent[0]);
    print_quantity(os, "gpu contention percent", transfer.contention_percent[1]);
    print_quantity(os, "memory gb per s", transfer.memory_gb_per_s);
    if (profile.launch_us.value > 0) print_quantity(os, "gpu launch_us", profile.launch_us);
  }
  for (size_t processor = 0; processor < 2; ++processor) {
    const bool is_cpu = processor == 0;
    if (profile.interference_percent[processor].value > 0)
      print_quantity(os, is_cpu ? "cpu interference percent" : "gpu interference percent",
                     profile.interference_percent[processor]);
    if (profile.warm_weight_mbytes[processor].value > 0)
      print_quantity(os, is_cpu ? "cpu warm_weight_mbytes" : "gpu warm_weight_mbytes",
                     profile.warm_weight_mbytes[processor]);
  }
  if (profile.power) {
    print_quantity(os, "power base_w", profile.power->base_w);
    print_quantity(os, "power cpu_w", profile.power->cpu_w);
    print_quantity(os, "power gpu_w", profile.power->gpu_w);
  }
  os << "kernels: what it stands on, origin, interval of times over predictions, share of each "
        "term\n";
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.processor == Processor::Cpu || profile.has_gpu)
      print_calibration(os, kernel.symbol, profile.calibration_of(kernel));
  return os.str();
}

}  // namespace codl::compiler
