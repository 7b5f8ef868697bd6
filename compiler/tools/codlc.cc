// codlc: ONNX model + device profile -> plan file. Flags and messages; the work is in pipeline.cc.
#include "compiler/device/device_profile.h"
#include "compiler/emit/plan_memory.h"
#include "compiler/frontend/onnx_model.h"
#include "compiler/partition/partition.h"
#include "compiler/pipeline.h"
#include "compiler/report/operator_table.h"
#include "compiler/support/error.h"
#include "compiler/support/version.h"
#include "kernels/conv2d/winograd.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/plan_layout.h"

namespace {

using namespace codl;
using namespace codl::compiler;
namespace cl = llvm::cl;

cl::OptionCategory category("codlc options");

cl::opt<std::string> model_flag(cl::Positional, cl::desc("MODEL.onnx"), cl::cat(category));
cl::opt<std::string> device_flag(
    "device", cl::desc("device profile: a name (--list-devices) or FILE.json (default: host)"),
    cl::value_desc("NAME|FILE.json"), cl::init("host"), cl::cat(category));
cl::opt<std::string> output_flag(
    "o", cl::desc("plan to write (default: MODEL.DEVICE.codl beside the model)"),
    cl::value_desc("FILE"), cl::cat(category));
cl::list<std::string> input_shape_flag(
    "input-shape",
    cl::desc("dims of an input that the model leaves open, like input:1x3x224x224; repeatable"),
    cl::value_desc("NAME:DIMS"), cl::cat(category));
cl::list<std::string> input_value_flag(
    "input-value",
    cl::desc("elements of an input that is really a setting, like sr:16000 or size:2,3; the plan "
             "has them as a constant and no longer has the input; repeatable"),
    cl::value_desc("NAME:VALUE[,VALUE...]"), cl::cat(category));
cl::opt<std::string> strategy_flag(
    "strategy",
    cl::desc("who computes what: auto = least predicted time, cpu, gpu (default: auto)"),
    cl::value_desc("NAME"), cl::init("auto"), cl::cat(category));
cl::opt<std::string> split_dim_flag(
    "split-dim",
    cl::desc("force nodes that can to be split along height (h) or output channels (oc); "
             "auto leaves the choice (default: auto)"),
    cl::value_desc("h|oc|auto"), cl::init("auto"), cl::cat(category));
cl::opt<std::string> ratio_flag(
    "ratio", cl::desc("force the GPU's share of a split, between 0 and 1 (default: by prediction)"),
    cl::value_desc("R"), cl::cat(category));
cl::opt<std::string> max_chain_flag(
    "max-chain", cl::desc("nodes in one chain at most; 1: no chains (default: 32)"),
    cl::value_desc("N"), cl::cat(category));
cl::opt<bool> no_winograd_flag(
    "no-winograd",
    cl::desc("no convolution by Winograd's method: larger weights, results further from exact"),
    cl::cat(category));
cl::opt<std::string> precision_flag(
    "precision",
    cl::desc(
        "how the GPU stores what it alone touches: fp32, or fp16 = halves where its kernels can: "
        "half the bytes, arithmetic in fp32, results off by what rounding to 11 bits makes "
        "(bound: 1e-2 relative L2), infinite beyond 65504 (default: fp32)"),
    cl::value_desc("fp32|fp16"), cl::init("fp32"), cl::cat(category));
cl::opt<std::string> dump_flag("dump",
                               cl::desc("print a stage: graph, partition, schedule or memory"),
                               cl::value_desc("STAGE"), cl::cat(category));
cl::opt<std::string> dump_after_flag("dump-after",
                                     cl::desc("print the graph after a pass (--list-passes)"),
                                     cl::value_desc("PASS"), cl::cat(category));
cl::opt<bool> list_devices_flag("list-devices", cl::desc("print the device profiles and exit"),
                                cl::cat(category));
cl::opt<std::string> list_ops_flag(
    "list-ops",
    cl::desc("print the ONNX operators, what they become and where that runs, and exit; as text "
             "(default) or markdown"),
    cl::value_desc("FORMAT"), cl::ValueOptional, cl::cat(category));
cl::opt<std::string> report_support_flag(
    "report-support",
    cl::desc("print where the model's operators can run and what falling back to the CPU costs, as "
             "text (default) or json; a plan is written only with -o"),
    cl::value_desc("FORMAT"), cl::ValueOptional, cl::cat(category));
cl::opt<std::string> max_fallback_flag(
    "max-fallback",
    cl::desc("fail if the GPU has no kernel for more than this share of the multiply-adds (of the "
             "nodes, if there are none); default: no limit"),
    cl::value_desc("PERCENT"), cl::cat(category));
cl::opt<std::string> max_syncs_flag(
    "max-syncs",
    cl::desc("fail if the plan has more hand-offs between CPU and GPU; default: no limit"),
    cl::value_desc("N"), cl::cat(category));
cl::opt<bool> list_passes_flag("list-passes", cl::desc("print the passes in their order and exit"),
                               cl::cat(category));
cl::opt<bool> quiet_flag("q", cl::desc("print errors only"), cl::cat(category));
cl::extrahelp exit_codes(
    "\nExit codes: 0 ok; 1 the input is wrong (model, profile, flag); 2 valid but not supported;\n"
    "3 a requested limit cannot be met; 70 internal error.\n");

void print_version(llvm::raw_ostream& os) {
  os << "codlc " << codlc_version() << " (plan format " << kPlanVersion << ", ONNX opset "
     << kOldestOpset << " to " << kNewestOpset << ")\n";
}

llvm::Error parse_partition_flags(PartitionOptions& options) {
  options.strategy = strategy_flag.getValue();
  if (split_dim_flag == "h") {
    options.split_dim = SplitDim::Height;
  } else if (split_dim_flag == "oc") {
    options.split_dim = SplitDim::OutputChannel;
  } else if (split_dim_flag != "auto") {
    return input_error("--split-dim", "expected h, oc or auto, found \"{0}\"",
                       split_dim_flag.getValue());
  }
  if (!ratio_flag.empty()) {
    double ratio = 0;
    if (llvm::StringRef(ratio_flag).getAsDouble(ratio))
      return input_error("--ratio", "expected a number between 0 and 1, found \"{0}\"",
                         ratio_flag.getValue());
    options.ratio = ratio;
  }
  if (!max_chain_flag.empty() &&
      llvm::StringRef(max_chain_flag).getAsInteger(10, options.max_chain))
    return input_error("--max-chain", "expected a number of nodes, found \"{0}\"",
                       max_chain_flag.getValue());
  if (options.strategy != "auto" && options.forces_split())
    return input_error("--strategy",
                       "expected auto together with --split-dim or --ratio, found \"{0}\"",
                       options.strategy);
  return llvm::Error::success();
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

// A format behind a flag whose value may be left out; "text" then.
llvm::Error check_format(const cl::opt<std::string>& flag, llvm::StringRef other) {
  const llvm::StringRef value = flag.getValue();
  if (value.empty() || value == "text" || value == other) return llvm::Error::success();
  return input_error(("--" + flag.ArgStr).str(), "expected text or {0}, found \"{1}\"", other,
                     value);
}

llvm::Error parse_support_flags(CompileOptions& options) {
  if (llvm::Error error = check_format(report_support_flag, "json")) return error;
  if (report_support_flag.getNumOccurrences() > 0) {
    options.support = report_support_flag == "json" ? SupportFormat::Json : SupportFormat::Text;
    options.builds_plan = !output_flag.empty();
  }
  if (!max_fallback_flag.empty()) {
    double percent = 0;
    if (llvm::StringRef(max_fallback_flag).getAsDouble(percent) ||
        !(percent >= 0 && percent <= 100))
      return input_error("--max-fallback", "expected a percentage from 0 to 100, found \"{0}\"",
                         max_fallback_flag.getValue());
    options.max_fallback_percent = percent;
  }
  if (!max_syncs_flag.empty()) {
    uint32_t count = 0;
    if (llvm::StringRef(max_syncs_flag).getAsInteger(10, count))
      return input_error("--max-syncs", "expected a number of hand-offs, found \"{0}\"",
                         max_syncs_flag.getValue());
    options.max_handoffs = count;
  }
  return llvm::Error::success();
}

llvm::Expected<CompileOptions> parse_flags() {
  CompileOptions options;
  if (llvm::Error error = parse_partition_flags(options.partition)) return error;
  if (llvm::Error error = parse_support_flags(options)) return error;
  if (precision_flag != "fp32" && precision_flag != "fp16")
    return input_error("--precision", "expected fp32 or fp16, found \"{0}\"",
                       precision_flag.getValue());
  options.precision = precision_flag == "fp16" ? Precision::Fp16 : Precision::Fp32;
  for (const std::string& shape : input_shape_flag)
    if (llvm::Error error = parse_input_shape(shape, options.import)) return error;
  for (const std::string& value : input_value_flag)
    if (llvm::Error error = parse_input_value(value, options.import)) return error;
  options.passes.dump_after = dump_after_flag.getValue();
  options.passes.dump_to = &llvm::outs();
  options.dump = dump_flag.getValue();
  options.dump_to = &llvm::outs();
  if (!options.dump.empty() && options.dump != "graph" && options.dump != "partition" &&
      options.dump != "schedule" && options.dump != "memory")
    return input_error("--dump", "expected graph, partition, schedule or memory, found \"{0}\"",
                       options.dump);
  return options;
}

std::string output_path(const DeviceProfile& profile) {
  if (!output_flag.empty()) return output_flag.getValue();
  llvm::StringRef stem = model_flag;
  stem.consume_back(".onnx");
  return (stem + "." + profile.name + ".codl").str();
}

// Writes under a temporary name in the same folder, then renames: nothing half-written stays.
llvm::Error write_file(llvm::StringRef path, llvm::ArrayRef<uint8_t> bytes) {
  auto buffer = llvm::FileOutputBuffer::create(path, bytes.size());
  if (buffer) {
    std::copy(bytes.begin(), bytes.end(), (*buffer)->getBufferStart());
    llvm::Error error = (*buffer)->commit();
    if (!error) return error;
    return input_error(path, "expected a file that can be written, found: {0}",
                       llvm::toString(std::move(error)));
  }
  return input_error(path, "expected a file that can be written, found: {0}",
                     llvm::toString(buffer.takeError()));
}

void print_report(const CompileReport& report, llvm::StringRef path, size_t bytes,
                  llvm::raw_ostream& os) {
  os << path
     << llvm::formatv(": {0:f1} MB, weights {1:f1} MB", static_cast<double>(bytes) / 1e6,
                      static_cast<double>(report.weight_bytes) / 1e6);
  if (report.winograd_bytes > 0)
    os << llvm::formatv(" ({0:f1} MB of them for Winograd)",
                        static_cast<double>(report.winograd_bytes) / 1e6);
  os << "\n";
  for (const CompileReport::Variant& variant : report.variants)
    os << llvm::formatv(
        "  {0,-8} predicted {1,8:f2} ms  memory {2,6:f1} MB  GPU {3,3:f0} % of MACs  {4} nodes "
        "split, {5} chains "
        "(longest {6})\n           memory: {7} MB\n",
        variant.name, variant.predicted_us / 1e3,
        static_cast<double>(total_bytes(variant.memory)) / 1e6, 100 * variant.gpu_mac_share,
        variant.split_nodes, variant.chains, variant.longest_chain, print(variant.memory));
  for (const CompileReport::Variant& variant : report.variants)
    if (variant.half_tensors > 0)
      os << llvm::formatv(
          "  {0}: {1} of the {2} tensors that the GPU alone touches are halves; predicted by "
          "models "
          "fitted to fp32, at half the bytes\n",
          variant.name, variant.half_tensors, variant.gpu_tensors);
  if (report.not_split_as_forced.empty()) return;
  os << "  not split as forced:";
  for (const std::string& node : report.not_split_as_forced) os << " " << node;
  os << "\n";
}

llvm::Error list_ops() {
  if (llvm::Error error = check_format(list_ops_flag, "markdown")) return error;
  if (list_ops_flag == "markdown")
    print_markdown(operator_table(), llvm::outs());
  else
    print_text(operator_table(), llvm::outs());
  return llvm::Error::success();
}

llvm::Error run() {
  if (model_flag.empty()) return input_error("codlc", "expected a model, found none (try --help)");
  CODL_ASSIGN_OR_RETURN(options, parse_flags());
  CODL_ASSIGN_OR_RETURN(profile, load_device_profile(device_flag.getValue()));
  if (no_winograd_flag)
    for (const KernelRow& row : kKernelRows)
      if (kernels::winograd_outputs(row.packing) != 0) profile.unused_kernels.push_back(row.id);
  auto model =
      llvm::MemoryBuffer::getFile(model_flag, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!model)
    return input_error(model_flag, "expected a readable file, found: {0}",
                       model.getError().message());
  options.import.on_read = [&] { (*model)->dontNeedIfMmap(); };
  CODL_ASSIGN_OR_RETURN(result, compile((*model)->getBuffer(), model_flag, profile, options));
  if (!quiet_flag) {  // not among what is asked for on stdout
    for (const std::string& note : result.report.notes) llvm::errs() << "note: " << note << "\n";
    if (!result.report.plain_loops_warning.empty())
      llvm::errs() << "warning: " << result.report.plain_loops_warning << "\n";
  }
  if (!options.builds_plan) return llvm::Error::success();
  const std::string path = output_path(profile);
  if (llvm::Error error = write_file(path, result.plan)) return error;
  if (!quiet_flag) print_report(result.report, path, result.plan.size(), llvm::outs());
  return llvm::Error::success();
}

}  // namespace

int main(int argc, char** argv) {
  cl::SetVersionPrinter(print_version);
  cl::HideUnrelatedOptions(category);
  std::string flag_errors;
  llvm::raw_string_ostream flag_errors_stream(flag_errors);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "codlc: compiles an ONNX model to a CPU+GPU co-execution plan\n",
                                   &flag_errors_stream)) {
    llvm::errs() << llvm::StringRef(flag_errors_stream.str()).split('\n').first << "\n";
    return 1;
  }
  if (list_devices_flag) {
    for (const std::string& name : list_devices()) llvm::outs() << name << "\n";
    return 0;
  }
  if (list_ops_flag.getNumOccurrences() > 0) {
    if (llvm::Error error = list_ops()) return report_error(std::move(error), llvm::errs());
    return 0;
  }
  if (list_passes_flag) {
    for (const Pass& pass : frontend_passes()) llvm::outs() << pass.name << "\n";
    return 0;
  }
  if (llvm::Error error = run()) return report_error(std::move(error), llvm::errs());
  return 0;
}
