// codl-profile: times codl's kernels on the machine it runs on and writes a device profile.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <type_traits>

#include "kernels/common/cpu_dispatch.h"
#include "profiler/contention.h"
#include "profiler/cpu_lane.h"
#include "profiler/exchange.h"
#include "profiler/gpu_lane.h"
#include "profiler/map_layout.h"
#include "profiler/plan_steps.h"
#include "profiler/profile_json.h"
#include "profiler/session.h"
#include "profiler/tune_tiles.h"
#include "runtime/src/affinity.h"
#include "runtime/tools/files.h"
#include "runtime/tools/flags.h"
#include "runtime/tools/json_writer.h"
#include "runtime/tools/plan_tool.h"

namespace codl::profiler {
namespace {

constexpr char kSummary[] =
    "Times codl's kernels on this machine and writes a device profile for codlc --device=FILE.";

struct ProfileFlags {
  std::string output;
  std::string evaluation;
  std::string samples;  // empty: beside the output
  std::string name;
  std::string description;
  double budget_s = 300;
  bool resumes = false;
  bool fits_only = false;
  bool cpu_only = false;
  bool leaves_tiles = false;
  std::vector<std::string> plans;
  std::string kernels;
  int32_t samples_percent = 100;
  int32_t seed = 0;
  int32_t thread_count = 1;
  std::string layout = "auto";
  std::vector<int32_t> cpu_cores;
  std::vector<int32_t> gpu_cores;
  std::string platform;
  std::string device;
};

// Of the time: what the search for tiles may take.
constexpr double kTilesShare = 0.1;

volatile std::sig_atomic_t interrupted = 0;

// "90", "90s", "10m".
double parse_seconds(const std::string& flag, const std::string& text) {
  double scale = 1;
  std::string digits = text;
  if (!digits.empty() && (digits.back() == 's' || digits.back() == 'm')) {
    scale = digits.back() == 'm' ? 60 : 1;
    digits.pop_back();
  }
  return scale * tools::parse_int32(flag, digits, 1);
}

std::vector<tools::Flag> flags_of(ProfileFlags* flags) {
  const auto text = [](std::string* target) {
    return [=](const std::string& value) { *target = value; };
  };
  const auto yes = [](bool* target) { return [=](const std::string&) { *target = true; }; };
  return {
      {"output", "FILE", "the profile, also -o; FILE.samples.csv keeps what was measured",
       text(&flags->output)},
      {"time-budget", "TIME", "like 90s or 10m, for sampling; default: 5m",
       [=](const std::string& value) { flags->budget_s = parse_seconds("time-budget", value); }},
      {"resume", "", "go on with the samples of a run that was interrupted", yes(&flags->resumes)},
      {"fit-only", "", "measure nothing; fit the samples there are", yes(&flags->fits_only)},
      {"plan", "FILE",
       "measure this plan's steps too and say how well they are predicted; they are not fitted; "
       "may be given several times",
       [=](const std::string& value) { flags->plans.push_back(value); }},
      {"kernels", "TEXT", "time only kernels whose names have this; default: all",
       text(&flags->kernels)},
      {"samples-percent", "N", "of the usual number of samples; default: 100",
       [=](const std::string& value) {
         flags->samples_percent = tools::parse_int32("samples-percent", value, 1);
       }},
      {"seed", "N", "draw other steps, in another order: for a process beside another; default: 0",
       [=](const std::string& value) { flags->seed = tools::parse_int32("seed", value, 0); }},
      {"samples", "FILE", "the sample file, if it is not beside the output", text(&flags->samples)},
      {"evaluation", "FILE", "write every sample's features and held-out prediction",
       text(&flags->evaluation)},
      {"name", "NAME", "of the device; default: the output's name", text(&flags->name)},
      {"description", "TEXT", "one line for codlc --list-devices", text(&flags->description)},
      {"num-threads", "N", "CPU threads of a plan; default: 1",
       [=](const std::string& value) {
         flags->thread_count = tools::parse_int32("num-threads", value, 1);
       }},
      {"cpu-only", "", "leave OpenCL devices alone", yes(&flags->cpu_only)},
      {"no-tiles", "",
       "do not look for the GPU's best tiles, which takes up to a tenth of the time budget",
       yes(&flags->leaves_tiles)},
      {"layout", "NAME",
       "of maps on the GPU: buffer (kernels on images are not timed), image or auto (the faster); "
       "default: auto",
       text(&flags->layout)},
      {"cpu-cores", "LIST", "cores for the CPU threads, like 0,2,4-7; default: not pinned",
       [=](const std::string& value) {
         flags->cpu_cores = tools::parse_cores("cpu-cores", value);
       }},
      {"gpu-cores", "LIST", "cores for an OpenCL implementation that computes on the CPU",
       [=](const std::string& value) {
         flags->gpu_cores = tools::parse_cores("gpu-cores", value);
       }},
      {"opencl-platform", "TEXT", "part of the platform's name; default: the first with a device",
       text(&flags->platform)},
      {"opencl-device", "TEXT", "part of the device's name; default: the first GPU, else the first",
       text(&flags->device)},
  };
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
  visit("cpu_name", facts.cpu_name);
  visit("threads", facts.lane.thread_count);
  visit("vector_lanes", facts.lane.vector_lanes);
  visit("has_gpu", facts.has_gpu);
  visit("gpu_name", facts.gpu_name);
  visit("units", facts.lane.gpu.units);
  visit("registers", facts.lane.gpu.registers);
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

void read_device_facts(const std::string& text, DeviceFacts* facts) {
  const std::map<std::string, std::string> known = read_facts(text);
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
}

// Those that the samples of the file were measured with.
void read_tiles(const std::string& text, const std::string& path, DeviceFacts* facts) {
  facts->tiles = read_found_tiles(text, path);
  facts->lane.gpu.tiles = gpu_tiles_of(facts->tiles);
}

void add_gpu_facts(GpuLane& lane, CpuLane& cpu, DeviceFacts* facts) {
  const rt::GpuDevice& device = lane.device();
  facts->has_gpu = true;
  facts->lane.gpu = lane.gpu_facts();
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

void print_accuracy(const std::vector<FittedModel>& models, const std::vector<Sample>& samples) {
  std::printf("%-34s %8s %8s %10s\n", "held-out accuracy (5 folds)", "samples", "in 10 %",
              "median err");
  double sum[2] = {};
  size_t count[2] = {};
  for (const FittedModel& model : models) {
    std::printf("%-34s %8zu %7.1f%% %9.1f%%\n", model.symbol.c_str(), model.held_out.count,
                model.held_out.within_10, model.held_out.median_absolute);
    if (model.revision == 0) continue;
    const size_t processor = model.symbol.find("_cl_") != std::string::npos ? 1 : 0;
    sum[processor] += model.held_out.within_10;
    ++count[processor];
  }
  for (size_t i = 0; i < 2; ++i)
    if (count[i] != 0)
      std::printf(
          "mean over %zu %s kernels: %.1f %% within 10 %%; a repeated measurement: %.1f %%\n",
          count[i], i == 0 ? "CPU" : "GPU", sum[i] / static_cast<double>(count[i]),
          noise_floor_percent(samples, static_cast<Processor>(i)));
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

// Samples to go on with: of this processor and number of threads. A line that was cut off when the
// earlier run was killed is removed from the file.
std::string read_samples_to_resume(const std::string& path, const DeviceFacts& facts) {
  std::string text = tools::read_file(path);
  const size_t bytes = text.size();
  text.resize(text.rfind('\n') + 1);  // 0 if there is none
  const std::map<std::string, std::string> known = read_facts(text);
  const auto cpu = known.find("cpu_name");
  if (cpu == known.end() || cpu->second != facts.cpu_name)
    tools::fail_input(path, "samples of " + facts.cpu_name,
                      cpu == known.end() ? "none" : "samples of " + cpu->second);
  read_samples(text, path);  // A file that is none of ours stays as it is.
  if (text.size() < bytes) std::filesystem::resize_file(path, text.size());
  return text;
}

// Steps of such workers take more or less by what both do just then, which no model tells.
void warn_of_shared_cores(CpuLane& cpu) {
  constexpr double kMostTime = 1.3;
  if (const double time = cpu.time_of_all_beside_one(); time > kMostTime)
    std::fprintf(stderr,
                 "codl-profile: %d CPU threads take %.2f times as long as one alone for the same "
                 "work: they share a core, or others use it; choose cores with --cpu-cores\n",
                 cpu.thread_count(), time);
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
  options.has_images = flags.layout != "buffer";
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
  read_tiles(sample_text, sample_path, &facts);
  if (gpu) gpu->set_tiles(facts.lane.gpu.tiles);
  if (gpu) add_gpu_facts(*gpu, cpu, &facts);
  std::ofstream file(sample_path, flags.resumes ? std::ios::app : std::ios::trunc);
  if (!file) tools::fail_input(sample_path, "a file that can be written", "none");
  std::vector<Lane*> lanes = {&cpu};
  if (gpu) lanes.push_back(gpu.get());
  const auto append = [&](const std::string& text) {
    if (!(file << text << std::flush)) tools::fail_input(sample_path, "space to write to", "none");
  };
  const auto append_line = [&](const std::string& line) { append(line + '\n'); };
  const auto is_interrupted = [] { return interrupted != 0; };
  append(fact_lines(facts));
  std::signal(SIGINT, [](int) { interrupted = 1; });
  const int64_t start_ns = rt::now_ns();
  if (gpu && !flags.leaves_tiles) {
    if (!tune_tiles(*gpu, samples,
                    {flags.kernels, options.has_images, kTilesShare * flags.budget_s,
                     is_interrupted, append_line},
                    &facts.tiles))
      return false;
    facts.lane.gpu.tiles = gpu_tiles_of(facts.tiles);
    gpu->set_tiles(facts.lane.gpu.tiles);
  }
  options.facts = facts.lane;
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
    append(fact_lines(facts));
  }
  return is_done;
}

void codl_profile(const std::vector<std::string>& given) {
  std::vector<std::string> arguments = given;
  for (std::string& argument : arguments)
    if (argument == "-o") argument = "--output";
  ProfileFlags flags;
  const std::vector<tools::Flag> known = flags_of(&flags);
  std::vector<std::string> positional;
  if (!tools::parse_tool_flags("codl-profile", kSummary, "", known, arguments, &positional)) return;
  if (!positional.empty()) tools::fail_input("codl-profile", "flags only", positional[0]);
  if (flags.output.empty()) tools::fail_input("command line", "-o FILE.json", "nothing");
  if (flags.layout != "auto" && flags.layout != "image" && flags.layout != "buffer")
    tools::fail_input("--layout", "buffer, image or auto", flags.layout);
  const std::filesystem::path output(flags.output);
  const std::string sample_path =
      flags.samples.empty() ? flags.output + ".samples.csv" : flags.samples;

  DeviceFacts facts;
  facts.name = flags.name.empty() ? output.stem().string() : flags.name;
  facts.lane.thread_count = flags.thread_count;
  facts.cpu_name = std::to_string(flags.thread_count) + " thread(s) of " + cpu_model();
  facts.source = "codl-profile " CODL_VERSION " on " + facts.cpu_name + ", " + today();

  if (!flags.fits_only) {
    facts.lane.vector_lanes = kernels::cpu_vector_lanes(kernels::best_cpu_target());
    const std::string earlier =
        flags.resumes ? read_samples_to_resume(sample_path, facts) : std::string();
    if (!measure(flags, sample_path, earlier, facts)) {
      std::fprintf(stderr, "\n");
      throw tools::ToolError(tools::ExitCode::Interrupted,
                             sample_path + ": interrupted, --resume goes on with it");
    }
  }
  // The profile comes from the sample file alone: --fit-only writes the same.
  const std::string sample_text = tools::read_file(sample_path);
  double usual_probes[2] = {};
  const std::vector<Sample> samples = read_samples(sample_text, sample_path, &usual_probes);
  double probe_us[2] = {};
  read_probe(sample_text, probe_us);
  facts.cpu_probe_us = probe_us[0] * usual_probes[0];
  read_device_facts(sample_text, &facts);
  read_tiles(sample_text, sample_path, &facts);
  const std::vector<FittedModel> models = fit_models(samples, facts.lane);
  facts.uses_images = flags.layout == "image" ||
                      (flags.layout == "auto" && images_are_faster(samples, models, facts.lane));
  for (size_t processor = 0; processor < 2; ++processor)
    facts.disturbance_percent[processor] =
        disturbance_percent(samples, static_cast<Processor>(processor));
  facts.description = flags.description.empty()
                          ? facts.cpu_name + (facts.has_gpu ? " and " + facts.gpu_name : "")
                          : flags.description;
  tools::write_file(flags.output, tools::pretty_json(profile_json(facts, models), 2));
  if (!flags.evaluation.empty())
    tools::write_file(flags.evaluation, evaluation_text(samples, facts.lane));
  print_accuracy(models, samples);
}

}  // namespace
}  // namespace codl::profiler

int main(int argc, char** argv) {
  return codl::tools::run_tool(argc, argv, codl::profiler::codl_profile);
}
