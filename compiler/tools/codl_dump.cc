// codl-dump: a plan file as text, or as JSON for scripts; a device profile as text.
#include <csignal>

#include "compiler/device/device_profile.h"
#include "compiler/emit/dump_plan.h"
#include "compiler/support/error.h"
#include "compiler/support/input_file.h"
#include "compiler/support/version.h"
#include "llvm/Support/raw_ostream.h"

namespace {

using codl::compiler::input_error;

constexpr char kHelp[] =
    "usage: codl-dump PLAN [--json]\n"
    "       codl-dump --device=NAME\n"
    "\n"
    "Prints the plan file PLAN that codlc wrote: what it was made from, then per variant its\n"
    "tensors and steps. The file is verified first, checksum included.\n"
    "\n"
    "  --json         one line of JSON (keys: docs/PLAN_FORMAT.md) in place of text\n"
    "  --device=NAME  print a device profile in place of a plan: facts, known problems, costs and\n"
    "                 models, with the origin of the numbers; a name that codlc --list-devices\n"
    "                 lists, or FILE.json\n"
    "  --version      print the version and exit\n"
    "  --help         print this and exit\n"
    "\n"
    "exit code: 0 ok, 1 PLAN, the profile or a flag is wrong, 70 internal error\n";

llvm::Expected<std::string> dump_file(llvm::StringRef path, bool as_json) {
  CODL_ASSIGN_OR_RETURN(bytes, codl::compiler::read_plan(path));
  return as_json ? codl::compiler::dump_plan_json(bytes.data(), bytes.size(), path)
                 : codl::compiler::dump_plan_text(bytes.data(), bytes.size(), path);
}

llvm::Expected<std::string> run(llvm::ArrayRef<const char*> arguments) {
  llvm::StringRef path;
  llvm::StringRef device;
  bool as_json = false;
  for (llvm::StringRef argument : arguments) {
    if (argument == "--help") return std::string(kHelp);
    if (argument == "--version")
      return std::string("codl-dump ") + codl::compiler::codlc_version() + "\n";
    if (argument == "--json")
      as_json = true;
    else if (argument.consume_front("--device="))
      device = argument;
    else if (argument.startswith("-"))
      return input_error("codl-dump",
                         "expected --json, --device=NAME, --version or --help, found \"{0}\"",
                         argument);
    else if (!path.empty())
      return input_error("codl-dump", "expected one PLAN, found \"{0}\" and \"{1}\"", path,
                         argument);
    else
      path = argument;
  }
  if (!device.empty() && path.empty()) {
    CODL_ASSIGN_OR_RETURN(profile, codl::compiler::load_device_profile(device));
    return codl::compiler::describe(profile);
  }
  if (!device.empty())
    return input_error("codl-dump", "expected a PLAN or --device=NAME, found both");
  if (path.empty()) return input_error("codl-dump", "expected a PLAN (see --help), found none");
  return dump_file(path, as_json);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::Expected<std::string> text = run(llvm::makeArrayRef(argv + 1, argv + argc));
  if (!text) return codl::compiler::report_error(text.takeError(), llvm::errs());
  llvm::outs() << *text;
  return 0;
}
