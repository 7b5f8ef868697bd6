// codl-run: runs a plan once, on .npy files or on random inputs, and writes and describes what
// comes out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/tools/plan_tool.h"
#include "runtime/tools/statistics.h"
#include "runtime/tools/timeline.h"
#include "tools/files.h"
#include "tools/json_writer.h"
#include "tools/messages.h"
#include "tools/npy.h"
#include "tools/printable.h"

namespace codl::tools {
namespace {

constexpr char kTool[] = "codl-run";

struct RunFlags {
  PlanFlags plan;
  std::string output_dir;  // empty: nothing is written
};

struct OutputReport {
  const Tensor* tensor = nullptr;
  ValueRange values;
  std::string path;  // empty if not written
};

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()};
}

// Returns the paths of the values of these names, empty ones without --output-dir. Called before
// the run, so that a folder that cannot be made costs no time.
std::vector<std::string> output_paths(const std::string& directory,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> paths(names.size());
  if (directory.empty()) return paths;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail_input(directory, "a folder that can be made", error.message());
  const std::vector<std::string> files = npy_file_names(names);
  for (size_t i = 0; i < names.size(); ++i) {
    paths[i] = (std::filesystem::path(directory) / files[i]).string();
    // Two outputs of one name are one value.
    if (std::find(paths.begin(), paths.begin() + i, paths[i]) == paths.begin() + i)
      claim_output(paths[i]);
  }
  return paths;
}

OutputReport report_of(const Tensor& tensor, const std::string& path) {
  return {&tensor, value_range_of(tensor.dtype, bytes_of(tensor)), path};
}

// Returns an .npy file of the tensor; bfloat16 becomes float32, which holds the same numbers.
std::string npy_of(const Tensor& tensor) {
  if (tensor.dtype != CODL_BFLOAT16) return format_npy(tensor.dtype, tensor.dims, bytes_of(tensor));
  return format_npy(CODL_FLOAT32, tensor.dims,
                    convert_elements(CODL_BFLOAT16, CODL_FLOAT32, bytes_of(tensor)));
}

std::vector<std::string> random_names(const std::vector<Tensor>& inputs) {
  std::vector<std::string> names;
  for (const Tensor& input : inputs)
    if (input.is_random) names.push_back(input.name);
  return names;
}

std::string report_text(const PlanFlags& flags, const SessionFacts& facts,
                        const std::vector<Tensor>& inputs,
                        const std::vector<OutputReport>& reports) {
  std::string text = describe_session(facts) + "\n";
  std::string names;
  for (const std::string& name : random_names(inputs))
    names += (names.empty() ? "" : ", ") + printable(name);
  if (!names.empty())
    text += "random numbers (--seed=" + std::to_string(flags.seed) +
            ") for inputs without --input: " + names + "\n";
  for (const OutputReport& report : reports) {
    text += printable(report.tensor->name) + " " +
            describe_tensor(report.tensor->dtype, report.tensor->dims) +
            formatted(" min=%g max=%g mean=%g", report.values.min, report.values.max,
                      report.values.mean);
    if (!report.path.empty()) text += " -> " + printable(report.path);
    text += "\n";
  }
  return text;
}

// {"plan", "plan_device", "variant", "fallback_reason", "thread_count", "wanted_thread_count",
//  "opencl_platform", "opencl_device", "random_inputs": [name], "outputs": [{"name", "dtype",
//  "dims", "min", "max", "mean", "file"}]}; "file" is empty if not written; a value that is not
//  finite is null.
std::string report_json(const PlanFlags& flags, const SessionFacts& facts,
                        const std::vector<Tensor>& inputs,
                        const std::vector<OutputReport>& reports) {
  JsonWriter json;
  json.begin_object();
  write_session(json, flags.plan_path, facts);
  json.key("random_inputs").begin_array();
  for (const std::string& name : random_names(inputs)) json.string(name);
  json.end_array();
  json.key("outputs").begin_array();
  for (const OutputReport& report : reports) {
    json.begin_object();
    json.key("name").string(report.tensor->name);
    json.key("dtype").string(std::string(dtype_facts(report.tensor->dtype).name));
    json.key("dims").begin_array();
    for (int64_t dim : report.tensor->dims) json.integer(dim);
    json.end_array();
    json.key("min").number(report.values.min);
    json.key("max").number(report.values.max);
    json.key("mean").number(report.values.mean);
    json.key("file").string(report.path);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

struct StepResult {
  std::string name, kernel, message;
  std::vector<int32_t> tile, dims;
};

// {"plan", ... as of a run, "step_count", "quirks": [{"step", "kernel", "tile": [], "output_dims":
// [], "message"}]}: steps that the device computes wrongly.
std::string self_test_json(const PlanFlags& flags, const SessionFacts& facts,
                           const std::vector<StepResult>& steps) {
  JsonWriter json;
  json.begin_object();
  write_session(json, flags.plan_path, facts);
  json.key("step_count").integer(static_cast<int64_t>(steps.size()));
  json.key("quirks").begin_array();
  for (const StepResult& step : steps) {
    if (step.message.empty()) continue;
    json.begin_object();
    json.key("step").string(step.name);
    json.key("kernel").string(step.kernel);
    json.key("tile").begin_array();
    for (int32_t value : step.tile) json.integer(value);
    json.end_array();
    json.key("output_dims").begin_array();
    for (int32_t value : step.dims) json.integer(value);
    json.end_array();
    json.key("message").string(step.message);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

std::string numbers_text(const std::vector<int32_t>& numbers) {
  std::string text;
  for (int32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

std::string self_test_text(const SessionFacts& facts, const std::vector<StepResult>& steps) {
  std::string text = describe_session(facts) + "\n";
  size_t wrong_count = 0;
  for (const StepResult& step : steps) {
    if (step.message.empty()) continue;
    ++wrong_count;
    text += "wrong: " + printable(step.message) + "; tile " + numbers_text(step.tile) +
            ", output " + numbers_text(step.dims) + "\n";
  }
  return text + counted(std::ssize(steps), "GPU step") + ", " + std::to_string(wrong_count) +
         " of them wrong\n";
}

// Exit code 70 if a step is wrong, like a run that a check ends.
int self_test(const Plan& plan, PlanFlags flags) {
  flags.check_every = 1;
  flags.require_variant = true;
  Session session = create_session(plan, flags, false);
  std::vector<StepResult> steps;
  const auto keep = [](void* context, const codl_step_result_t* found) {
    static_cast<std::vector<StepResult>*>(context)->push_back(
        {found->name, found->kernel, found->message,
         std::vector<int32_t>(found->tile, found->tile + found->tile_count),
         std::vector<int32_t>(found->output_dims, found->output_dims + found->output_rank)});
  };
  const Status status = session.self_test(keep, &steps);
  if (!status.ok() && status.code() != CODL_WRONG_RESULT)
    throw ToolError(exit_code_of(status.code()), "self-test: " + std::string(status.message()));
  const SessionFacts facts = facts_of(plan, session);
  print_to(flags.output_path,
           flags.is_json ? self_test_json(flags, facts, steps) : self_test_text(facts, steps));
  return static_cast<int>(exit_code_of(status.code()));
}

void write_states(Session& session, std::vector<Tensor>& states) {
  for (size_t i = 0; i < states.size(); ++i)
    check(session.write_state(i, buffer_of(states[i].data)), states[i].name);
}

// Makes the tensors what the session has now.
void read_states(Session& session, std::vector<Tensor>& states) {
  for (size_t i = 0; i < states.size(); ++i)
    check(session.read_state(i, buffer_of(states[i].data)), states[i].name);
}

int codl_run(const std::vector<std::string>& arguments) {
  RunFlags flags;
  CommandLine own;
  own.tool = kTool;
  own.summary =
      "Runs a plan once and reports shape, min, max and mean of each output. A plan for another "
      "device runs here, too: as planned for that device, at this machine's speed.";
  own.examples = {{"codl-run net.codl --input=image=image.npy --output-dir=out",
                   "reads the input `image` and writes each output as out/NAME.npy"}};
  own.groups = {{"Results",
                 {{"output-dir", text_value("DIR", &flags.output_dir, "nothing is written"),
                   "write each output as DIR/NAME.npy"},
                  {"self-test", switch_value(&flags.plan.is_self_test),
                   "run nothing but each GPU step by itself, and compare it with the CPU's "
                   "kernel"}}}};
  if (!parse_plan_flags(std::move(own), arguments, &flags.plan)) return 0;
  if (flags.plan.output_path.ends_with(".npy"))
    fail_input("--output", "a name for the report (--output-dir=DIR writes outputs as .npy files)",
               "'" + flags.plan.output_path + "'");

  const Plan plan = open_plan(flags.plan, CODL_VERIFY_ALL);
  choose_entry(plan, &flags.plan);
  check_variant(plan, flags.plan);
  if (flags.plan.is_self_test) return self_test(plan, flags.plan);
  std::vector<Tensor> states;
  std::vector<Tensor> inputs = inputs_of(plan, flags.plan, &states);
  std::vector<Tensor> outputs = empty_outputs(plan, flags.plan);
  std::vector<std::string> names;
  for (const std::vector<Tensor>* tensors : {&outputs, &states})
    for (const Tensor& tensor : *tensors) names.push_back(tensor.name);
  const std::vector<std::string> paths = output_paths(flags.output_dir, names);

  Session session = create_session(plan, flags.plan, !flags.plan.trace_path.empty());
  write_states(session, states);
  run_session(session, buffers_of(inputs), buffers_of(outputs));
  trim_outputs(session, outputs);
  read_states(session, states);
  // A state is shown as what it is after the run.
  std::move(states.begin(), states.end(), std::back_inserter(outputs));

  std::vector<OutputReport> reports;
  for (size_t i = 0; i < outputs.size(); ++i) {
    reports.push_back(report_of(outputs[i], paths[i]));
    if (!paths[i].empty()) write_file(paths[i], npy_of(outputs[i]));
  }
  const SessionFacts facts = facts_of(plan, session);
  if (!flags.plan.trace_path.empty())
    print_to(flags.plan.trace_path, chrome_trace(timeline_of(session), facts.variant));
  print_to(flags.plan.output_path, flags.plan.is_json
                                       ? report_json(flags.plan, facts, inputs, reports)
                                       : report_text(flags.plan, facts, inputs, reports));
  return 0;
}

}  // namespace
}  // namespace codl::tools

int main(int argc, char** argv) {
  return codl::tools::run_tool(codl::tools::kTool, argc, argv, codl::tools::codl_run);
}
