// codl-sim PLAN --device=NAME: a plan in virtual time on a device profile.
#include "compiler/emit/dump_plan.h"
#include "compiler/simulate/simulate_plan.h"
#include "compiler/support/error.h"
#include "compiler/support/version.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace {

using codl::compiler::DeviceProfile;
using codl::compiler::input_error;
using codl::compiler::SimulatedLoad;
using codl::compiler::SimulatedPlan;

constexpr char kHelp[] =
    "usage: codl-sim PLAN --device=NAME [flags]\n"
    "\n"
    "Runs the plan file PLAN in virtual time: every step takes what the device profile predicts.\n"
    "Nothing is computed. Simulated times are marked as such; codl-bench measures.\n"
    "\n"
    "  --device=NAME        a profile that codlc --list-devices names, or FILE.json\n"
    "  --variant=NAME       of the plan; default: all\n"
    "  --cpu-load=PERCENT   of the CPU lane's time that others take, 0 to 90; default: 0\n"
    "  --frame-load=PERCENT of the GPU's time that drawing takes, 0 to 90; default: 0\n"
    "  --trace=FILE         write the last variant's lanes as codl-bench --trace does\n"
    "  --version            print the version and exit\n"
    "  --help               print this and exit\n"
    "\n"
    "exit code: 0 ok, 1 PLAN or a flag is wrong, 2 a plan of another version, 70 internal error\n";

struct Flags {
  std::string plan;
  std::string device;
  std::string variant;
  std::string trace;
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
    if (argument == "--version") {
      llvm::outs() << "codl-sim " << codl::compiler::codlc_version() << "\n";
      return false;
    }
    const auto [flag, value] = argument.split('=');
    if (flag == "--device")
      flags->device = value.str();
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
  if (flags->plan.empty())
    return input_error("codl-sim", "expected a PLAN (see --help), found none");
  if (flags->device.empty())
    return input_error("codl-sim", "expected --device=NAME (see --help), found none");
  return true;
}

void print(llvm::StringRef variant, const SimulatedPlan& wall, const SimulatedPlan& kernels) {
  llvm::outs() << llvm::formatv("variant {0}, simulated\n", variant);
  llvm::outs() << llvm::formatv("  wall time    {0,12:f1} us\n", wall.total_us);
  llvm::outs() << llvm::formatv(
      "  kernel time  {0,12:f1} us    without hand-offs, as CoDL counts\n", kernels.total_us);
  const char* const names[] = {"cpu", "gpu", "transfer"};
  for (int lane = 0; lane < 3; ++lane)
    if (wall.busy_us[lane] > 0)
      llvm::outs() << llvm::formatv("  {0,-12} {1,12:f1} us busy {2,10:f1} us idle\n", names[lane],
                                    wall.busy_us[lane], wall.total_us - wall.busy_us[lane]);
  llvm::outs() << llvm::formatv("  cpu and gpu  {0,12:f1} us both busy\n", wall.overlap_us);
}

llvm::Error simulate(const Flags& flags) {
  CODL_ASSIGN_OR_RETURN(profile, codl::compiler::load_device_profile(flags.device));
  auto file = llvm::MemoryBuffer::getFile(flags.plan, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/true, /*IsVolatile=*/true);
  if (!file)
    return input_error(flags.plan, "expected a readable file, found: {0}",
                       file.getError().message());
  CODL_ASSIGN_OR_RETURN(plan, codl::compiler::open_plan((*file)->getBufferStart(),
                                                        (*file)->getBufferSize(), flags.plan));
  bool has_variant = false;
  std::string trace;
  for (const codl::plan::VariantDef* variant : *plan->variants()) {
    if (!flags.variant.empty() && variant->name()->str() != flags.variant) continue;
    has_variant = true;
    CODL_ASSIGN_OR_RETURN(wall, codl::compiler::simulate_plan(*variant, profile, flags.load, true));
    CODL_ASSIGN_OR_RETURN(kernels,
                          codl::compiler::simulate_plan(*variant, profile, flags.load, false));
    print(variant->name()->str(), wall, kernels);
    trace = codl::compiler::chrome_trace(*variant, wall);
  }
  if (!has_variant)
    return input_error("--variant", "expected a variant of the plan, found \"{0}\"", flags.variant);
  if (flags.trace.empty()) return llvm::Error::success();
  std::error_code error;
  llvm::raw_fd_ostream os(flags.trace, error);
  os << trace;
  os.close();
  if (!error) error = os.error();
  os.clear_error();
  if (error)
    return input_error(flags.trace, "expected a file to write, found: {0}", error.message());
  return llvm::Error::success();
}

llvm::Error run(llvm::ArrayRef<const char*> arguments) {
  Flags flags;
  CODL_ASSIGN_OR_RETURN(has_work, read_flags(arguments, &flags));
  return has_work ? simulate(flags) : llvm::Error::success();
}

}  // namespace

int main(int argc, char** argv) {
  llvm::Error error = run(llvm::makeArrayRef(argv + 1, argv + argc));
  if (error) return codl::compiler::report_error(std::move(error), llvm::errs());
  return 0;
}
