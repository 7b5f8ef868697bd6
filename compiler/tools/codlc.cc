// codlc: ONNX model + device profile -> plan file. Flags and messages; the work is in pipeline.cc.

#include "compiler/device/device_profile.h"
#include "compiler/device/quirks.h"
#include "compiler/emit/plan_memory.h"
#include "compiler/frontend/onnx_model.h"
#include "compiler/frontend/onnx_writer.h"
#include "compiler/partition/partition.h"
#include "compiler/pipeline.h"
#include "compiler/report/operator_table.h"
#include "compiler/support/error.h"
#include "compiler/support/input_file.h"
#include "compiler/tools/output.h"
#include "kernels/conv2d/winograd.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/plan_layout.h"
#include "tools/files.h"
#include "tools/flags.h"
#include "tools/printable.h"
#include "tools/tool_error.h"

namespace {

using namespace codl;
using namespace codl::compiler;

constexpr char kTool[] = "codlc";

struct Flags {
  std::string model;
  std::vector<std::string> input_shapes;
  std::vector<std::string> input_values;
  std::string device = "host";
  bool lists_devices = false;
  std::string output;
  bool is_quiet = false;
  PartitionOptions partition;
  Precision precision = Precision::Fp32;
  bool no_winograd = false;
  std::string avoid;  // path; empty: nothing
  std::optional<SupportFormat> support;
  CompressOptions compress;
  std::string emitted_onnx;  // path; empty: none
  bool reports_passes = false;
  std::optional<double> max_fallback_percent;
  std::optional<uint32_t> max_handoffs;
  std::optional<bool> lists_ops;  // as markdown
  std::string dump;
  std::optional<std::string> explained_node;
  std::string dump_after;
  bool lists_passes = false;
};

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : frontend_passes()) names.emplace_back(pass.name);
  return names;
}

// One of `names`, as text.
tools::FlagValue name_value(std::string form, std::string* target, std::vector<std::string> names) {
  return {std::move(form), *target, [=](const std::string& flag, const std::string& value) {
            *target = names[tools::parse_choice(flag, value, names)];
          }};
}

// A ratio between 0 and 1, or auto.
tools::FlagValue ratio_value(std::string form, std::optional<CompressRatio>* target) {
  return {std::move(form), "off", [=](const std::string& flag, const std::string& value) {
            *target = value == "auto"
                          ? CompressRatio{true, 0}
                          : CompressRatio{false, tools::parse_number(flag, value, 0, 1)};
          }};
}

// "0.5%", "0.5": a share of 1.
tools::FlagValue percent_value(std::string form, double* target) {
  return {std::move(form), llvm::formatv("{0:f1}%", 100 * *target).str(),
          [=](const std::string& flag, const std::string& value) {
            const llvm::StringRef number = llvm::StringRef(value).rtrim('%');
            *target = tools::parse_number(flag, number.str(), 0, 100) / 100;
          }};
}

// One of the choices, or nothing.
template <typename Enum>
tools::FlagValue named_value(std::optional<Enum>* target, const tools::Choices<Enum>& choices,
                             std::string default_text) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return {llvm::join(names, "|"), std::move(default_text),
          [=](const std::string& flag, const std::string& value) {
            *target = choices[tools::parse_choice(flag, value, names)].second;
          }};
}

tools::CommandLine command_line_of(Flags* flags) {
  using tools::integer_value;
  using tools::number_value;
  using tools::optional_choice_value;
  using tools::optional_text_value;
  using tools::switch_value;
  using tools::text_value;
  using tools::texts_value;
  tools::CommandLine line;
  line.tool = kTool;
  line.version = compiler_version() + ", ONNX opset " + std::to_string(kOldestOpset) + " to " +
                 std::to_string(kNewestOpset);
  line.usage = {"MODEL.onnx [flags]", "--list-devices | --list-ops | --list-passes"};
  line.summary =
      "Compiles an ONNX model to a plan that computes it on a device's CPU and GPU at the same "
      "time.";
  line.exit_codes =
      "0 ok, 1 the input is wrong (model, profile, flag), 2 valid but not supported, 3 a requested "
      "limit cannot be met, 70 internal error";
  line.groups = {
      {"Model",
       {{"input-shape", texts_value("NAME:DIMS", &flags->input_shapes),
         "dims of an input that the model leaves open, like input:1x3x224x224"},
        {"input-value", texts_value("NAME:VALUE[,VALUE...]", &flags->input_values),
         "elements of an input that is really a setting, like sr:16000 or size:2,3; the plan has "
         "them as a constant and no longer has the input"}}},
      {"Device",
       {{"device", text_value("NAME|FILE.json", &flags->device),
         "the device profile: a name of --list-devices, or a file"},
        {"list-devices", switch_value(&flags->lists_devices),
         "print the device profiles and exit"}}},
      {"What is written",
       {{"output", text_value("FILE", &flags->output, "MODEL.DEVICE.codl beside the model"),
         "the plan", 'o'},
        {"quiet", switch_value(&flags->is_quiet), "print errors only", 'q'}}},
      {"Who computes what",
       {{"strategy", name_value("NAME", &flags->partition.strategy, strategy_names()),
         "optimal (auto is the same): the least predicted time that is found, from the plans of "
         "all others; "
         "cpu, gpu, gpu-image, gpu-buffer: all that it can on one processor; coarse: whole nodes, "
         "on either; branches: whole branches on both; fine: nodes whole or split, no chains; "
         "mulayer, codl, codl-buffer: as in the papers; codl-released: plans of CoDL's released "
         "code, codl where it has none; segments: by costs of single segments"},
        {"search-budget", integer_value<uint32_t>("N", &flags->partition.search_budget, 0, 1000000),
         "whole plans that the search of optimal judges"},
        {"robust", switch_value(&flags->partition.is_robust),
         "of optimal: the least of what the time stays below in nine tenths of the draws of what "
         "the profile leaves open, not of the time predicted"},
        {"split-dim",
         tools::choice_value(
             &flags->partition.split_dim,
             {{"auto", SplitDim::None}, {"h", SplitDim::Height}, {"oc", SplitDim::OutputChannel}}),
         "force nodes that can to be split along height (h) or output channels (oc)"},
        {"ratio", number_value("R", &flags->partition.ratio, 0, 1, "by prediction"),
         "force the GPU's share of a split, between 0 and 1"},
        {"max-chain", integer_value("N", &flags->partition.max_chain, 1),
         "nodes in one chain at most; 1: no chains"}}},
      {"How it is computed",
       {{"precision",
         tools::choice_value(&flags->precision,
                             {{"fp32", Precision::Fp32}, {"fp16", Precision::Fp16}}),
         "how the GPU stores what it alone touches; fp16: halves where its kernels can: half the "
         "bytes, arithmetic in fp32, results off by what rounding to 11 bits makes (bound: 1e-2 "
         "relative L2), infinite beyond 65504"},
        {"no-winograd", switch_value(&flags->no_winograd),
         "no convolution by Winograd's method: larger weights, results further from exact"},
        {"avoid", text_value("QUIRKS.json", &flags->avoid, "none"),
         "use no kernel that this file of `codl-run --self-test --json` found to be wrong"}}},
      {"Smaller networks",
       {{"low-rank", ratio_value("RATIO|auto", &flags->compress.low_rank),
         "decompose weights (SVD; of convolutions channel-wise, spatial, Tucker-2) keeping this "
         "share of their squares, where the plan is predicted to be faster; auto: as little as "
         "the accuracy budget allows"},
        {"prune", ratio_value("RATIO|auto", &flags->compress.prune),
         "remove this share of the channels of each group that hangs together, where the plan is "
         "predicted to be faster; auto: as much as the accuracy budget allows"},
        {"calibration", text_value("DIR", &flags->compress.calibration, "none"),
         "inputs of the network: INPUT.npy of dims [samples, dims of the input], or any .npy files "
         "where there is one input; labels.npy, optional: the index of the largest output. Every "
         "other sample is fitted to, the rest measured on"},
        {"metric",
         named_value<Metric>(
             &flags->compress.metric,
             {{"top1", Metric::Top1}, {"relative", Metric::Relative}, {"cosine", Metric::Cosine}},
             "top1 with labels, else relative"),
         "what the budget is of: accuracy (without labels: predictions that change), relative L2 "
         "error of the outputs, 1 - cosine"},
        {"accuracy-budget", percent_value("PERCENT", &flags->compress.budget),
         "what of it may be lost by auto"},
        {"importance",
         named_value<Importance>(&flags->compress.importance,
                                 {{"l1", Importance::L1},
                                  {"l2", Importance::L2},
                                  {"activation", Importance::Activation},
                                  {"repair", Importance::Repair}},
                                 "repair with --calibration, else l2"),
         "which channels go first: the least weights (l1, l2), what adds least to what reads them "
         "(activation), or of that what the others cannot replace (repair)"},
        {"emit-onnx", text_value("FILE", &flags->emitted_onnx, "none"),
         "write the network as ONNX after fusion, pruning and low rank"}}},
      {"Reports and limits",
       {{"report-support",
         optional_choice_value<SupportFormat>(
             &flags->support, {{"text", SupportFormat::Text}, {"json", SupportFormat::Json}}),
         "print where the model's operators can run and what falling back to the CPU costs; a plan "
         "is written only with -o"},
        {"report-passes", switch_value(&flags->reports_passes),
         "print what each pass of the front end saved: nodes (launches), bytes that they move, "
         "predicted time on the CPU"},
        {"max-fallback", number_value("PERCENT", &flags->max_fallback_percent, 0, 100, "no limit"),
         "fail if the GPU has no kernel for more than this share of the multiply-adds (of the "
         "nodes, if there are none)"},
        {"max-syncs", integer_value<uint32_t>("N", &flags->max_handoffs, 0, UINT32_MAX, "no limit"),
         "fail if CPU and GPU would wait for each other more often"},
        {"list-ops",
         optional_choice_value<bool>(&flags->lists_ops, {{"text", false}, {"markdown", true}}),
         "print the ONNX operators, what they become and where that runs, and exit"}}},
      {"Inside the compiler",
       {{"dump", name_value("STAGE", &flags->dump, {"graph", "partition", "schedule", "memory"}),
         "print a stage: graph, partition, schedule or memory"},
        {"explain", optional_text_value("NODE", &flags->explained_node, "all nodes"),
         "print, for the first variant, which terms the predicted time of a node's steps is made "
         "of, what it stands on, and what other kernels would take, and of one NODE what else "
         "could be "
         "done with it; a plan is written only with -o"},
        {"dump-after", name_value("PASS", &flags->dump_after, pass_names()),
         "print the graph after a pass"},
        {"list-passes", switch_value(&flags->lists_passes),
         "print the passes in their order and exit"}}}};
  return line;
}

// "NAME:1x3x224x224"; no dims ("NAME:") for a scalar. NAME may hold colons.
llvm::Error parse_input_shape(llvm::StringRef text, ImportOptions& options) {
  const auto [name, dims_text] = text.rsplit(':');
  const bool is_pair = !name.empty() && name.size() < text.size();
  llvm::SmallVector<llvm::StringRef, 4> words;
  if (!dims_text.empty()) dims_text.split(words, 'x');
  std::vector<int64_t> dims;
  bool are_numbers = true;
  for (llvm::StringRef word : words) {
    dims.emplace_back();
    are_numbers &= !word.getAsInteger(10, dims.back()) && dims.back() >= 0;
  }
  if (!is_pair || !are_numbers)
    return input_error("--input-shape", "expected NAME:DIMS like input:1x3x224x224, found \"{0}\"",
                       text);
  if (!options.input_shapes.try_emplace(name, std::move(dims)).second)
    return input_error("--input-shape", "expected each input once, found \"{0}\" again", name);
  return llvm::Error::success();
}

// "sr:16000", "size:2,3"; no values ("NAME:") for an input without elements. NAME may hold colons.
llvm::Error parse_input_value(llvm::StringRef text, ImportOptions& options) {
  const auto [name, values_text] = text.rsplit(':');
  if (name.empty() || name.size() == text.size())
    return input_error("--input-value",
                       "expected NAME:VALUE[,VALUE...] like sr:16000, found \"{0}\"", text);
  llvm::SmallVector<llvm::StringRef, 4> words;
  if (!values_text.empty()) values_text.split(words, ',');
  if (!options.input_values.try_emplace(name, words.begin(), words.end()).second)
    return input_error("--input-value", "expected each input once, found \"{0}\" again", name);
  return llvm::Error::success();
}

llvm::Expected<CompileOptions> options_of(const Flags& flags, llvm::raw_ostream& dump_to) {
  CompileOptions options;
  options.partition = flags.partition;
  if (!options.partition.is_optimal() && options.partition.forces_split())
    return input_error("--strategy",
                       "expected optimal together with --split-dim or --ratio, found \"{0}\"",
                       options.partition.strategy);
  options.precision = flags.precision;
  options.support = flags.support.value_or(SupportFormat::None);
  options.builds_plan = (!flags.support && !flags.explained_node) || !flags.output.empty();
  options.compress = flags.compress;
  if (!flags.compress.calibration.empty() && !flags.compress.is_asked())
    return input_error("--calibration", "expected --low-rank or --prune beside it, found neither");
  options.reports_passes = flags.reports_passes;
  options.max_fallback_percent = flags.max_fallback_percent;
  options.max_handoffs = flags.max_handoffs;
  for (const std::string& shape : flags.input_shapes)
    if (llvm::Error error = parse_input_shape(shape, options.import)) return error;
  for (const std::string& value : flags.input_values)
    if (llvm::Error error = parse_input_value(value, options.import)) return error;
  options.passes.dump_after = flags.dump_after;
  options.passes.dump_to = &dump_to;
  options.dump = flags.dump;
  options.explained_node = flags.explained_node;
  options.dump_to = &dump_to;
  return options;
}

// By the name that the device was given by: a profile that was copied and not renamed inside must
// not write over the plan of the one that it came from.
std::string output_path(const Flags& flags) {
  if (!flags.output.empty()) return flags.output;
  llvm::StringRef model = flags.model;
  model.consume_back(".onnx");
  llvm::StringRef device = llvm::sys::path::filename(flags.device);
  device.consume_back(".json");
  return (model + "." + device + ".codl").str();
}

void print_report(const CompileReport& report, llvm::StringRef path, size_t bytes,
                  llvm::raw_ostream& os) {
  os << tools::printable({path.data(), path.size()})
     << llvm::formatv(": {0:f1} MB, weights {1:f1} MB", static_cast<double>(bytes) / 1e6,
                      static_cast<double>(report.weight_bytes) / 1e6);
  if (report.winograd_bytes > 0)
    os << llvm::formatv(" ({0:f1} MB of them for Winograd)",
                        static_cast<double>(report.winograd_bytes) / 1e6);
  os << "\n";
  for (const CompileReport::Variant& variant : report.variants)
    os << llvm::formatv(
        "  {0,-8} predicted {1,8:f2} ms ({2:f2} to {3:f2}; {4:f0} % of it assumed)  memory "
        "{5,6:f1} "
        "MB  GPU {6,3:f0} % of MACs  {7} nodes split, {8} chains (longest {9})\n           memory: "
        "{10} MB\n",
        variant.name, variant.predicted_us / 1e3, variant.uncertainty.low_us / 1e3,
        variant.uncertainty.high_us / 1e3, 100 * variant.uncertainty.assumed_share,
        static_cast<double>(total_bytes(variant.memory)) / 1e6, 100 * variant.gpu_mac_share,
        variant.split_nodes, variant.chains, variant.longest_chain, print(variant.memory));
  for (const CompileReport::Variant& variant : report.variants)
    if (variant.bound_us > 0)
      os << llvm::formatv(
          "  {0}: at most {1:f0} % above the best there can be, after {2} plans judged\n",
          variant.name, 100 * (variant.predicted_us / variant.bound_us - 1), variant.evaluations);
  for (const CompileReport::Variant& variant : report.variants)
    if (variant.half_tensors > 0)
      os << llvm::formatv(
          "  {0}: {1} of the {2} tensors that the GPU alone touches are halves; predicted by "
          "models "
          "fitted to fp32, at half the bytes\n",
          variant.name, variant.half_tensors, variant.gpu_tensors);
  for (const CompileReport::Variant& variant : report.variants)
    if (!variant.one_processor_reason.empty())
      os << "  " << variant.name
         << " is not on both processors: " << tools::printable(variant.one_processor_reason)
         << "\n";
  if (report.not_split_as_forced.empty()) return;
  os << "  not split as forced:";
  for (const std::string& node : report.not_split_as_forced) os << " " << tools::printable(node);
  os << "\n";
}

// True if one of the lists was asked for.
llvm::Expected<bool> print_lists(const Flags& flags, llvm::raw_ostream& os) {
  if (flags.lists_devices) {
    CODL_ASSIGN_OR_RETURN(text, describe_devices());
    os << text;
  } else if (flags.lists_ops) {
    if (*flags.lists_ops)
      print_markdown(operator_table(), os);
    else
      print_text(operator_table(), os);
  } else if (flags.lists_passes) {
    for (const std::string& name : pass_names()) os << name << "\n";
  }
  return flags.lists_devices || flags.lists_ops || flags.lists_passes;
}

// What is printed on stdout goes to `os`.
llvm::Error run(const Flags& flags, llvm::raw_ostream& os) {
  CODL_ASSIGN_OR_RETURN(is_answered, print_lists(flags, os));
  if (is_answered) return llvm::Error::success();
  if (flags.model.empty())
    return input_error("command line", "expected MODEL.onnx, found none (see --help)");
  CODL_ASSIGN_OR_RETURN(options, options_of(flags, os));
  CODL_ASSIGN_OR_RETURN(profile, load_device_profile(flags.device));
  if (flags.no_winograd)
    for (const KernelRow& row : kKernelRows)
      if (kernels::winograd_outputs(row.packing) != 0) profile.unused_kernels.push_back(row.id);
  if (!flags.avoid.empty())
    if (llvm::Error error = avoid_quirks(flags.avoid, profile)) return error;
  // Of more bytes than protobuf reads nothing is read: compile() says why.
  CODL_ASSIGN_OR_RETURN(model, map_input(flags.model, UINT64_MAX));
  const std::string path = output_path(flags);
  if (options.builds_plan) tools::claim_output(path);
  std::string emitted;
  if (!flags.emitted_onnx.empty()) {
    tools::claim_output(flags.emitted_onnx);
    options.on_optimised = [&](const ir::Graph& graph) -> llvm::Error {
      CODL_ASSIGN_OR_RETURN(written, write_onnx(graph));
      emitted = std::move(written);
      return llvm::Error::success();
    };
  }
  options.import.on_read = [&] { model->dontNeedIfMmap(); };
  CODL_ASSIGN_OR_RETURN(result, compile(model->getBuffer(), flags.model, profile, options));
  if (!flags.is_quiet) {  // not among what is asked for on stdout
    for (const std::string& note : result.report.notes)
      tools::print_message(kTool, tools::Severity::Note, note);
    for (const std::string& warning :
         {result.report.assumed_kernels_warning, result.report.plain_loops_warning})
      if (!warning.empty()) tools::print_message(kTool, tools::Severity::Warning, warning);
  }
  if (!flags.emitted_onnx.empty()) tools::write_file(flags.emitted_onnx, emitted);
  if (!flags.is_quiet) print(result.report.compress, os);
  if (!options.builds_plan) return llvm::Error::success();
  tools::write_file(path, {reinterpret_cast<const char*>(result.plan.data()), result.plan.size()});
  if (!flags.is_quiet) print_report(result.report, path, result.plan.size(), os);
  return llvm::Error::success();
}

int codlc(const std::vector<std::string>& arguments) {
  Flags flags;
  const tools::Arguments parsed = parse_command_line(command_line_of(&flags), arguments);
  if (parsed.answer) {
    tools::print(*parsed.answer);
    return 0;
  }
  flags.model = only_operand(parsed, "MODEL.onnx");
  std::string text;
  llvm::raw_string_ostream os(text);
  const int code = report(kTool, run(flags, os));
  tools::print(os.str());
  return code;
}

}  // namespace

int main(int argc, char** argv) { return run_compiler_tool(kTool, argc, argv, codlc); }
