// codl-bench: how long a plan takes to load and to run, what it holds, and what each queue does
// meanwhile.
//
// Times that are compared with others are taken without recording a timeline: recording makes the
// device's queue keep times of every command. The queues' times come from runs of a second session.
//
// The plan's checksum is verified first, which reads the whole file: times of loading are those of
// a file in the page cache, opened as a program does that verifies its structure only.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tools/adaptation.h"
#include "runtime/tools/clock_probe.h"
#include "runtime/tools/compare_variants.h"
#include "runtime/tools/plan_tool.h"
#include "runtime/tools/statistics.h"
#include "runtime/tools/step_times.h"
#include "runtime/tools/timeline.h"
#include "tools/json_writer.h"
#include "tools/messages.h"
#include "tools/printable.h"

namespace codl::tools {
namespace {

constexpr char kTool[] = "codl-bench";

// All that measurements of the CPU alone tell of their machine.
#if defined(__aarch64__)
constexpr char kCpuArchitecture[] = "aarch64";
#elif defined(__x86_64__)
constexpr char kCpuArchitecture[] = "x86_64";
#else
constexpr char kCpuArchitecture[] = "other";
#endif

constexpr int32_t kTimelineColumns = 64;  // with its margins it is narrower than a terminal's 80

struct BenchFlags {
  PlanFlags plan;
  int32_t num_runs = 50;
  int32_t min_ms = 0;
  int32_t warmup_runs = 5;
  std::vector<int32_t> probe_cores;
  bool compares_variants = false;
  bool is_adaptive = false;
  int32_t rounds = 0;         // 0: kRounds
  int32_t recorded_runs = 5;  // the one with the median time is reported
  bool lists_slices = false;
  bool lists_steps = false;
  bool lists_runs = false;
};

constexpr int32_t kRounds = 5;  // odd, so that the median is one of them

struct Report {
  SessionFacts session;
  double predicted_us = 0;
  double open_us = 0;
  double first_run_us = 0;
  int64_t num_runs = 0;
  Latencies runs;
  std::vector<Run> all_runs;
  std::optional<Adaptation> adaptation;
  double probe_us = -1;            // the median of the probes around runs; -1: not asked for
  int64_t peak_memory_bytes = -1;  // -1: the system does not say
  RunTimes queues;
  std::string timeline;  // text_timeline()
  std::vector<StepTimes> steps;
  std::vector<double> slices_us;  // slices of all recorded runs
};

double now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

template <typename Work>
double time_us(Work work) {
  const double start_us = now_us();
  work();
  return now_us() - start_us;
}

// Returns VmHWM of /proc/self/status: the most resident memory so far, plan pages included.
int64_t peak_memory_bytes() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return -1;
  long long kibibytes = -1;
  char line[256];
  while (kibibytes < 0 && std::fgets(line, sizeof(line), file) != nullptr)
    if (std::sscanf(line, "VmHWM: %lld kB", &kibibytes) != 1) kibibytes = -1;
  std::fclose(file);
  return kibibytes < 0 ? -1 : kibibytes * 1024;
}

double predicted_us_of(const Plan& plan, size_t entry, const std::string& variant) {
  for (size_t i = 0; i < plan.variant_count(entry); ++i)
    if (variant == plan.variant(i, entry).name)
      return static_cast<double>(plan.variant(i, entry).predicted_us);
  return 0;
}

// Returns advice about the time, like advice_on() of several variants.
std::vector<std::string> advice_on(const Report& report) {
  const std::string note =
      prediction_note(report.session, report.predicted_us, report.runs.median_us, report.num_runs);
  return note.empty() ? std::vector<std::string>() : std::vector<std::string>{note};
}

// A report that is JSON or goes to a file is read later: what it advises is said on stderr as well.
void print_report(const PlanFlags& flags, const std::string& report,
                  const std::vector<std::string>& advice) {
  print_to(flags.output_path, report);
  const bool goes_to_stdout = flags.output_path.empty() || flags.output_path == "-";
  if (goes_to_stdout && !flags.is_json) return;
  for (const std::string& line : advice) print_message(kTool, Severity::Note, line);
}

// Everything that the session of the timed runs tells; it is gone before the next is made.
void measure(const Plan& plan, const BenchFlags& flags, const std::vector<codl_buffer_t>& inputs,
             const std::vector<codl_buffer_t>& outputs, Report* report) {
  PlanFlags own = flags.plan;
  own.prepares_all = flags.is_adaptive;
  Session session = create_session(plan, own, false);
  const Policy policy = flags.is_adaptive ? create_policy(session) : nullptr;
  const auto run = [&] { run_session(session, inputs, outputs, policy); };
  report->first_run_us = time_us(run);
  for (int32_t i = 0; i < flags.warmup_runs; ++i) run();
  std::optional<CoreProbes> probes;
  if (!flags.probe_cores.empty()) probes.emplace(flags.probe_cores);
  std::vector<double> runs_us;
  std::vector<double> probes_us;
  const double end_us = now_us() + 1000.0 * flags.min_ms;
  for (int32_t i = 0; i < flags.num_runs || now_us() < end_us; ++i) {
    const double start_us = now_us();
    run();
    runs_us.push_back(now_us() - start_us);
    report->all_runs.push_back(
        {session.info().variant, static_cast<int64_t>(start_us * 1000), runs_us.back()});
    if (probes) probes_us.push_back(probes->mean_us());
  }
  if (probes) report->probe_us = latencies_of(std::move(probes_us)).median_us;
  report->num_runs = static_cast<int64_t>(runs_us.size());
  report->runs = latencies_of(std::move(runs_us));
  report->peak_memory_bytes = peak_memory_bytes();
  report->session = facts_of(plan, session);
  if (policy) report->adaptation = adaptation_of(session, policy, report->all_runs);
}

// Records `run_count` runs after one to warm up.
std::vector<Timeline> record_runs(const Plan& plan, const PlanFlags& flags, int32_t run_count,
                                  const std::vector<codl_buffer_t>& inputs,
                                  const std::vector<codl_buffer_t>& outputs) {
  Session session = create_session(plan, flags, true);
  run_session(session, inputs, outputs);
  std::vector<Timeline> timelines;
  for (int32_t i = 0; i < run_count; ++i) {
    run_session(session, inputs, outputs);
    timelines.push_back(timeline_of(session));
  }
  return timelines;
}

std::string memory_line(const char* name, int64_t bytes) {
  return bytes < 0 ? "" : formatted("  %-13s %9.2f MB\n", name, static_cast<double>(bytes) / 1e6);
}

std::string report_text(const BenchFlags& flags, const Report& report) {
  const SessionFacts& session = report.session;
  std::string text = describe_session(session) + "\n";
  text += counted(report.num_runs, "run") + " after " + std::to_string(flags.warmup_runs) +
          " to warm up\n";
  text += formatted("  min          %10.3f ms\n", ms_of(report.runs.min_us));
  text += formatted("  median       %10.3f ms    predicted %.3f ms\n", ms_of(report.runs.median_us),
                    ms_of(report.predicted_us));
  text += formatted("  p90          %10.3f ms\n", ms_of(report.runs.p90_us));
  text += formatted("  p99          %10.3f ms\n", ms_of(report.runs.p99_us));
  if (report.probe_us >= 0)
    text +=
        formatted("  probe        %10.4f ms    what a chain of multiplications takes beside them\n",
                  ms_of(report.probe_us));
  text += "load\n";
  text += formatted("  open plan    %10.3f ms\n", ms_of(report.open_us));
  text += formatted("  session      %10.3f ms    of which %.3f ms building OpenCL programs\n",
                    ms_of(session.session_us), ms_of(session.program_us));
  text += formatted("  first run    %10.3f ms\n", ms_of(report.first_run_us));
  text += "memory\n";
  int64_t held_bytes = 0;
  for (const SessionFacts::Memory& kind : session.memory) {
    held_bytes += kind.bytes;
    if (kind.bytes != 0) text += memory_line(kind.text, kind.bytes);
  }
  text += memory_line("all of these", held_bytes);
  text += memory_line("process peak", report.peak_memory_bytes);
  text += formatted("queues, in a recorded run of %.3f ms\n", ms_of(report.queues.wall_us));
  for (size_t queue = 0; queue < kQueueCount; ++queue) {
    const QueueTimes& times = report.queues.queues[queue];
    if (times.step_count == 0) continue;
    text += formatted("  %-12s %10.3f ms busy %10.3f ms idle %6zu steps\n", kQueueNames[queue],
                      ms_of(times.busy_us), ms_of(times.idle_us), times.step_count);
  }
  text += formatted("  cpu and gpu  %10.3f ms both busy\n", ms_of(report.queues.overlap_us));
  if (!report.slices_us.empty()) {
    const Latencies slices = latencies_of(report.slices_us);
    text += formatted(
        "gpu slices, from enqueued to done, of %d recorded runs\n"
        "  p99          %10.3f ms    longest %.3f ms\n",
        flags.recorded_runs, ms_of(slices.p99_us),
        ms_of(*std::max_element(report.slices_us.begin(), report.slices_us.end())));
  }
  text += report.timeline;
  if (report.adaptation) text += adaptation_text(*report.adaptation);
  if (flags.lists_steps) text += steps_text(report.steps, flags.recorded_runs);
  for (const std::string& line : advice_on(report)) text += "note: " + line + "\n";
  return text;
}

void write_queues(JsonWriter& json, const RunTimes& times) {
  json.key("recorded_run").begin_object();
  json.key("wall_us").number(times.wall_us);
  json.key("overlap_us").number(times.overlap_us);
  json.key("queues").begin_array();
  for (size_t queue = 0; queue < kQueueCount; ++queue) {
    if (times.queues[queue].step_count == 0) continue;
    json.begin_object();
    json.key("queue").string(kQueueNames[queue]);
    json.key("step_count").integer(static_cast<int64_t>(times.queues[queue].step_count));
    json.key("busy_us").number(times.queues[queue].busy_us);
    json.key("idle_us").number(times.queues[queue].idle_us);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

// {"plan", "plan_device", "entry" (of a plan of several shapes), "variant", "fallback_reason",
// "thread_count", "wanted_thread_count",
//  "opencl_platform", "opencl_device", "cpu_architecture", "num_runs", "warmup_runs",
//  "predicted_us", "min_us", "median_us", "p90_us", "p99_us", "probe_us" (-1: not asked for),
//  "load_us" = "open_us" + "session_us", "program_us" (part of session_us), "first_run_us",
//  "host_bytes", "scratch_bytes", "shared_bytes", "device_bytes", "image_bytes", "weight_bytes",
//  "weight_copy_bytes", "table_bytes", "peak_memory_bytes" (-1: not known), "recorded_run":
//  {"wall_us", "overlap_us", "queues":
//  [{"queue", "step_count", "busy_us", "idle_us"}]}, with --adaptive "switch_count",
//  "switch_us", "variants": [{"variant", "run_count", "predicted_us", "expected_us", "slowdown"}],
//  with --list-runs "runs": [{"variant", "start_ns", "us"}], with
//  --steps "steps": [{"node", "kernel", "queue", "predicted_us", "median_us", "start_us",
//  "end_us"}], with --list-slices "slices_us": [], "advice": []}
std::string report_json(const BenchFlags& flags, const Report& report) {
  const SessionFacts& session = report.session;
  JsonWriter json;
  json.begin_object();
  write_session(json, flags.plan.plan_path, session);
  json.key("cpu_architecture").string(kCpuArchitecture);
  json.key("num_runs").integer(report.num_runs);
  json.key("warmup_runs").integer(flags.warmup_runs);
  json.key("predicted_us").number(report.predicted_us);
  json.key("min_us").number(report.runs.min_us);
  json.key("median_us").number(report.runs.median_us);
  json.key("p90_us").number(report.runs.p90_us);
  json.key("p99_us").number(report.runs.p99_us);
  json.key("probe_us").number(report.probe_us);
  json.key("load_us").number(report.open_us + session.session_us);
  json.key("open_us").number(report.open_us);
  json.key("session_us").number(session.session_us);
  json.key("program_us").number(session.program_us);
  json.key("first_run_us").number(report.first_run_us);
  for (const SessionFacts::Memory& kind : session.memory) json.key(kind.key).integer(kind.bytes);
  json.key("peak_memory_bytes").integer(report.peak_memory_bytes);
  write_queues(json, report.queues);
  if (report.adaptation) write_adaptation(json, *report.adaptation);
  if (flags.lists_runs) write_runs(json, report.all_runs);
  if (flags.lists_steps) write_steps(json, report.steps);
  if (flags.lists_slices) {
    json.key("slices_us").begin_array();
    for (double us : report.slices_us) json.number(us);
    json.end_array();
  }
  json.key("advice").begin_array();
  for (const std::string& line : advice_on(report)) json.string(line);
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

// {"plan", "plan_device", "entry" (of a plan of several shapes), "opencl_device" ("": no variant
// has GPU steps), "cpu_architecture",
//  "rounds", "num_runs" (of a variant in a round), "variants": [{"variant", "predicted_us",
//  "median_us" (of the rounds'), "min_us", "p90_us", "p99_us", "rounds_us": [], with --steps
//  "steps"}], "missing": [], "fastest", "predicted_fastest", "advice": []}
std::string comparison_json(const BenchFlags& flags, const Comparison& comparison,
                            const std::vector<std::vector<StepTimes>>& steps) {
  JsonWriter json;
  json.begin_object();
  json.key("plan").string(flags.plan.plan_path);
  if (!comparison.variants.empty())
    json.key("plan_device").string(comparison.variants[0].session.plan_device);
  if (!comparison.variants.empty() && !comparison.variants[0].session.entry.empty())
    json.key("entry").string(comparison.variants[0].session.entry);
  std::string opencl_device;
  for (const VariantTimes& variant : comparison.variants)
    if (opencl_device.empty()) opencl_device = variant.session.opencl_device;
  json.key("opencl_device").string(opencl_device);
  json.key("cpu_architecture").string(kCpuArchitecture);
  json.key("rounds").integer(flags.rounds);
  json.key("num_runs").integer(comparison.run_count);
  json.key("variants").begin_array();
  for (size_t i = 0; i < comparison.variants.size(); ++i) {
    const VariantTimes& variant = comparison.variants[i];
    json.begin_object();
    json.key("variant").string(variant.session.variant);
    json.key("predicted_us").number(variant.predicted_us);
    json.key("median_us").number(variant.median_us);
    json.key("min_us").number(variant.runs.min_us);
    json.key("p90_us").number(variant.runs.p90_us);
    json.key("p99_us").number(variant.runs.p99_us);
    json.key("rounds_us").begin_array();
    for (double us : variant.rounds_us) json.number(us);
    json.end_array();
    if (flags.lists_steps) write_steps(json, steps[i]);
    json.end_object();
  }
  json.end_array();
  json.key("missing").begin_array();
  for (const std::string& line : comparison.missing) json.string(line);
  json.end_array();
  if (!comparison.variants.empty()) {
    const auto name_of = [&](size_t i) { return comparison.variants[i].session.variant; };
    json.key("fastest").string(name_of(fastest_variant(comparison)));
    json.key("predicted_fastest").string(name_of(predicted_fastest_variant(comparison)));
  }
  json.key("advice").begin_array();
  for (const std::string& line : advice_on(comparison, flags.plan)) json.string(line);
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

void bench_all_variants(const Plan& plan, BenchFlags flags,
                        const std::vector<codl_buffer_t>& inputs,
                        const std::vector<codl_buffer_t>& outputs) {
  flags.rounds = flags.rounds > 0 ? flags.rounds : kRounds;
  const Comparison comparison = compare_variants(
      plan, flags.plan, {flags.rounds, flags.num_runs, flags.warmup_runs}, inputs, outputs);
  std::vector<std::vector<StepTimes>> steps;
  std::string text = comparison_text(comparison, flags.plan);
  for (const VariantTimes& variant : comparison.variants) {
    if (!flags.lists_steps) break;
    PlanFlags own = flags.plan;
    own.variant = variant.session.variant;
    steps.push_back(step_times_of(record_runs(plan, own, flags.recorded_runs, inputs, outputs)));
    text +=
        "variant " + printable(own.variant) + ": " + steps_text(steps.back(), flags.recorded_runs);
  }
  std::vector<std::string> advice;
  for (const std::string& line : comparison.missing) advice.push_back("not run: " + line);
  for (std::string& line : advice_on(comparison, flags.plan)) advice.push_back(std::move(line));
  print_report(flags.plan, flags.plan.is_json ? comparison_json(flags, comparison, steps) : text,
               advice);
}

// Refuses flags that only the other way to measure has.
void check_flags(const BenchFlags& flags) {
  if (!flags.compares_variants && flags.rounds > 0)
    fail_input("--rounds", "--all-variants beside it", "none");
  if (!flags.compares_variants) return;
  const std::pair<const char*, bool> others[] = {{"--variant", !flags.plan.variant.empty()},
                                                 {"--trace", !flags.plan.trace_path.empty()},
                                                 {"--min-ms", flags.min_ms > 0},
                                                 {"--adaptive", flags.is_adaptive},
                                                 {"--list-runs", flags.lists_runs},
                                                 {"--list-slices", flags.lists_slices},
                                                 {"--probe-cores", !flags.probe_cores.empty()}};
  for (const auto& [name, is_given] : others)
    if (is_given) fail_input(name, "one variant", "--all-variants");
}

int codl_bench(const std::vector<std::string>& arguments) {
  BenchFlags flags;
  CommandLine own;
  own.tool = kTool;
  own.summary =
      "Measures a plan on this machine: latency of a run, load time, memory, and what each "
      "processor does. Inputs without --input are random.";
  own.examples = {{"codl-bench net.codl --all-variants --json --steps -o bench.json",
                   "times all variants; codlc --learn=net.codl=bench.json plans by the result"}};
  own.groups = {
      {"What is measured",
       {{"num-runs", integer_value("N", &flags.num_runs, 1), "time N runs"},
        {"warmup-runs", integer_value("N", &flags.warmup_runs, 0),
         "run N times before that, besides the first run"},
        {"all-variants", switch_value(&flags.compares_variants),
         "time all variants in turns, and say which is the fastest", "",
         "It says what to do where that is not the predicted one."},
        {"steps", switch_value(&flags.lists_steps), "list the steps, predicted and measured"},
        {"adaptive", switch_value(&flags.is_adaptive),
         "let the session move among the variants by what runs take", "",
         "It begins with --variant; the report says what it did. Steps are those of the last "
         "variant."}},
       {{"rounds",
         integer_value<int32_t>("N", &flags.rounds, 1, std::numeric_limits<int32_t>::max(),
                                std::to_string(kRounds)),
         "let --all-variants take N turns, with --num-runs runs of each variant"},
        {"min-ms", integer_value("N", &flags.min_ms, 0),
         "go on with timed runs for at least N milliseconds"},
        {"recorded-runs", integer_value("N", &flags.recorded_runs, 1),
         "time the steps of N runs, which follow the timed ones"},
        {"list-runs", switch_value(&flags.lists_runs),
         "add every timed run to the JSON report, with its variant and when it began"},
        {"list-slices", switch_value(&flags.lists_slices),
         "add to the JSON report how long each GPU kernel took", "",
         "The time is from when it was enqueued until it was done, in the recorded runs."},
        {"probe-cores", cores_value(&flags.probe_cores, "none"),
         "after each run, time a chain of multiplications on these cores, which shows their "
         "clock"}}}};
  if (!parse_plan_flags(std::move(own), arguments, &flags.plan)) return 0;
  check_flags(flags);
  Report report;
  Plan plan;
  plan = open_plan(flags.plan, CODL_VERIFY_ALL);
  choose_entry(plan, &flags.plan);
  check_variant(plan, flags.plan, flags.compares_variants || flags.is_adaptive);
  plan = Plan();
  report.open_us = time_us([&] { plan = open_plan(flags.plan, CODL_VERIFY_STRUCTURE); });
  std::vector<Tensor> input_tensors = inputs_of(plan, flags.plan);
  std::vector<Tensor> output_tensors = empty_outputs(plan, flags.plan);
  const std::vector<codl_buffer_t> inputs = buffers_of(input_tensors);
  const std::vector<codl_buffer_t> outputs = buffers_of(output_tensors);

  if (flags.compares_variants) {
    bench_all_variants(plan, flags, inputs, outputs);
    return 0;
  }
  measure(plan, flags, inputs, outputs, &report);
  report.predicted_us = predicted_us_of(plan, flags.plan.entry, report.session.variant);
  PlanFlags last = flags.plan;
  if (flags.is_adaptive) last.variant = report.session.variant;
  const std::vector<Timeline> recorded =
      record_runs(plan, last, flags.recorded_runs, inputs, outputs);
  report.steps = step_times_of(recorded);
  const Timeline timeline = median_run(recorded);
  report.queues = run_times_of(timeline);
  for (const Timeline& run : recorded) {
    const std::vector<double> slices_us = slices_us_of(run);
    report.slices_us.insert(report.slices_us.end(), slices_us.begin(), slices_us.end());
  }
  report.timeline = text_timeline(timeline, kTimelineColumns);
  if (!flags.plan.trace_path.empty())
    print_to(flags.plan.trace_path, chrome_trace(timeline, report.session.variant));
  print_report(flags.plan,
               flags.plan.is_json ? report_json(flags, report) : report_text(flags, report),
               advice_on(report));
  return 0;
}

}  // namespace
}  // namespace codl::tools

int main(int argc, char** argv) {
  return codl::tools::run_tool(codl::tools::kTool, argc, argv, codl::tools::codl_bench);
}
