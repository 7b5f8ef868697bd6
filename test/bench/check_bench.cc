// Measures the cost of check_every on plans with GPU steps (`check_bench --help`). ctest does not
// run it.
//
// A session with check_every = N checks in N runs as much as one with check_every = 1 does in a
// single run. So its cost is the mean time that a check adds to a run, over N runs without checks;
// every step is checked equally often, and runs with and without a check take turns.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "runtime/src/session.h"
#include "runtime/tools/plan_tool.h"
#include "tools/messages.h"
#include "tools/printable.h"

namespace codl::tools {
namespace {

constexpr const char* kTool = "check_bench";
constexpr int kLimitExceeded = 3;

struct BenchOptions {
  PlanFlags plan;
  int32_t every = 100;     // runs
  int32_t rounds = 5;      // checks of each step
  double max_percent = 1;  // limit, of the runs' time
};

double run_us(Session& session, const std::vector<codl_buffer_t>& inputs,
              const std::vector<codl_buffer_t>& outputs) {
  const auto start = std::chrono::steady_clock::now();
  run_session(session, inputs, outputs);
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  return taken.count();
}

// Prints a line, and returns the cost in percent of the runs' time.
double measure(const BenchOptions& options, const std::string& path) {
  PlanFlags flags = options.plan;
  flags.plan_path = path;
  flags.require_variant = true;
  const Plan plan = open_plan(flags, CODL_VERIFY_ALL);
  Session plain = create_session(plan, flags, false);
  flags.check_every = 1;
  Session checking = create_session(plan, flags, false);
  const rt::StepChecker* checker = checking.get()->current()->checker;
  const uint32_t step_count = checker == nullptr ? 0 : checker->step_count();
  if (step_count == 0) fail_input(path, "GPU steps that can be checked", "none");
  std::vector<Tensor> inputs = inputs_of(plan, flags);
  std::vector<Tensor> outputs = empty_outputs(plan);
  const std::vector<codl_buffer_t> from = buffers_of(inputs);
  const std::vector<codl_buffer_t> to = buffers_of(outputs);
  // Warms up: the first runs touch memory for the first time, and check each step once.
  for (uint32_t run = 0; run < step_count; ++run) {
    run_us(plain, from, to);
    run_us(checking, from, to);
  }
  const auto run_count = static_cast<int>(step_count) * options.rounds;
  double plain_us = 0;
  double checking_us = 0;
  double longest_us = 0;
  for (int run = 0; run < run_count; ++run) {
    plain_us += run_us(plain, from, to) / run_count;
    const double us = run_us(checking, from, to);
    checking_us += us / run_count;
    longest_us = std::max(longest_us, us);
  }
  const double percent = 100 * (checking_us - plain_us) / (options.every * plain_us);
  print(formatted("%6u %12.1f %12.1f %12.1f %9.3f  %s\n", step_count, plain_us, checking_us,
                  longest_us, percent, printable(path).c_str()));
  return percent;
}

int check_bench(const std::vector<std::string>& arguments) {
  BenchOptions options;
  CommandLine own;
  own.tool = kTool;
  own.version = runtime_version();
  own.usage = {"PLAN... [flags]"};
  own.summary =
      "Prints for each plan how many GPU steps are checked, the mean time of a run without and "
      "with "
      "a check, the longest with one, and what check_every costs, in percent of the runs' time.";
  own.groups = {
      {"What is measured",
       {{"every", integer_value<int32_t>("N", &options.every, 1),
         "check_every that is asked about"},
        {"rounds", integer_value<int32_t>("N", &options.rounds, 1), "checks of each step"},
        {"max-percent", number_value("P", &options.max_percent, 0, 1000),
         "the cost from which on the exit code is 3"},
        {"variant", text_value("NAME", &options.plan.variant, "the plan's first"),
         "which of the plans' variants"},
        {"cpu-cores", cores_value(&options.plan.cpu_cores, "not pinned"), "for the CPU threads"},
        {"gpu-cores", cores_value(&options.plan.gpu_cores, "not pinned"),
         "for an OpenCL implementation that computes on the CPU"}}}};
  own.exit_codes =
      "0 ok, 1 the input is wrong, 3 a cost is not below --max-percent, 70 a device fails";
  const Arguments parsed = parse_command_line(own, arguments);
  if (parsed.answer) {
    print(*parsed.answer);
    return 0;
  }
  if (parsed.operands.empty()) fail_input("command line", "a PLAN", "none (see --help)");
  print(formatted("%6s %12s %12s %12s %9s  %s\n", "steps", "plain us", "checked us", "longest us",
                  "cost %", "plan"));
  bool is_cheap = true;
  for (const std::string& path : parsed.operands)
    is_cheap = measure(options, path) < options.max_percent && is_cheap;
  return is_cheap ? 0 : kLimitExceeded;
}

}  // namespace
}  // namespace codl::tools

int main(int argc, char** argv) {
  return codl::tools::run_tool(codl::tools::kTool, argc, argv, codl::tools::check_bench);
}
