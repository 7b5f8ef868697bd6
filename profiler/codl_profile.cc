// codl-profile: times codl's kernels on the machine it runs on and writes a device profile.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "kernels/kernel_table.h"
#include "profiler/contention.h"
#include "profiler/cpu_lane.h"
#include "profiler/exchange.h"
#include "profiler/gpu_lane.h"
#include "profiler/map_layout.h"
#include "profiler/measure_machine.h"
#include "profiler/plan_steps.h"
#include "profiler/profile_json.h"
#include "profiler/session.h"
#include "profiler/tune_tiles.h"
#include "runtime/src/affinity.h"
#include "runtime/tools/json_writer.h"
#include "runtime/tools/plan_tool.h"
#include "schema/plan_layout.h"
#include "tools/files.h"
#include "tools/flags.h"
#include "tools/messages.h"

namespace codl::profiler {
namespace {

constexpr char kTool[] = "codl-profile";

enum class MapLayout { Auto, Image, Buffer };

struct ProfileFlags {
  std::string output;
  std::string evaluation;
  std::string samples;  // empty: beside the output
  std::string name;
  std::string description;
  double budget_s = 300;
  bool resumes = false;
  bool fits_only = false;
  bool replaces = false;
  bool cpu_only = false;
  bool leaves_tiles = false;
  std::vector<std::string> plans;
  std::string kernels;
  int32_t samples_percent = 100;
  int32_t seed = 0;
  int32_t thread_count = 1;
  MapLayout layout = MapLayout::Auto;
  std::vector<int32_t> cpu_cores;
  std::vector<int32_t> gpu_cores;
  std::string platform;
  std::string device;
};

// The most bytes of a sample file. A line has some 200, and takes milliseconds to measure.
constexpr uint64_t kMaxSampleBytes = 1 << 30;

// Of the time: what the search for tiles may take.
constexpr double kTilesShare = 0.1;

volatile std::sig_atomic_t interrupted = 0;

tools::CommandLine command_line_of(ProfileFlags* flags) {
  using tools::cores_value;
  using tools::integer_value;
  using tools::switch_value;
  using tools::text_value;
  tools::CommandLine line;
  line.tool = kTool;
  line.version = tools::runtime_version();
  line.usage = {"-o FILE.json [flags]", "-o FILE.json --fit-only [flags]"};
  line.summary =
      "Times codl's kernels on this machine and writes a device profile for codlc "
      "--device=FILE.json.";
  line.exit_codes =
      "0 ok, 1 the input is wrong (flag, sample file), 2 not supported here, 70 internal or device "
      "error, 130 interrupted: --resume goes on";
  line.groups = {
      {"Files",
       {{"output", text_value("FILE.json", &flags->output), "the profile", 'o'},
        {"samples", text_value("FILE", &flags->samples, "the output's name and .samples.csv"),
         "what was measured"},
        {"force", switch_value(&flags->replaces),
         "replace the profile, and the samples, that are there"},
        {"evaluation", text_value("FILE", &flags->evaluation, "not written"),
         "write every sample's terms and held-out prediction"},
        {"name", text_value("NAME", &flags->name, "the output's name"), "of the device"},
        {"description", text_value("TEXT", &flags->description, "the processors' names"),
         "one line for people"}}},
      {"What is measured",
       {{"time-budget", tools::duration_value(&flags->budget_s, "5m"),
         "for sampling, like 90s or 10m"},
        {"resume", switch_value(&flags->resumes),
         "go on with the samples of a run that was interrupted"},
        {"fit-only", switch_value(&flags->fits_only), "measure nothing; fit the samples there are"},
        {"plan", tools::texts_value("FILE", &flags->plans),
         "measure this plan's steps too and say how well they are predicted; they are not fitted"},
        {"kernels", text_value("TEXT", &flags->kernels, "all"),
         "only kernels whose names have this"},
        {"samples-percent", integer_value("N", &flags->samples_percent, 1, 10000),
         "of the usual number of samples"},
        {"seed", integer_value("N", &flags->seed, 0),
         "draw other steps, in another order: for a process beside another"},
        {"cpu-only", switch_value(&flags->cpu_only), "leave OpenCL devices alone"},
        {"no-tiles", switch_value(&flags->leaves_tiles),
         "do not look for the GPU's best tiles, which takes up to a tenth of the time budget"},
        {"layout",
         tools::choice_value(&flags->layout, {{"auto", MapLayout::Auto},
                                              {"image", MapLayout::Image},
                                              {"buffer", MapLayout::Buffer}}),
         "of feature maps on the GPU: buffer (kernels on images are not timed), image, or auto, "
         "the "
         "faster one"}}},
      {"Where it runs",
       {{"num-threads",
         integer_value("N", &flags->thread_count, 1, static_cast<int32_t>(kMaxThreads)),
         "CPU threads of a plan"},
        {"cpu-cores", cores_value(&flags->cpu_cores, "not pinned"),
         "cores for the CPU threads, like 0,2,4-7"},
        {"gpu-cores", cores_value(&flags->gpu_cores, "not pinned"),
         "cores for an OpenCL implementation that computes on the CPU"},
        {"opencl-platform", text_value("TEXT", &flags->platform, "the first with a device"),
         "part of the platform's name"},
        {"opencl-device",
         text_value("TEXT", &flags->device, "the first GPU, else the first device"),
         "part of the device's name"}}}};
  return line;
}

// The first "model name" of /proc/cpuinfo, or "Hardware" (Android).
std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    for (const char* key : {"model name", "Hardware"})
      if (line.starts_with(key) && line.find(": ") != std::string::npos)
        return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

std::string today() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

// Numbers behind the sample file's first "#probe,": all times in it are at that clock.
void read_probe(const std::string& text, double (&probe_us)[2]) {
  double cpu = 0;
  double gpu = 0;
  const size_t at = text.find("#probe,");
  if (at == std::string::npos || std::sscanf(text.c_str() + at, "#probe,%lf,%lf", &cpu, &gpu) != 2)
    return;
  probe_us[0] = cpu;
  probe_us[1] = gpu;
}

// Every fact with its name in a sample file.
template <typename Visit>
void each_fact(DeviceFacts& facts, Visit visit) {
  visit("source", facts.source);
  visit("year", facts.year);
  visit("cpu_name", facts.cpu_name);
  visit("threads", facts.machine.machine.cpu_threads);
  visit("machine_source", facts.machine_source);
  visit("has_gpu", facts.has_gpu);
  visit("gpu_name", facts.gpu_name);
  visit("gpu_is_processor", facts.machine.machine.is_gpu_a_processor);
  visit("sharing", facts.sharing);
  visit("image_max_width", facts.image_max_width);
  visit("image_max_height", facts.image_max_height);
  visit("image_row_texels", facts.image_row_texels);
  visit("weights", facts.weights);
  visit("cpu_warm_weight_mbytes", facts.warm_weight_mbytes[0]);
  visit("gpu_warm_weight_mbytes", facts.warm_weight_mbytes[1]);
  visit("sync_us", facts.sync_us);
  visit("launch_us", facts.launch_us);
  visit("map_us", facts.map_us);
  visit("map_us_per_mb", facts.map_us_per_mb);
  visit("copy_us_per_mb", facts.copy_us_per_mb);
  visit("cpu_contention_percent", facts.cpu_contention_percent);
  visit("gpu_contention_percent", facts.gpu_contention_percent);
  visit("contention_is_assumed", facts.contention_is_assumed);
}

// Before an exchange point in a sample file.
constexpr char kExchangeMark[] = "#exchange,";

std::string fact_lines(DeviceFacts facts) {
  std::ostringstream text;
  each_fact(facts, [&](const char* name, const auto& value) {
    text << "#fact," << name << ',' << value << '\n';
  });
  text << machine_lines(facts.machine);
  for (const ExchangePoint& point : facts.exchange)
    text << kExchangeMark << point.name << ',' << point.bytes << ',' << point.us << '\n';
  return text.str();
}

// Those that were written last.
std::vector<ExchangePoint> read_exchange(const std::string& text) {
  std::vector<ExchangePoint> points;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kExchangeMark)) continue;
    ExchangePoint point;
    char comma = 0;
    std::istringstream fields(line.substr(std::strlen(kExchangeMark)));
    if (!std::getline(fields, point.name, ',') || !(fields >> point.bytes >> comma >> point.us))
      tools::fail_input("sample file", "a name, bytes and microseconds", line);
    const auto known = std::find_if(points.begin(), points.end(), [&](const ExchangePoint& other) {
      return other.name == point.name && other.bytes == point.bytes;
    });
    if (known == points.end())
      points.push_back(point);
    else
      *known = point;
  }
  return points;
}

void read_device_facts(const std::string& text, const std::string& path, DeviceFacts* facts) {
  const std::map<std::string, std::string> known = read_facts(text);
  // Sample files from before there were machine facts tell it by a processor's registers.
  const auto registers = known.find("registers");
  facts->machine.machine.is_gpu_a_processor = registers != known.end() && registers->second != "0";
  each_fact(*facts, [&](const char* name, auto& value) {
    const auto found = known.find(name);
    if (found == known.end()) return;
    if constexpr (std::is_same_v<decltype(value), std::string&>)
      value = found->second;
    else
      std::istringstream(found->second) >> value;
  });
  if (std::vector<ExchangePoint> points = read_exchange(text); !points.empty())
    set_exchange(std::move(points), facts);
  read_machine_lines(text, path, &facts->machine);
  // Those that the samples of the file were measured with.
  facts->tiles = read_found_tiles(text, path);
}

void add_gpu_facts(GpuLane& lane, CpuLane& cpu, DeviceFacts* facts) {
  const rt::GpuDevice& device = lane.device();
  facts->has_gpu = true;
  facts->gpu_name = std::string(device.device_name) + ", " +
                    std::to_string(lane.number(CL_DEVICE_MAX_COMPUTE_UNITS)) + " units";
  facts->sharing = device.has_fine_svm      ? "fine_svm"
                   : device.has_host_memory ? "sub_buffer"
                                            : "separate";
  // 16384: the least of a full profile, for devices that have no images to limit.
  facts->image_max_width = device.has_images ? static_cast<double>(device.max_image_width) : 16384;
  facts->image_max_height =
      device.has_images ? static_cast<double>(device.max_image_height) : 16384;
  if (device.has_images) facts->image_row_texels = static_cast<double>(lane.image_row_texels());
  facts->weights = device.has_host_memory ? "in_place" : "copied";
  set_exchange(time_exchanges(lane, cpu), facts);
  const ExchangeTimes times = exchange_times_of(facts->exchange);
  // Times of commands, by which steps are measured where OpenCL runs on a CPU, have no launch.
  facts->launch_us = lane.is_processor() ? times.launch_us : 0;
  facts->machine.set(&GpuMachine::launch_us, times.launch_us, Origin::Measured);
  std::fprintf(stderr,
               "launch %.1f us; call %.1f us, of an idle queue %.1f us; start %.1f us, wake %.1f "
               "us, other queue "
               "%.1f us, upload %.1f us + %.1f us/MB, download %.1f us + %.1f us/MB; behind the "
               "GPU %.1f us + %.1f us/MB, behind the CPU %.1f us/MB\n",
               times.launch_us, times.enqueue_us, times.submit_us, times.start_us, times.wake_us,
               times.queue_us, times.upload.call.fixed_us + times.upload.rest.fixed_us,
               times.upload.call.us_per_mb + times.upload.rest.us_per_mb,
               times.download.call.fixed_us + times.download.rest.fixed_us,
               times.download.call.us_per_mb + times.download.rest.us_per_mb,
               times.cpu_resume.fixed_us, times.cpu_resume.us_per_mb, times.gpu_cold_us_per_mb);
  if (lane.is_processor()) facts->warm_weight_mbytes[1] = facts->warm_weight_mbytes[0];
  facts->source +=
      "; OpenCL " + lane.info(CL_DEVICE_VERSION) + ", driver " + lane.info(CL_DRIVER_VERSION);
}

void print_accuracy(const Fits& fits, const std::vector<Sample>& samples) {
  std::string text;
  text += tools::formatted("%-34s %8s %8s %10s\n", "held-out accuracy (5 folds)", "samples",
                           "in 10 %", "median err");
  double sum[2] = {};
  size_t count[2] = {};
  const auto add_line = [&](const std::string& name, const Residuals& held_out) {
    text += tools::formatted("%-34s %8zu %7.1f%% %9.1f%%\n", name.c_str(), held_out.count,
                             held_out.within_10, held_out.median_absolute);
  };
  for (const KernelFit& kernel : fits.kernels) {
    add_line(kernel.row->symbol, kernel.fit.held_out);
    sum[static_cast<size_t>(kernel.row->processor)] += kernel.fit.held_out.within_10;
    ++count[static_cast<size_t>(kernel.row->processor)];
  }
  text += "families, by the others of their kernels\n";
  for (const FamilyFit& family : fits.families)
    add_line(std::string(family.processor == Processor::Cpu ? "cpu " : "gpu ") +
                 kernels::kFamilyNames[static_cast<size_t>(family.family)],
             family.fit.held_out);
  for (size_t i = 0; i < 2; ++i)
    if (count[i] != 0)
      text += tools::formatted(
          "mean over %zu %s kernels: %.1f %% within 10 %%; a repeated measurement: %.1f %%\n",
          count[i], i == 0 ? "CPU" : "GPU", sum[i] / static_cast<double>(count[i]),
          noise_floor_percent(samples, static_cast<Processor>(i)));
  tools::print(text);
}

// Steps of the plans given, of the kernels asked for, that `samples` lacks.
std::vector<Sample> network_steps(const ProfileFlags& flags, const std::vector<Sample>& samples) {
  std::set<std::string> seen;
  for (const Sample& sample : samples) seen.insert(step_text(sample));
  std::vector<Sample> steps;
  for (const std::string& plan : flags.plans)
    for (Sample& step : steps_of_plan(plan))
      if (is_wanted(*step.row, flags.kernels, true) && seen.insert(step_text(step)).second)
        steps.push_back(std::move(step));
  return steps;
}

// Samples to go on with: of this processor and number of threads. Without the line that was cut off
// when the earlier run was killed.
std::string read_samples_to_resume(const std::string& path, const DeviceFacts& facts) {
  std::string text = tools::read_file(path, kMaxSampleBytes);
  text.resize(text.rfind('\n') + 1);  // 0 if there is none
  const std::map<std::string, std::string> known = read_facts(text);
  const auto cpu = known.find("cpu_name");
  if (cpu == known.end() || cpu->second != facts.cpu_name)
    tools::fail_input(path, "samples of " + facts.cpu_name,
                      cpu == known.end() ? "none" : "samples of " + cpu->second);
  read_samples(text, path);  // A file that is none of ours stays as it is.
  return text;
}

// Steps of such workers take more or less by what both do just then, which no model tells.
void warn_of_shared_cores(CpuLane& cpu) {
  constexpr double kMostTime = 1.3;
  if (const double time = cpu.time_of_all_beside_one(); time > kMostTime)
    tools::print_message(
        kTool, tools::Severity::Warning,
        tools::formatted("%d CPU threads take %.2f times as long as one alone for the same work: "
                         "they share a core, or others use it; choose cores with --cpu-cores",
                         cpu.thread_count(), time));
}

// Adds to the sample file. False: interrupted.
bool measure(const ProfileFlags& flags, const std::string& sample_path,
             const std::string& sample_text, const DeviceFacts& machine) {
  DeviceFacts facts = machine;
  facts.contention_is_assumed = true;  // until it is measured
  std::vector<Sample> samples = read_samples(sample_text, sample_path);
  double probe_us[2] = {};
  read_probe(sample_text, probe_us);
  SessionOptions options;
  options.sample_share = flags.samples_percent / 100.0;
  options.kernels = flags.kernels;
  options.has_images = flags.layout != MapLayout::Buffer;
  options.needed = read_needed(sample_text, sample_path);
  options.seed = static_cast<uint64_t>(flags.seed);
  options.network_steps = network_steps(flags, samples);
  // OpenCL first: its workers are to start on their cores.
  std::unique_ptr<GpuLane> gpu;
  if (!flags.cpu_only)
    gpu = std::make_unique<GpuLane>(flags.platform.empty() ? nullptr : flags.platform.c_str(),
                                    flags.device.empty() ? nullptr : flags.device.c_str(),
                                    flags.gpu_cores);
  CpuLane cpu(flags.thread_count, flags.cpu_cores);
  warn_of_shared_cores(cpu);
  facts.warm_weight_mbytes[0] = cpu.warm_weight_mbytes();
  facts.tiles = read_found_tiles(sample_text, sample_path);
  // Tiles depend on it, so that of samples that are gone on with stays.
  read_machine_lines(sample_text, sample_path, &facts.machine);
  if (!facts.machine.missing(gpu != nullptr).empty()) {
    measure_cpu_machine(cpu, &facts.machine);
    if (gpu) measure_gpu_machine(*gpu, &facts.machine);
  }
  facts.machine_source = kMachineRules;
  if (gpu) {
    add_gpu_facts(*gpu, cpu, &facts);
    facts.machine.machine.is_gpu_a_processor = gpu->is_processor();
    gpu->set_facts(facts.lane().gpu);
  }
  tools::LogFile file;
  file.create(sample_path, sample_text + fact_lines(facts), flags.resumes);
  std::vector<Lane*> lanes = {&cpu};
  if (gpu) lanes.push_back(gpu.get());
  const auto append_line = [&](const std::string& line) { file.append(line + '\n'); };
  const auto is_interrupted = [] { return interrupted != 0; };
  std::signal(SIGINT, [](int) { interrupted = 1; });
  const int64_t start_ns = rt::now_ns();
  if (gpu && !flags.leaves_tiles) {
    if (!tune_tiles(*gpu, samples,
                    {flags.kernels, options.has_images, kTilesShare * flags.budget_s,
                     is_interrupted, append_line},
                    &facts.tiles))
      return false;
    gpu->set_facts(facts.lane().gpu);
  }
  options.facts = facts.lane();
  Session session(lanes, std::move(options), std::move(samples), probe_us, append_line);
  const bool is_done = session.run(flags.budget_s - micros_since(start_ns) * 1e-6, is_interrupted);
  if (is_done) {
    if (gpu) {
      if (const std::optional<Contention> contention =
              measure_contention(cpu, *gpu, session.samples())) {
        facts.contention_is_assumed = false;
        facts.cpu_contention_percent = contention->cpu_percent;
        facts.gpu_contention_percent = contention->gpu_percent;
      }
    }
    file.append(fact_lines(facts));
  }
  return is_done;
}

// An input error if codlc would refuse a profile of that name.
void check_name(const std::string& name) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
  if (name.empty() || name[0] == '.' || name.find_first_not_of(kLetters) != std::string::npos)
    tools::fail_input("--name", "a name of the characters A-Z, a-z, 0-9, '_', '-', '.'",
                      "'" + name + "'");
}

void check_kernels(const std::string& kernels) {
  if (std::none_of(std::begin(kKernelRows), std::end(kKernelRows), [&](const KernelRow& row) {
        return std::string_view(row.symbol).find(kernels) != std::string_view::npos;
      }))
    tools::fail_input("--kernels", "a part of a kernel's name (codlc --list-ops)",
                      "'" + kernels + "'");
}

// Before anything is measured.
void check_files(const ProfileFlags& flags, const std::string& sample_path) {
  tools::claim_output(flags.output);
  if (!flags.evaluation.empty()) tools::claim_output(flags.evaluation);
  for (const std::string& plan : flags.plans) tools::note_input(plan);
  const bool reads_samples = flags.fits_only || flags.resumes;
  if (reads_samples) tools::note_input(sample_path);
  if (!flags.fits_only) tools::LogFile::check(sample_path, flags.resumes);
  if (flags.replaces) return;
  if (!reads_samples)
    tools::refuse_to_replace(
        sample_path,
        "no such file, or --resume to go on with its samples, or --force to lose them");
  tools::refuse_to_replace(flags.output, "no such file, or --force to replace it");
}

// An input error if a fit or a fact of the machine is missing that the run was to make: what is not
// measured is no profile.
void check_is_complete(const DeviceFacts& facts, const std::string& sample_text,
                       const std::string& sample_path, const std::vector<Sample>& samples,
                       const std::string& kernels) {
  const std::vector<std::string> missing =
      kernels_without_fit(samples, read_needed(sample_text, sample_path), kernels);
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  if (!missing.empty())
    tools::fail_input(sample_path, "enough samples of every kernel for a profile",
                      "too few, for want of time, of " + std::to_string(missing.size()) + ": " +
                          names + " (--resume goes on with them)");
  const auto is_fitted = [](const Sample& sample) { return sample.role == SampleRole::Fit; };
  if (std::none_of(samples.begin(), samples.end(), is_fitted))
    tools::fail_input(sample_path, "samples to fit to", "none");
  if (const std::string field = facts.machine.missing(facts.has_gpu); !field.empty())
    tools::fail_input(sample_path, "#machine lines of all fields of the machine",
                      "none of " + field);
}

int codl_profile(const std::vector<std::string>& arguments) {
  ProfileFlags flags;
  const tools::Arguments parsed = parse_command_line(command_line_of(&flags), arguments);
  if (parsed.answer) {
    tools::print(*parsed.answer);
    return 0;
  }
  if (!parsed.operands.empty())
    tools::fail_input("command line", "flags only", "'" + parsed.operands[0] + "'");
  if (flags.output.empty()) tools::fail_input("command line", "-o FILE.json", "none (see --help)");
  // Both come from the output's name otherwise.
  if (flags.output == "-" && (flags.name.empty() || flags.samples.empty()))
    tools::fail_input("-o", "--name and --samples with -o -", "it alone");
  const std::filesystem::path output(flags.output);
  std::error_code error;
  if (flags.samples.empty() && std::filesystem::is_character_file(output, error))
    tools::fail_input("-o", "--samples with a device", flags.output + " alone");
  const std::string sample_path =
      flags.samples.empty() ? flags.output + ".samples.csv" : flags.samples;
  DeviceFacts facts;
  facts.name = flags.name.empty() ? output.stem().string() : flags.name;
  check_name(facts.name);
  check_kernels(flags.kernels);
  check_files(flags, sample_path);

  facts.machine.machine.cpu_threads = flags.thread_count;
  facts.cpu_name = std::to_string(flags.thread_count) + " thread(s) of " + cpu_model();
  facts.source = "codl-profile " CODL_VERSION " on " + facts.cpu_name + ", " + today();

  if (!flags.fits_only) {
    facts.year = std::stoi(today());
    const std::string earlier =
        flags.resumes ? read_samples_to_resume(sample_path, facts) : std::string();
    if (!measure(flags, sample_path, earlier, facts))
      throw tools::ToolError(tools::ExitCode::Interrupted,
                             sample_path + ": interrupted, --resume goes on with it");
  }
  // The profile comes from the sample file alone: --fit-only writes the same.
  const std::string sample_text = tools::read_file(sample_path, kMaxSampleBytes);
  double usual_probes[2] = {};
  const std::vector<Sample> samples = read_samples(sample_text, sample_path, &usual_probes);
  double probe_us[2] = {};
  read_probe(sample_text, probe_us);
  facts.cpu_probe_us = probe_us[0] * usual_probes[0];
  read_device_facts(sample_text, sample_path, &facts);
  check_is_complete(facts, sample_text, sample_path, samples, flags.kernels);
  const LaneFacts lane = facts.lane();
  const Fits fits = fit_samples(samples, lane);
  facts.uses_images =
      flags.layout == MapLayout::Image ||
      (flags.layout == MapLayout::Auto && images_are_faster(samples, fits.kernels, lane));
  for (size_t processor = 0; processor < 2; ++processor)
    facts.disturbance_percent[processor] =
        disturbance_percent(samples, static_cast<Processor>(processor));
  facts.description = flags.description.empty()
                          ? facts.cpu_name + (facts.has_gpu ? " and " + facts.gpu_name : "")
                          : flags.description;
  tools::print_to(flags.output, tools::pretty_json(profile_json(facts, fits), 2));
  if (!flags.evaluation.empty()) tools::print_to(flags.evaluation, evaluation_text(samples, lane));
  print_accuracy(fits, samples);
  return 0;
}

}  // namespace
}  // namespace codl::profiler

int main(int argc, char** argv) {
  return codl::tools::run_tool(codl::profiler::kTool, argc, argv, codl::profiler::codl_profile);
}
