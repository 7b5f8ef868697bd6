// codl-sim runs a plan, or a replay, in virtual time on a device profile.
#include "compiler/emit/dump_plan.h"
#include "compiler/simulate/scenarios/display.h"
#include "compiler/simulate/scenarios/replay.h"
#include "compiler/simulate/timing/simulate.h"
#include "compiler/support/error.h"
#include "compiler/support/hash.h"
#include "compiler/support/input_file.h"
#include "compiler/tools/output.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/plan_layout.h"
#include "tools/files.h"
#include "tools/flags.h"
#include "tools/json_writer.h"
#include "tools/printable.h"
#include "tools/quantity.h"
#include "tools/tool_error.h"

namespace {

using namespace codl;
using namespace codl::compiler;

constexpr char kTool[] = "codl-sim";

struct Flags {
  std::string plan;
  std::string device;
  std::string replay;
  std::string entry;
  std::string variant;
  std::string trace;
  std::string output;
  bool is_json = false;
  SimulatedLoad load;
  std::optional<GpuService> display;
};

// Runs follow one another beside the display for this long.
constexpr double kDisplayUs = 60e6;
// Shorter ones are many more than any device can begin.
constexpr double kMinDisplayRunUs = 1;

tools::CommandLine command_line_of(Flags* flags) {
  using tools::quantity_value;
  using tools::switch_value;
  using tools::text_value;
  const tools::Quantity most_load = tools::percent_quantity(1, 0, 90);
  tools::CommandLine line;
  line.tool = kTool;
  line.version = compiler_version();
  line.usage = {"PLAN [flags]", "--replay=FILE.json --device=NAME|FILE.json [flags]"};
  line.summary =
      "Runs a plan in virtual time: every step takes what the device profile predicts. Nothing is "
      "computed; codl-bench measures.";
  line.examples = {{"codl-sim net.codl --cpu-load=50%",
                    "predicts a run beside programs that take half of the CPU's time"}};
  line.exit_codes =
      "0 ok, 1 the input is wrong (plan, profile, replay, flag), 2 a plan of another version, 70 "
      "internal error";
  line.groups = {
      {"What is run",
       {{"variant", text_value("NAME", &flags->variant, "all"), "run this variant of the plan"},
        {"entry", text_value("NAME", &flags->entry, "all"),
         "run the plan at these input shapes, like width=320"},
        {"device", text_value("NAME|FILE.json", &flags->device, "the one that the plan is for"),
         "run it on this device: a name of codlc --list-devices, or a profile"}},
       {{"replay", text_value("FILE.json", &flags->replay, "none"),
         "run operators and ratios in place of a plan, as CoDL's engine would", "",
         "docs/reference/simulator.md has the format."}}},
      {"What else the device does",
       {{"cpu-load", quantity_value("PERCENT", &flags->load.cpu_percent, most_load),
         "let other programs take this share of the CPU's time"},
        {"frame-load", quantity_value("PERCENT", &flags->load.gpu_frame_percent, most_load),
         "let drawing take this share of the GPU's time"}},
       {{"display",
         tools::choice_value<GpuService>(
             &flags->display, {{"fifo", GpuService::Fifo}, {"round-robin", GpuService::RoundRobin}},
             "none"),
         "count the frames that another program loses beside runs that follow one another", "",
         "A frame is 3 ms of the GPU, every 16.7 ms. fifo: the GPU serves in the order of "
         "requests; round-robin: in turn, a launch each."}}},
      {"Output",
       {{"output", text_value("FILE", &flags->output, "stdout"), "write the report to FILE", "o"},
        {"json", switch_value(&flags->is_json), "report one line of JSON in place of text"},
        {"trace", text_value("FILE", &flags->trace, "none"),
         "write the last variant's timeline for Perfetto or chrome://tracing"}}}};
  return line;
}

llvm::Error check_flags(const Flags& flags) {
  if (flags.plan.empty() == flags.replay.empty())
    return input_error("command line",
                       "expected a PLAN or --replay=FILE.json (see --help), found {0}",
                       flags.plan.empty() ? "none" : "both");
  for (const auto& [flag, value] :
       {std::pair("--variant", &flags.variant), std::pair("--entry", &flags.entry)})
    if (!flags.replay.empty() && !value->empty())
      return input_error(flag, "expected it with a PLAN, found it with --replay");
  if (!flags.replay.empty() && flags.device.empty())
    return input_error("--replay", "expected --device=NAME beside it, found none");
  return llvm::Error::success();
}

// Holds one variant or one replay that has run in virtual time.
struct Simulated {
  std::string name;
  std::vector<QueueStep> steps;
  Timeline wall;
  Timeline codl;
  std::optional<FrameCount> frames;
};

llvm::Expected<Simulated> simulate(llvm::StringRef name, std::vector<QueueStep> steps,
                                   const DeviceProfile& profile, const Flags& flags,
                                   bool enqueues_all) {
  const SimulatedLoad& load = flags.load;
  Simulated result{name.str(), std::move(steps), {}, {}, {}};
  result.wall = run_queues(result.steps, profile, load, Clock::Wall);
  result.codl = run_queues(result.steps, profile, load, Clock::Codl);
  if (!flags.display) return result;
  if (!(result.wall.total_us >= kMinDisplayRunUs))
    return input_error("--display",
                       "expected runs of {0:f3} ms or more, found that {1} takes {2:f6} ms",
                       kMinDisplayRunUs / 1e3, name, result.wall.total_us / 1e3);
  Display display;
  display.service = *flags.display;
  result.frames = count_frames(result.steps, profile, display, enqueues_all, kDisplayUs);
  return result;
}

double lost_percent(const FrameCount& count) {
  return count.frames > 0 ? 100.0 * static_cast<double>(count.lost) / count.frames : 0;
}

void print_text(const Simulated& simulated, const DeviceProfile& profile, llvm::raw_ostream& os) {
  const Timeline& wall = simulated.wall;
  os << llvm::formatv("{0} on {1}, simulated\n", tools::printable(simulated.name), profile.name);
  os << llvm::formatv("  wall time    {0,12:f3} ms\n", wall.total_us / 1e3);
  os << llvm::formatv("  CoDL's clock {0,12:f3} ms    kernels, maps and waits, without launches\n",
                      simulated.codl.total_us / 1e3);
  for (size_t queue = 0; queue < kQueueCount; ++queue)
    if (wall.busy_us[queue] > 0)
      os << llvm::formatv("  {0,-12} {1,12:f3} ms busy {2,10:f3} ms idle\n", kQueueNames[queue],
                          wall.busy_us[queue] / 1e3, (wall.total_us - wall.busy_us[queue]) / 1e3);
  os << llvm::formatv("  cpu and gpu  {0,12:f3} ms both busy\n", wall.overlap_us / 1e3);
  if (profile.power) {
    const double energy_j = wall.energy_j(*profile.power);
    const double mean_w = wall.total_us > 0 ? energy_j / (wall.total_us * 1e-6) : 0;
    os << llvm::formatv("  energy       {0,12:f3} mJ {1,15:f2} W in the mean\n", energy_j * 1e3,
                        mean_w);
  }
  if (const std::optional<FrameCount>& count = simulated.frames)
    os << llvm::formatv(
        "  display      {0,12:f1} % of {1} frames lost; {2} runs of {3:f3} ms; a frame waits "
        "{4:f3} ms at most\n",
        lost_percent(*count), count->frames, count->runs, count->run_us / 1e3,
        count->longest_wait_us / 1e3);
}

void print_json(llvm::ArrayRef<Simulated> all, const DeviceProfile& profile,
                llvm::raw_ostream& os) {
  tools::JsonWriter json;
  const auto rounded = [&](llvm::StringRef key, double value) {
    json.key(key).number(std::round(value * 1e3) / 1e3);
  };
  json.object([&] {
    json.key("device").string(profile.name);
    json.key("runs").array([&] {
      for (const Simulated& simulated : all)
        json.object([&] {
          json.key("name").string(simulated.name);
          rounded("wall_us", simulated.wall.total_us);
          rounded("codl_clock_us", simulated.codl.total_us);
          json.key("busy_us").object([&] {
            for (size_t queue = 0; queue < kQueueCount; ++queue)
              rounded(kQueueNames[queue], simulated.wall.busy_us[queue]);
          });
          rounded("overlap_us", simulated.wall.overlap_us);
          if (profile.power) rounded("energy_mj", simulated.wall.energy_j(*profile.power) * 1e3);
          if (const std::optional<FrameCount>& count = simulated.frames)
            json.key("display").object([&] {
              json.key("frames").integer(static_cast<int64_t>(count->frames));
              json.key("lost").integer(static_cast<int64_t>(count->lost));
              json.key("runs").integer(static_cast<int64_t>(count->runs));
              rounded("lost_percent", lost_percent(*count));
              rounded("run_us", count->run_us);
              rounded("longest_wait_us", count->longest_wait_us);
            });
        });
    });
  });
  os << json.text() << "\n";
}

struct Result {
  DeviceProfile profile;
  std::vector<Simulated> runs;
};

llvm::Expected<Result> simulate_replay(const Flags& flags) {
  CODL_ASSIGN_OR_RETURN(profile, load_device_profile(flags.device));
  CODL_ASSIGN_OR_RETURN(text, read_input(flags.replay, tools::kMaxTextBytes));
  CODL_ASSIGN_OR_RETURN(replay, parse_replay(text, flags.replay));
  CODL_ASSIGN_OR_RETURN(steps, queue_steps_of(replay, profile));
  Result result{std::move(profile), {}};
  CODL_ASSIGN_OR_RETURN(
      run, simulate("replay " + replay.name, std::move(steps), result.profile, flags, false));
  result.runs.push_back(std::move(run));
  return result;
}

// Returns the profile that the plan was made with, by the name that the plan has. It is found only
// if it is still the same.
llvm::Expected<DeviceProfile> profile_of(const PlanInfo& plan, llvm::StringRef path) {
  const std::string& name = plan.device;
  const auto ask = [&](const char* why) {
    return input_error(
        path, "expected --device=FILE.json beside a plan for \"{0}\", found none; {1}", name, why);
  };
  if (!llvm::is_contained(list_devices(), name)) return ask("--list-devices has no such profile");
  CODL_ASSIGN_OR_RETURN(profile, load_device_profile(name));
  if (to_hex(profile.hash) != plan.profile_hash)
    return ask("the profile of that name is not the one that the plan was made with");
  return profile;
}

llvm::Error simulate_entry(const PlanEntry& entry, const Flags& flags, Result& result) {
  std::vector<std::string> names;
  for (const Variant& variant : entry.variants) names.push_back(variant.name);
  const bool wants_first =
      flags.variant == kCoexecVariant && !llvm::is_contained(names, flags.variant);
  const std::string& wanted = wants_first ? names.front() : flags.variant;
  if (!wanted.empty() && !llvm::is_contained(names, wanted))
    return input_error("--variant", "expected {0}, found \"{1}\"{2}", llvm::join(names, " or "),
                       flags.variant, tools::suggestion(flags.variant, names));
  for (const Variant& variant : entry.variants) {
    if (!wanted.empty() && variant.name != wanted) continue;
    CODL_ASSIGN_OR_RETURN(steps, queue_steps_of(variant, result.profile));
    CODL_ASSIGN_OR_RETURN(
        run, simulate("variant " + full_name(entry, variant.name), std::move(steps), result.profile,
                      flags, variant.gate == Gate::UserEvent));
    result.runs.push_back(std::move(run));
  }
  return llvm::Error::success();
}

llvm::Expected<Result> simulate_variants(const Flags& flags) {
  CODL_ASSIGN_OR_RETURN(bytes, map_plan(flags.plan));
  CODL_ASSIGN_OR_RETURN(plan,
                        open_plan(bytes->getBufferStart(), bytes->getBufferSize(), flags.plan));
  CODL_ASSIGN_OR_RETURN(profile, flags.device.empty() ? profile_of(plan.info, flags.plan)
                                                      : load_device_profile(flags.device));
  Result result{std::move(profile), {}};
  std::vector<std::string> entry_names;
  for (const PlanEntry& entry : plan.entries) {
    entry_names.push_back(entry.name);
    if (!flags.entry.empty() && entry.name != flags.entry) continue;
    if (llvm::Error error = simulate_entry(entry, flags, result)) return error;
  }
  if (result.runs.empty())
    return plan.entries.size() == 1
               ? input_error("--entry", "expected a plan of several input shapes, found one")
               : input_error("--entry", "expected {0}, found \"{1}\"{2}",
                             llvm::join(entry_names, " or "), flags.entry,
                             tools::suggestion(flags.entry, entry_names));
  return result;
}

llvm::Error run(const Flags& flags) {
  if (llvm::Error error = check_flags(flags)) return error;
  if (!flags.output.empty()) tools::claim_output(flags.output);
  if (!flags.trace.empty()) tools::claim_output(flags.trace);
  CODL_ASSIGN_OR_RETURN(result,
                        flags.replay.empty() ? simulate_variants(flags) : simulate_replay(flags));
  std::string text;
  llvm::raw_string_ostream os(text);
  if (flags.is_json)
    print_json(result.runs, result.profile, os);
  else
    for (const Simulated& simulated : result.runs) print_text(simulated, result.profile, os);
  if (!flags.trace.empty()) {
    const Simulated& last = result.runs.back();
    tools::print_to(flags.trace, chrome_trace(last.name, last.steps, last.wall));
  }
  tools::print_to(flags.output, os.str());
  return llvm::Error::success();
}

int codl_sim(const std::vector<std::string>& arguments) {
  Flags flags;
  const tools::Arguments parsed = parse_command_line(command_line_of(&flags), arguments);
  if (parsed.answer) {
    tools::print(*parsed.answer);
    return 0;
  }
  flags.plan = only_operand(parsed, "PLAN");
  return report(kTool, run(flags));
}

}  // namespace

int main(int argc, char** argv) { return run_compiler_tool(kTool, argc, argv, codl_sim); }
