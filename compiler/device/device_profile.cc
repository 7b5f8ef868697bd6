#include "compiler/device/device_profile.h"

#include <algorithm>
#include <memory>
#include <new>
#include <system_error>

#include "compiler/device/device_names.h"
#include "compiler/device/profile_parts.h"
#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "compiler/support/input_file.h"
#include "compiler/support/json_reader.h"
#include "kernels/common/contract/tasks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"
#include "schema/plan_layout.h"
#include "tools/files.h"
#include "tools/nearest.h"

namespace codl::compiler {

namespace {

constexpr int64_t kProfileVersion = 3;
// Limits the profiles that a profile is based on.
constexpr int kMaxBases = 4;

Sources read_sources(const JsonValue& json) {
  Sources sources;
  for (const std::string& id : json.keys()) sources[id] = json.member(id).as_string();
  return sources;
}

Quantity read_quantity(const JsonValue& json, const Sources& sources, int max_power = 12) {
  const double value = json.member("value").as_number(max_power);
  Quantity quantity = read_origin(json, sources);
  quantity.value = value;
  return quantity;
}

Quantity read_percent(const JsonValue& json, const Sources& sources) {
  return read_quantity(json, sources, kMaxPercentPower);
}

// Reads a limit in texels, or a count: a Quantity that is a whole number.
int32_t read_whole(const JsonValue& json, const Sources& sources) {
  read_quantity(json, sources);
  return static_cast<int32_t>(json.member("value").as_integer(1, kMaxDim));
}

int32_t read_year(const JsonValue& json) {
  return json ? static_cast<int32_t>(json.as_integer(1980, 2999)) : 0;
}

CopyCosts read_copy(const JsonValue& json, const std::string& name, const Sources& sources) {
  const auto number = [&](const char* unit) {
    return read_quantity(json.member(name + unit), sources);
  };
  return {number("_call_us"), number("_call_us_per_mb"), number("_us"), number("_us_per_mb")};
}

// Either all of them are given, or none.
std::optional<HostCosts> read_host_costs(const JsonValue& json, Sharing sharing,
                                         const Sources& sources) {
  if (!json.has_member("enqueue_us")) return std::nullopt;
  HostCosts costs;
  costs.enqueue_us = read_quantity(json.member("enqueue_us"), sources);
  costs.submit_us = read_quantity(json.member("submit_us"), sources);
  if (const JsonValue recorded = json.optional_member("recorded_us"))
    costs.recorded_us = read_quantity(recorded, sources);
  costs.start_us = read_quantity(json.member("start_us"), sources);
  costs.wake_us = read_quantity(json.member("wake_us"), sources);
  if (json.has_member("cpu_resume_us")) {
    costs.cpu_resume_us = read_quantity(json.member("cpu_resume_us"), sources);
    costs.cpu_cold_us_per_mb = read_quantity(json.member("cpu_cold_us_per_mb"), sources);
    costs.gpu_cold_us_per_mb = read_quantity(json.member("gpu_cold_us_per_mb"), sources);
  }
  if (sharing != Sharing::Separate) return costs;
  costs.queue_us = read_quantity(json.member("queue_us"), sources);
  costs.upload = read_copy(json, "upload", sources);
  costs.download = read_copy(json, "download", sources);
  costs.download_call_waits = json.member("download_call").as_choice({"returns", "waits"}) == 1;
  return costs;
}

TransferCosts read_transfer(const JsonValue& json, Sharing sharing, const Sources& sources) {
  TransferCosts costs;
  costs.sharing = sharing;
  costs.sync_us = read_quantity(json.member("sync_us"), sources);
  costs.map_us = read_quantity(json.member("map_us"), sources);
  costs.map_us_per_mb = read_quantity(json.member("map_us_per_mb"), sources);
  costs.copy_us_per_mb = read_quantity(json.member("copy_us_per_mb"), sources);
  costs.host = read_host_costs(json, sharing, sources);
  // One alone is refused: the other is missing.
  if (json.has_member("flag_to_cpu_us") || json.has_member("flag_to_gpu_us"))
    costs.flags = {read_quantity(json.member("flag_to_cpu_us"), sources),
                   read_quantity(json.member("flag_to_gpu_us"), sources)};
  costs.contention_percent[0] = read_percent(json.member("cpu_contention_percent"), sources);
  costs.contention_percent[1] = read_percent(json.member("gpu_contention_percent"), sources);
  if (const JsonValue rate = json.optional_member("memory_gb_per_s"))
    costs.memory_gb_per_s = read_quantity(rate, sources);
  return costs;
}

PowerFigures read_power(const JsonValue& json, const Sources& sources) {
  PowerFigures power;
  power.base_w = read_quantity(json.member("base_w"), sources);
  power.cpu_w = read_quantity(json.member("cpu_w"), sources);
  power.gpu_w = read_quantity(json.member("gpu_w"), sources);
  return power;
}

// Reads one speed per worker; the fastest comes first.
void read_worker_speeds(const JsonValue& json, const Sources& sources, DeviceProfile& profile) {
  read_origin(json, sources);
  const JsonValue values = json.member("values");
  for (const JsonValue& value : values.elements()) {
    const double speed = value.as_number();
    if (speed > 1 || speed * kFullSpeed < 1) value.expected("a number from 0.0001 to 1");
    profile.cpu_worker_speeds.push_back(speed);
  }
  if (profile.cpu_worker_speeds.size() != static_cast<size_t>(profile.machine.cpu_threads))
    values.expected("as many numbers as cpu.threads");
  else if (profile.cpu_worker_speeds[0] != 1)
    values.expected("1 of the first worker, the fastest");
}

// Reads the keys that `cpu` and `gpu` have in common.
void read_surroundings(const JsonValue& json, Processor processor, const Sources& sources,
                       DeviceProfile& profile) {
  const auto index = static_cast<size_t>(processor);
  if (const JsonValue percent = json.optional_member("interference_percent"))
    profile.interference_percent[index] = read_percent(percent, sources);
  if (const JsonValue mbytes = json.optional_member("warm_weight_mbytes"))
    profile.warm_weight_mbytes[index] = read_quantity(mbytes, sources);
}

// Reads one name of a list of schema/plan.h, beginning at `first`.
template <typename Enum>
Enum read_one(const JsonValue& json, llvm::ArrayRef<const char*> names, Enum first) {
  const auto skipped = static_cast<size_t>(first);
  const llvm::SmallVector<llvm::StringRef> choices(names.begin() + skipped, names.end());
  return static_cast<Enum>(skipped + json.as_choice(choices));
}

void read_gpu(const JsonValue& json, const Sources& sources, DeviceProfile& profile) {
  constexpr Layout kLayouts[] = {Layout::Nhwc, Layout::Image2d};
  profile.gpu_name = json.member("name").as_string();
  profile.gpu_layout = kLayouts[json.member("layout").as_choice({"buffer", "image"})];
  profile.transfer.sharing =
      read_one<Sharing>(json.member("sharing"), kSharingNames, Sharing::FineSvm);
  profile.gate = read_one<Gate>(json.member("gate"), kGateNames, Gate::HostEnqueue);
  if (profile.transfer.sharing == Sharing::Separate && profile.gate == Gate::UserEvent)
    json.member("gate").expected("\"host_enqueue\" with separate sharing");
  profile.machine.is_gpu_a_processor = json.member("device_type").as_choice({"gpu", "cpu"}) == 1;
  read_machine(json.member("machine"), Processor::Gpu, sources, profile);
  if (const JsonValue cores = json.optional_member("cores")) {
    profile.shares_cores = cores.as_choice({"own", "shared"}) == 1;
    if (profile.shares_cores && !profile.machine.is_gpu_a_processor)
      cores.expected("\"own\" of a GPU that is no processor");
    if (profile.shares_cores) profile.machine.gpu.units = profile.machine.cpu_threads;
  }
  set_gpu_facts(profile.machine, &profile.gpu_facts);
  if (const JsonValue facts = json.optional_member("facts"))
    read_gpu_facts(facts, json.member("machine"), sources, profile);
  if (const JsonValue tiles = json.optional_member("tiles")) read_tiles(tiles, sources, profile);
  if (const JsonValue launch = json.optional_member("launch_us"))
    profile.launch_us = read_quantity(launch, sources);
  read_surroundings(json, Processor::Gpu, sources, profile);
  check_caches(json.member("machine"), Processor::Gpu, profile);
  if (const JsonValue quirks = json.optional_member("quirks"))
    for (const std::string& name : quirks.keys())
      profile.quirks.push_back({name, quirks.member(name).as_string()});
  profile.image_max_width = read_whole(json.member("image_max_width"), sources);
  profile.image_max_height = read_whole(json.member("image_max_height"), sources);
  if (const JsonValue row_texels = json.optional_member("image_row_texels"))
    profile.image_row_texels = read_whole(row_texels, sources);
}

bool is_file_name_part(llvm::StringRef name) {
  return !name.empty() && name.front() != '.' && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.';
  });
}

// Returns the folder of named profiles. In a build tree it is a link (compiler/CMakeLists.txt).
std::string profile_directory() {
  const std::string program = llvm::sys::fs::getMainExecutable("", nullptr);
  llvm::SmallString<256> directory(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(program)));
  llvm::sys::path::append(directory, "share", "codl", "profiles");
  return directory.str().str();
}

struct ProfileText {
  std::string path;
  std::string json;
};

// Reads the file that a name or a path means. `where` names the asker in messages.
llvm::Expected<ProfileText> read_profile(llvm::StringRef name_or_path, llvm::StringRef where) {
  std::string path;
  if (name_or_path.endswith(".json"))
    path = name_or_path.str();
  else if (is_file_name_part(name_or_path))
    path = profile_path(name_or_path);
  if (!name_or_path.endswith(".json") && !llvm::sys::fs::exists(path))
    if (const std::string name = find_device(name_or_path); !name.empty())
      path = profile_path(name);
  if (!path.empty() && llvm::sys::fs::exists(path)) {
    CODL_ASSIGN_OR_RETURN(json, read_input(path, tools::kMaxTextBytes));
    return ProfileText{path, std::move(json)};
  }
  const std::vector<std::string> names = list_devices();
  if (name_or_path.endswith(".json")) {
    const llvm::StringRef stem = llvm::sys::path::stem(name_or_path);
    return input_error(name_or_path, "expected a device profile, found {0}{1}",
                       llvm::sys::fs::exists(name_or_path) ? "no regular file" : "no such file",
                       tools::suggestion({stem.data(), stem.size()}, names));
  }
  if (where == "--device" && llvm::sys::fs::is_regular_file(name_or_path))
    return input_error(where, "expected a profile whose name ends in .json, found \"{0}\"",
                       name_or_path);
  if (names.empty())
    return input_error(where, "expected FILE.json, as {0} has no profiles, found \"{1}\"",
                       profile_directory(), name_or_path);
  return input_error(where, "expected {0}", expected_device(name_or_path));
}

// Returns the document merged with the profile that its "base" names, with that one's base, and so
// on. Appends all texts to `texts`, for the hash, and the bases' names to `bases`.
llvm::Expected<std::unique_ptr<JsonDocument>> parse_with_bases(llvm::StringRef json,
                                                               llvm::StringRef path, int most_bases,
                                                               std::string& texts,
                                                               std::vector<std::string>& bases) {
  texts += json;
  CODL_ASSIGN_OR_RETURN(document, JsonDocument::parse(json, path));
  const JsonValue base = document->root().optional_member("base");
  if (!base) return document;
  const std::string name = base.as_string();
  if (most_bases == 0) base.expected("at most 4 profiles over each other");
  if (!is_file_name_part(name)) base.expected("the name of a profile");
  if (document->has_error()) return document->finish();
  CODL_ASSIGN_OR_RETURN(file, read_profile(name, (path + ": /base").str()));
  bases.push_back(llvm::sys::path::stem(file.path).str());
  CODL_ASSIGN_OR_RETURN(base_document,
                        parse_with_bases(file.json, file.path, most_bases - 1, texts, bases));
  document->inherit(*base_document);
  return document;
}

}  // namespace

Quantity read_origin(const JsonValue& json, const Sources& sources) {
  Quantity quantity;
  quantity.origin = read_one(json.member("origin"), kOriginNames, Origin::Measured);
  const JsonValue source = json.member("source");
  const auto found = sources.find(source.as_string());
  if (found != sources.end())
    quantity.source = found->second;
  else
    source.expected("a key of /sources");
  return quantity;
}

const KernelInfo* find_symbol(llvm::StringRef symbol) {
  for (const KernelInfo& kernel : kKernelInfos)
    if (symbol == kernel.symbol) return &kernel;
  return nullptr;
}

std::vector<uint16_t> DeviceProfile::worker_speeds() const {
  std::vector<uint16_t> speeds;
  for (const double speed : cpu_worker_speeds)
    speeds.push_back(static_cast<uint16_t>(speed * kFullSpeed + 0.5));
  return speeds;
}

bool DeviceProfile::covers(llvm::StringRef device) const {
  return device == name || llvm::is_contained(bases, device);
}

llvm::Expected<DeviceProfile> parse_device_profile(llvm::StringRef json, llvm::StringRef path) {
  std::string texts;
  DeviceProfile profile;
  CODL_ASSIGN_OR_RETURN(document, parse_with_bases(json, path, kMaxBases, texts, profile.bases));
  const JsonValue root = document->root();
  root.member("format_version").as_integer(kProfileVersion, kProfileVersion);
  root.optional_member("base");
  const Sources sources = read_sources(root.member("sources"));

  profile.hash = hash_of(texts);
  profile.name = root.member("name").as_string();
  if (!is_file_name_part(profile.name))
    root.member("name").expected("a name of the characters A-Z, a-z, 0-9, '_', '-', '.'");
  profile.description = root.member("description").as_string();
  profile.kernel_library = root.member("kernel_library").as_string();
  if (const JsonValue kind = root.optional_member("kind"))
    profile.kind = static_cast<DeviceKind>(kind.as_choice({"phone", "machine", "template"}));
  if (const JsonValue names = root.optional_member("names")) {
    read_origin(names, sources);
    profile.facts.push_back({"known as", joined_names(names.member("values"))});
  }
  profile.chip_year = read_year(root.optional_member("chip_year"));
  profile.year = read_year(root.optional_member("year"));
  if (const JsonValue soc = root.optional_member("soc")) read_soc(soc, sources, profile);

  const JsonValue cpu = root.member("cpu");
  profile.cpu_name = cpu.member("name").as_string();
  profile.machine.cpu_threads =
      static_cast<int32_t>(cpu.member("threads").as_integer(1, kMaxThreads));
  if (const JsonValue workers = cpu.optional_member("workers"))
    if (workers.as_choice({"threads", "every_core"}) == 1)
      profile.machine.cpu_threads = static_cast<int32_t>(
          std::min(llvm::hardware_concurrency().compute_thread_count(), kMaxThreads));
  read_machine(cpu.member("machine"), Processor::Cpu, sources, profile);
  if (const JsonValue speeds = cpu.optional_member("worker_speeds"))
    read_worker_speeds(speeds, sources, profile);
  read_surroundings(cpu, Processor::Cpu, sources, profile);
  if (const JsonValue probe = cpu.optional_member("probe_us"))
    profile.facts.push_back(
        {"cpu probe", llvm::formatv("{0:f3} us", read_quantity(probe, sources).value).str()});
  if (const JsonValue facts = cpu.optional_member("facts")) read_cpu_facts(facts, sources, profile);
  check_caches(cpu.member("machine"), Processor::Cpu, profile);

  // Without "gpu" the device has no usable GPU, and nothing is transferred.
  if (const JsonValue gpu = root.optional_member("gpu")) {
    profile.has_gpu = true;
    read_gpu(gpu, sources, profile);
    profile.transfer = read_transfer(root.member("transfer"), profile.transfer.sharing, sources);
    if (profile.shares_cores)
      for (Quantity& percent : profile.transfer.contention_percent)
        percent = {100, Origin::Assumed,
                   "each processor has half of the cores while both are busy"};
    if (const JsonValue power = root.optional_member("power"))
      profile.power = read_power(power, sources);
  }
  read_calibrations(root, sources, profile);

  if (llvm::Error error = document->finish()) return error;
  profile.machine.cpu_worker_speeds = profile.worker_speeds();
  return profile;
}

llvm::Expected<DeviceProfile> load_device_profile(llvm::StringRef name_or_path) {
  CODL_ASSIGN_OR_RETURN(file, read_profile(name_or_path, "--device"));
  return parse_device_profile(file.json, file.path);
}

std::string profile_path(llvm::StringRef name) {
  return (profile_directory() + "/" + name + ".json").str();
}

std::vector<std::string> list_devices() {
  std::vector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(profile_directory(), error), end;
       !error && entry != end; entry.increment(error))
    if (llvm::StringRef(entry->path()).endswith(".json"))
      names.push_back(llvm::sys::path::stem(entry->path()).str());
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();  // like a container
  llvm::sort(names);
  return names;
}

double crowded_factor(const DeviceProfile& profile) {
  return (1 +
          (profile.interference_percent[0].value + profile.interference_percent[1].value) / 100) *
         (1 + profile.transfer.contention_percent[static_cast<size_t>(Processor::Gpu)].value / 100);
}

}  // namespace codl::compiler
