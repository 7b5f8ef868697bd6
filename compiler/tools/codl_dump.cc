// codl-dump prints a plan file as text, or as JSON for scripts, and a device profile as text.

#include "compiler/device/device_profile.h"
#include "compiler/emit/dump_plan.h"
#include "compiler/support/error.h"
#include "compiler/support/input_file.h"
#include "compiler/tools/output.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/files.h"
#include "tools/flags.h"

namespace {

using namespace codl;
using namespace codl::compiler;

constexpr char kTool[] = "codl-dump";

struct Flags {
  std::string plan;
  std::string device;
  std::string output;
  bool is_json = false;
};

tools::CommandLine command_line_of(Flags* flags) {
  using tools::switch_value;
  using tools::text_value;
  tools::CommandLine line;
  line.tool = kTool;
  line.version = compiler_version();
  line.usage = {"PLAN [flags]", "--device=NAME|FILE.json [flags]"};
  line.summary =
      "Prints a plan that codlc wrote: what it was made from, then per variant its tensors and "
      "steps. The file is verified first, checksum included.";
  line.exit_codes =
      "0 ok, 1 the input is wrong (plan, profile, flag), 2 a plan of another version, 70 internal "
      "error";
  line.examples = {{"codl-dump net.codl --json | python3 -m json.tool",
                    "shows what the plan has, for people; without --json as text"}};
  line.groups = {
      {"Output",
       {{"json", switch_value(&flags->is_json), "print one line of JSON in place of text", "",
         "docs/reference/plan_format.md has the keys."},
        {"device", text_value("NAME|FILE.json", &flags->device),
         "print a device profile in place of a plan", "",
         "It has facts, known problems, costs and models, with the origin of the numbers. NAME is "
         "one that codlc --list-devices prints."},
        {"output", text_value("FILE", &flags->output, "stdout"), "write to FILE", "o"}}}};
  return line;
}

llvm::Expected<std::string> dump_file(llvm::StringRef path, bool as_json) {
  CODL_ASSIGN_OR_RETURN(bytes, map_plan(path));
  return as_json ? dump_plan_json(bytes->getBufferStart(), bytes->getBufferSize(), path)
                 : dump_plan_text(bytes->getBufferStart(), bytes->getBufferSize(), path);
}

llvm::Expected<std::string> run(const Flags& flags) {
  if (flags.plan.empty() == flags.device.empty())
    return input_error("command line", "expected a PLAN or --device (see --help), found {0}",
                       flags.plan.empty() ? "none" : "both");
  if (!flags.plan.empty()) return dump_file(flags.plan, flags.is_json);
  if (flags.is_json)
    return input_error("--json", "expected it with a PLAN, found it with --device");
  CODL_ASSIGN_OR_RETURN(profile, load_device_profile(flags.device));
  return describe(profile);
}

int codl_dump(const std::vector<std::string>& arguments) {
  Flags flags;
  const tools::Arguments parsed = parse_command_line(command_line_of(&flags), arguments);
  if (parsed.answer) {
    tools::print(*parsed.answer);
    return 0;
  }
  flags.plan = only_operand(parsed, "PLAN");
  if (!flags.output.empty()) tools::claim_output(flags.output);
  llvm::Expected<std::string> text = run(flags);
  if (!text) return report(kTool, text.takeError());
  tools::print_to(flags.output, *text);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_compiler_tool(kTool, argc, argv, codl_dump); }
