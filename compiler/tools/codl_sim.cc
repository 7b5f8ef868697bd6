// codl-sim: a plan, or a replay, in virtual time on a device profile.
#include <cmath>
#include <csignal>

#include "compiler/emit/dump_plan.h"
#include "compiler/simulate/replay.h"
#include "compiler/simulate/simulate_plan.h"
#include "compiler/support/error.h"
#include "compiler/support/input_file.h"
#include "compiler/support/version.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/files.h"
#include "tools/tool_error.h"

namespace {

using codl::compiler::Clock;
using codl::compiler::DeviceProfile;
using codl::compiler::input_error;
using codl::compiler::LaneStep;
using codl::compiler::SimulatedLoad;
using codl::compiler::Timeline;

constexpr char kHelp[] =
    "usage: codl-sim PLAN --device=NAME [flags]\n"
    "       codl-sim --replay=FILE.json --device=NAME [flags]\n"
    "\n"
    "Runs the plan file PLAN in virtual time: every step takes what the device profile predicts.\n"
    "Nothing is computed. Simulated times are marked as such; codl-bench measures.\n"
    "What is shown, and the format of a replay: docs/SIMULATOR.md.\n"
    "\n"
    "  --device=NAME        a profile that codlc --list-devices names, or FILE.json\n"
    "  --replay=FILE.json   operators and ratios in place of a plan, run as CoDL's engine would\n"
    "  --variant=NAME       of the plan; default: all\n"
    "  --cpu-load=PERCENT   of the CPU lane's time that others take, 0 to 90; default: 0\n"
    "  --frame-load=PERCENT of the GPU's time that drawing takes, 0 to 90; default: 0\n"
    "  --trace=FILE         write the last variant's lanes, in wall time, as codl-bench --trace "
    "does\n"
    "  --json               one line of JSON in place of text\n"
    "  --version            print the version and exit\n"
    "  --help               print this and exit\n"
    "\n"
    "exit code: 0 ok, 1 PLAN, FILE or a flag is wrong, 2 a plan of another version, 70 internal\n"
    "error\n";

struct Flags {
  std::string plan;
  std::string device;
  std::string replay;
  std::string variant;
  std::string trace;
  bool as_json = false;
  SimulatedLoad load;
};

llvm::Error read_percent(llvm::StringRef flag, llvm::StringRef text, double* out) {
  if (text.getAsDouble(*out) || !(*out >= 0 && *out <= 90))
    return input_error(flag, "expected a number from 0 to 90, found \"{0}\"", text);
  return llvm::Error::success();
}

// False if --help or --version was answered.
llvm::Expected<bool> read_flags(llvm::ArrayRef<const char*> arguments, Flags* flags) {
  for (llvm::StringRef argument : arguments) {
    if (argument == "--help") {
      llvm::outs() << kHelp;
      return false;
    }
    if (argument == "--json") {
      flags->as_json = true;
      continue;
    }
    if (argument == "--version") {
      llvm::outs() << "codl-sim " << codl::compiler::codlc_version() << "\n";
      return false;
    }
    const auto [flag, value] = argument.split('=');
    if (flag == "--device")
      flags->device = value.str();
    else if (flag == "--replay")
      flags->replay = value.str();
    else if (flag == "--variant")
      flags->variant = value.str();
    else if (flag == "--trace")
      flags->trace = value.str();
    else if (flag == "--cpu-load" || flag == "--frame-load") {
      double* target =
          flag == "--cpu-load" ? &flags->load.cpu_percent : &flags->load.gpu_frame_percent;
      if (llvm::Error error = read_percent(flag, value, target)) return error;
    } else if (argument.startswith("-") || !flags->plan.empty())
      return input_error("codl-sim", "expected one PLAN and flags of --help, found \"{0}\"",
                         argument);
    else
      flags->plan = argument.str();
  }
  if (flags->plan.empty() == flags->replay.empty())
    return input_error("codl-sim", "expected a PLAN or --replay=FILE.json (see --help), found {0}",
                       flags->plan.empty() ? "none" : "both");
  if (!flags->replay.empty() && !flags->variant.empty())
    return input_error("--variant", "expected it with a PLAN, found it with --replay");
  if (flags->device.empty())
    return input_error("codl-sim", "expected --device=NAME (see --help), found none");
  return true;
}

// One variant, or one replay, in virtual time.
struct Simulated {
  std::string name;
  std::vector<LaneStep> steps;
  Timeline wall;
  Timeline codl;
};

Simulated simulate(llvm::StringRef name, std::vector<LaneStep> steps, const DeviceProfile& profile,
                   const SimulatedLoad& load) {
  Simulated result{name.str(), std::move(steps), {}, {}};
  result.wall = codl::compiler::run_lanes(result.steps, profile, load, Clock::Wall);
  result.codl = codl::compiler::run_lanes(result.steps, profile, load, Clock::Codl);
  return result;
}

void print_text(const Simulated& simulated, const DeviceProfile& profile) {
  const Timeline& wall = simulated.wall;
  llvm::raw_ostream& os = llvm::outs();
  os << llvm::formatv("{0} on {1}, simulated\n", simulated.name, profile.name);
  os << llvm::formatv("  wall time    {0,12:f1} us\n", wall.total_us);
  os << llvm::formatv("  CoDL's clock {0,12:f1} us    kernels, maps and waits, without launches\n",
                      simulated.codl.total_us);
  for (size_t lane = 0; lane < codl::compiler::kLaneCount; ++lane)
    if (wall.busy_us[lane] > 0)
      os << llvm::formatv("  {0,-12} {1,12:f1} us busy {2,10:f1} us idle\n",
                          codl::compiler::kLaneNames[lane], wall.busy_us[lane],
                          wall.total_us - wall.busy_us[lane]);
  os << llvm::formatv("  cpu and gpu  {0,12:f1} us both busy\n", wall.overlap_us);
  if (profile.power) {
    const double energy_j = wall.energy_j(*profile.power);
    const double mean_w = wall.total_us > 0 ? energy_j / (wall.total_us * 1e-6) : 0;
    os << llvm::formatv("  energy       {0,12:f3} mJ {1,15:f2} W in the mean\n", energy_j * 1e3,
                        mean_w);
  }
}

void print_json(llvm::ArrayRef<Simulated> all, const DeviceProfile& profile) {
  llvm::json::OStream json(llvm::outs());
  const auto rounded = [&](llvm::StringRef key, double value) {
    json.attribute(key, std::round(value * 1e3) / 1e3);
  };
  json.object([&] {
    json.attribute("device", profile.name);
    json.attributeArray("runs", [&] {
      for (const Simulated& simulated : all)
        json.object([&] {
          json.attribute("name", llvm::json::fixUTF8(simulated.name));
          rounded("wall_us", simulated.wall.total_us);
          rounded("codl_clock_us", simulated.codl.total_us);
          json.attributeObject("busy_us", [&] {
            for (size_t lane = 0; lane < codl::compiler::kLaneCount; ++lane)
              rounded(codl::compiler::kLaneNames[lane], simulated.wall.busy_us[lane]);
          });
          rounded("overlap_us", simulated.wall.overlap_us);
          if (profile.power) rounded("energy_mj", simulated.wall.energy_j(*profile.power) * 1e3);
        });
    });
  });
  llvm::outs() << "\n";
}

llvm::Expected<std::vector<Simulated>> simulate_replay(const Flags& flags,
                                                       const DeviceProfile& profile) {
  CODL_ASSIGN_OR_RETURN(text, codl::compiler::read_input(flags.replay, codl::tools::kMaxTextBytes));
  CODL_ASSIGN_OR_RETURN(replay, codl::compiler::parse_replay(text, flags.replay));
  CODL_ASSIGN_OR_RETURN(steps, codl::compiler::lane_steps_of(replay, profile));
  std::vector<Simulated> result;
  result.push_back(simulate("replay " + replay.name, std::move(steps), profile, flags.load));
  return result;
}

llvm::Expected<std::vector<Simulated>> simulate_variants(const Flags& flags,
                                                         DeviceProfile profile) {
  CODL_ASSIGN_OR_RETURN(bytes, codl::compiler::read_plan(flags.plan));
  CODL_ASSIGN_OR_RETURN(plan, codl::compiler::open_plan(bytes.data(), bytes.size(), flags.plan));
  std::vector<Simulated> result;
  for (const codl::plan::VariantDef* variant : *plan->variants()) {
    if (!flags.variant.empty() && variant->name()->str() != flags.variant) continue;
    profile.set_weights(codl::compiler::weight_mbytes(*variant));
    CODL_ASSIGN_OR_RETURN(steps, codl::compiler::lane_steps_of(*variant, profile));
    result.push_back(
        simulate("variant " + variant->name()->str(), std::move(steps), profile, flags.load));
  }
  if (result.empty())
    return input_error("--variant", "expected a variant of the plan, found \"{0}\"", flags.variant);
  return result;
}

llvm::Error simulate_all(const Flags& flags) {
  if (!flags.trace.empty()) codl::tools::claim_output(flags.trace);
  CODL_ASSIGN_OR_RETURN(profile, codl::compiler::load_device_profile(flags.device));
  CODL_ASSIGN_OR_RETURN(all, flags.replay.empty() ? simulate_variants(flags, profile)
                                                  : simulate_replay(flags, profile));
  if (flags.as_json)
    print_json(all, profile);
  else
    for (const Simulated& simulated : all) print_text(simulated, profile);
  if (flags.trace.empty()) return llvm::Error::success();
  codl::tools::write_file(flags.trace, codl::compiler::chrome_trace(
                                           all.back().name, all.back().steps, all.back().wall));
  return llvm::Error::success();
}

llvm::Error run(llvm::ArrayRef<const char*> arguments) {
  Flags flags;
  CODL_ASSIGN_OR_RETURN(has_work, read_flags(arguments, &flags));
  return has_work ? simulate_all(flags) : llvm::Error::success();
}

}  // namespace

int main(int argc, char** argv) try {
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::Error error = run(llvm::makeArrayRef(argv + 1, argv + argc));
  if (error) return codl::compiler::report_error(std::move(error), llvm::errs());
  return 0;
} catch (const codl::tools::ToolError& error) {
  llvm::errs() << error.what() << "\n";
  return static_cast<int>(error.code);
}
