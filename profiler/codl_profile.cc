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
#include "profiler/fit/map_layout.h"
#include "profiler/fit/profile_json.h"
#include "profiler/measure/confinement.h"
#include "profiler/measure/context.h"
#include "profiler/measure/device_facts.h"
#include "profiler/measure/measure_machine.h"
#include "profiler/measure/measured_cpu.h"
#include "profiler/measure/measured_gpu.h"
#include "profiler/measure/plan_steps.h"
#include "profiler/measure/session.h"
#include "profiler/measure/tune_tiles.h"
#include "profiler/notices.h"
#include "profiler/profile_flags.h"
#include "runtime/src/affinity.h"
#include "runtime/tools/plan_tool.h"
#include "schema/plan_layout.h"
#include "tools/files.h"
#include "tools/flags.h"
#include "tools/json_writer.h"
#include "tools/messages.h"

namespace codl::profiler {
namespace {

// A sample file has at most so many bytes. A line has some 200, and takes milliseconds to measure.
constexpr uint64_t kMaxSampleBytes = 1 << 30;

// Shares of the time: the search for tiles may take the first, the networks at the end the second.
constexpr double kTilesShare = 0.1;
constexpr double kContextShare = 0.1;
constexpr double kMaxContextS = 30;

volatile std::sig_atomic_t interrupted = 0;

// Returns the first "model name" of /proc/cpuinfo, or "Hardware" (Android).
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
    add_line(kernel.kernel->symbol, kernel.fit.held_out);
    sum[static_cast<size_t>(kernel.kernel->processor)] += kernel.fit.held_out.within_10;
    ++count[static_cast<size_t>(kernel.kernel->processor)];
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

// Returns the steps of the given plans, with the wanted kernels, that `samples` lacks.
std::vector<Sample> network_steps(const ProfileFlags& flags, const std::vector<Sample>& samples) {
  std::set<std::string> seen;
  for (const Sample& sample : samples) seen.insert(step_text(sample));
  std::vector<Sample> steps;
  for (const std::string& plan : flags.plans)
    for (Sample& step : steps_of_plan(plan))
      if (is_wanted(*step.kernel, flags.kernels, true) && seen.insert(step_text(step)).second)
        steps.push_back(std::move(step));
  return steps;
}

// Reads the samples to continue with, which must be of this processor and number of threads. Drops
// an incomplete last line, which a killed run leaves.
std::string read_samples_to_resume(const std::string& path, const DeviceFacts& facts) {
  std::string text = tools::read_file(path, kMaxSampleBytes);
  text.resize(text.rfind('\n') + 1);  // 0 if there is no line
  const std::map<std::string, std::string> known = read_facts(text);
  const auto cpu = known.find("cpu_name");
  if (cpu == known.end() || cpu->second != facts.cpu_name)
    tools::fail_input(path, "samples of " + facts.cpu_name,
                      cpu == known.end() ? "none" : "samples of " + cpu->second);
  read_samples(text, path);  // Refuses a file that is not ours, which then stays as it is.
  return text;
}

// Steps of such workers depend on each other's work, which no model predicts.
std::string shared_cores_notice(MeasuredCpu& cpu) {
  constexpr double kMaxTime = 1.3;
  const double time = cpu.time_of_all_beside_one();
  if (time <= kMaxTime) return {};
  return tools::formatted(
      "%d CPU threads take %.2f times as long as one alone for the same work: they share a core, "
      "or "
      "others use it; choose cores with --cpu-cores",
      cpu.thread_count(), time);
}

void warn(const std::string& text) {
  if (!text.empty()) tools::print_message(kTool, tools::Severity::Warning, text);
}

// Holds samples, and facts of the device.
struct Measured {
  std::vector<Sample> samples;
  double probe_us[2] = {};
  DeviceFacts facts;
};

struct MeasuredProcessors {
  std::unique_ptr<MeasuredGpu> gpu;  // null: none
  std::unique_ptr<MeasuredCpu> cpu;
  std::vector<std::string> notices;  // obstacles to a good profile; some are empty
};

MeasuredProcessors start_processors(const ProfileFlags& flags) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  };
  MeasuredProcessors processors;
  // Starts OpenCL first, so that its workers start on their cores.
  if (!flags.cpu_only) {
    processors.gpu = std::make_unique<MeasuredGpu>(text_or_null(flags.platform),
                                                   text_or_null(flags.device), flags.gpu_cores);
    if (const std::string why = processors.gpu->unconfined(); !why.empty())
      processors.notices.push_back("the OpenCL device cannot be confined to --gpu-cores: it " +
                                   why + "; the profile holds where it computes as it does now");
  }
  processors.cpu = std::make_unique<MeasuredCpu>(flags.thread_count, flags.cpu_cores);
  processors.notices.push_back(busy_notice(processors.cpu->share_of_others()));
  processors.notices.push_back(shared_cores_notice(*processors.cpu));
  return processors;
}

// Measures the machine's facts, unless the sample file has them. Tiles depend on them.
void measure_facts(const ProfileFlags& flags, const MeasuredProcessors& processors,
                   DeviceFacts* facts) {
  MeasuredCpu& cpu = *processors.cpu;
  MeasuredGpu* const gpu = processors.gpu.get();
  facts->warm_weight_mbytes[0] = cpu.warm_weight_mbytes();
  if (!facts->machine.missing(gpu != nullptr).empty()) {
    measure_cpu_machine(cpu, &facts->machine);
    if (gpu != nullptr) measure_gpu_machine(*gpu, &facts->machine);
  }
  facts->machine_source = kMachineRules;
  if (gpu == nullptr) return;
  add_gpu_facts(*gpu, cpu, flags.cpu_cores, facts);
  facts->machine.machine.is_gpu_a_processor = gpu->is_cpu_device();
  facts->shares_cores =
      gpu->is_cpu_device() &&
      shares_all_cores(flags.cpu_cores, flags.thread_count, flags.gpu_cores, flags.core_count);
  if (facts->shares_cores)
    tools::print_message(kTool, tools::Severity::Note,
                         "the OpenCL device computes on cores that all have a CPU thread "
                         "(gpu.cores: shared): plans are the CPU's");
  gpu->set_facts(facts->processor_facts().gpu);
}

// This is skipped if both processors share all cores: the profile says so, and that is enough.
void measure_context(const MeasuredProcessors& processors, double budget_s, DeviceFacts* facts) {
  if (!processors.gpu || facts->shares_cores) return;
  const int64_t start_ns = rt::now_ns();
  std::fputs("small networks on both processors\n", stderr);
  const ContextOptions options = {
      .idle_sync_us = 2 * facts->sync_us,
      .now_us = [] { return static_cast<double>(rt::now_ns()) / 1000; },
      .is_over = [&] { return interrupted != 0 || micros_since(start_ns) * 1e-6 > budget_s; }};
  const std::optional<Context> context = fit_context(
      run_context_networks(*processors.cpu, *processors.gpu, options), options.idle_sync_us);
  if (!context) return;
  std::fprintf(
      stderr,
      "beside the other processor the CPU takes %.1f %% longer, the GPU %.1f %%; the memory "
      "gives both %.1f GB/s; a synchronisation takes %.1f us (an idle one %.1f); whole networks so "
      "within %.1f %% "
      "(median)\n",
      context->cpu_contention_percent, context->gpu_contention_percent, context->memory_gb_per_s,
      context->sync_us, options.idle_sync_us, context->median_error_percent);
  facts->contention_is_assumed = false;
  facts->cpu_contention_percent = context->cpu_contention_percent;
  facts->gpu_contention_percent = context->gpu_contention_percent;
  if (facts->sharing != "separate") facts->memory_gb_per_s = context->memory_gb_per_s;
  facts->network_sync_us = context->sync_us;
}

// Finds tiles and takes samples within the time. Returns false if interrupted.
bool measure_steps(const ProfileFlags& flags, const MeasuredProcessors& processors, double budget_s,
                   SessionOptions options, tools::LogFile& file, Measured* measured) {
  const auto append_line = [&](const std::string& line) { file.append(line + '\n'); };
  const auto is_interrupted = [] { return interrupted != 0; };
  const int64_t start_ns = rt::now_ns();
  DeviceFacts& facts = measured->facts;
  if (processors.gpu && budget_s > 0) {
    if (!tune_tiles(*processors.gpu, measured->samples,
                    {flags.kernels, options.has_images, kTilesShare * budget_s, is_interrupted,
                     append_line},
                    &facts.tiles))
      return false;
    processors.gpu->set_facts(facts.processor_facts().gpu);
  }
  options.facts = facts.processor_facts();
  std::vector<MeasuredProcessor*> both = {processors.cpu.get()};
  if (processors.gpu) both.push_back(processors.gpu.get());
  Session session(both, std::move(options), std::move(measured->samples), measured->probe_us,
                  append_line);
  return session.run(budget_s - micros_since(start_ns) * 1e-6, is_interrupted);
}

// Adds to the sample file. Returns false if interrupted.
bool measure(const ProfileFlags& flags, const std::string& sample_path,
             const std::string& sample_text, const DeviceFacts& machine) {
  const int64_t start_ns = rt::now_ns();
  Measured measured;
  measured.facts = machine;
  measured.facts.contention_is_assumed = true;  // until it is measured
  measured.samples = read_samples(sample_text, sample_path);
  read_probe(sample_text, measured.probe_us);
  measured.facts.tiles = read_found_tiles(sample_text, sample_path);
  read_machine_lines(sample_text, sample_path, &measured.facts.machine);
  SessionOptions options;
  options.samples_per_kernel = static_cast<size_t>(flags.samples_per_kernel);
  options.kernels = flags.kernels;
  options.needed = read_needed(sample_text, sample_path);
  options.seed = static_cast<uint64_t>(flags.seed);
  options.network_steps = network_steps(flags, measured.samples);
  const MeasuredProcessors processors = start_processors(flags);
  // A processor has no images of its own; its caches hold emulated ones.
  options.has_images =
      flags.layout == MapLayout::Image ||
      (flags.layout == MapLayout::Auto && !(processors.gpu && processors.gpu->is_cpu_device()));
  measure_facts(flags, processors, &measured.facts);
  tools::LogFile file;
  const std::string driver = processors.gpu ? driver_lines(*processors.gpu) : "";
  file.create(sample_path, sample_text + driver + fact_lines(measured.facts), flags.resumes);
  // A notice that cannot be written is reported in one line.
  for (const std::string& notice : processors.notices) warn(notice);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  const double context_s = std::min(kContextShare * flags.budget_s, kMaxContextS);
  const double left_s = std::max(flags.budget_s - context_s - micros_since(start_ns) * 1e-6, 0.0);
  if (!flags.facts_only &&
      !measure_steps(flags, processors, left_s, std::move(options), file, &measured))
    return false;
  measure_context(processors, context_s, &measured.facts);
  if (interrupted != 0) return false;
  file.append(fact_lines(measured.facts));
  return true;
}

// Throws an input error if codlc would refuse a profile of that name.
void check_name(const std::string& name) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
  if (name.empty() || name[0] == '.' || name.find_first_not_of(kLetters) != std::string::npos)
    tools::fail_input("--name", "a name of the characters A-Z, a-z, 0-9, '_', '-', '.'",
                      "'" + name + "'");
}

void check_kernels(const std::string& kernels) {
  if (std::none_of(std::begin(kKernelInfos), std::end(kKernelInfos), [&](const KernelInfo& info) {
        return std::string_view(info.symbol).find(kernels) != std::string_view::npos;
      }))
    tools::fail_input("--kernels", "a part of a kernel's name (codlc --list-ops)",
                      "'" + kernels + "'");
}

void check_cores(const char* flag, const std::vector<int32_t>& cores) {
  if (const int64_t core = rt::first_unusable_core(cores.data(), cores.size()); core >= 0)
    tools::fail_input(flag, "cores that this process may use", std::to_string(core));
}

// Checks the files before anything is measured.
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

// Throws an input error if a fact of the machine is missing, because a profile needs measurements.
void check_is_complete(const DeviceFacts& facts, const std::string& sample_path) {
  if (const std::string field = facts.machine.missing(facts.has_gpu); !field.empty())
    tools::fail_input(sample_path, "#machine lines of all fields of the machine",
                      "none of " + field);
}

// Prints a summary of the profile of these samples.
void print_result(const ProfileFlags& flags, const std::string& sample_text,
                  const std::string& sample_path, const Fits& fits,
                  const std::vector<Sample>& samples) {
  if (samples.empty())
    tools::print_message(kTool, tools::Severity::Note,
                         "a profile of the machine's facts alone; --resume times kernels");
  else
    print_accuracy(fits, samples);
  warn(unfitted_notice(
      kernels_without_fit(samples, read_needed(sample_text, sample_path), flags.kernels)));
  for (const std::string& line : worth_notices(samples)) warn(line);
}

// Returns the number of the CPU's threads: as asked for, else one per core.
int32_t thread_count_of(const ProfileFlags& flags) {
  if (flags.thread_count != 0) return flags.thread_count;
  if (flags.fits_only) return 1;  // unless the samples say
  const auto cores = static_cast<int32_t>(flags.cpu_cores.size());
  return std::min(cores != 0 ? cores : flags.core_count, static_cast<int32_t>(kMaxThreads));
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
  // Otherwise both follow from the output's name.
  if (flags.output == "-" && (flags.name.empty() || flags.samples.empty()))
    tools::fail_input("-o", "--name and --samples with -o -", "it alone");
  const std::filesystem::path output(flags.output);
  std::error_code error;
  if (flags.samples.empty() && std::filesystem::is_character_file(output, error))
    tools::fail_input("-o", "--samples with a device", flags.output + " alone");
  if (flags.output != "-" && output.extension() != ".json" &&
      !std::filesystem::is_character_file(output, error))
    tools::fail_input("-o", "a name that ends in .json, as codlc --device takes it",
                      "'" + flags.output + "'");
  const std::string sample_path =
      flags.samples.empty() ? flags.output + ".samples.csv" : flags.samples;
  DeviceFacts facts;
  facts.name = flags.name.empty() ? output.stem().string() : flags.name;
  check_name(facts.name);
  check_kernels(flags.kernels);
  check_cores("--cpu-cores", flags.cpu_cores);
  check_cores("--gpu-cores", flags.gpu_cores);
  check_files(flags, sample_path);

  flags.core_count = rt::allowed_core_count();  // before this thread is pinned
  flags.thread_count = thread_count_of(flags);
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
  // The profile depends on the sample file alone: --fit-only writes the same.
  const std::string sample_text = tools::read_file(sample_path, kMaxSampleBytes);
  double usual_probes[2] = {};
  const std::vector<Sample> samples = read_samples(sample_text, sample_path, &usual_probes);
  double probe_us[2] = {};
  read_probe(sample_text, probe_us);
  facts.cpu_probe_us = probe_us[0] * usual_probes[0];
  read_device_facts(sample_text, sample_path, &facts);
  check_is_complete(facts, sample_path);
  const ProcessorFacts both = facts.processor_facts();
  const Fits fits = fit_samples(samples, both);
  facts.uses_images =
      flags.layout == MapLayout::Image ||
      (flags.layout == MapLayout::Auto && images_are_faster(samples, fits.kernels, both));
  for (size_t processor = 0; processor < 2; ++processor)
    facts.interference_percent[processor] =
        interference_percent(samples, static_cast<Processor>(processor));
  facts.description = flags.description.empty()
                          ? facts.cpu_name + (facts.has_gpu ? " and " + facts.gpu_name : "")
                          : flags.description;
  tools::print_to(flags.output, tools::pretty_json(profile_json(facts, fits), 2));
  if (!flags.evaluation.empty()) tools::print_to(flags.evaluation, evaluation_text(samples, both));
  print_result(flags, sample_text, sample_path, fits, samples);
  return 0;
}

}  // namespace
}  // namespace codl::profiler

int main(int argc, char** argv) {
  return codl::tools::run_tool(codl::profiler::kTool, argc, argv, codl::profiler::codl_profile);
}
