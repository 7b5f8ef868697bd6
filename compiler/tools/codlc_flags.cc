#include "compiler/tools/codlc_flags.h"

#include "compiler/frontend/onnx/onnx_model.h"
#include "compiler/partition/partition.h"
#include "compiler/tools/codlc_values.h"
#include "compiler/tools/output.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "tools/quantity.h"
#include "tools/tool_error.h"

namespace codl::compiler {
namespace {

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

using tools::choice_value;
using tools::integer_value;
using tools::number_value;
using tools::optional_choice_value;
using tools::optional_text_value;
using tools::quantity_value;
using tools::switch_value;
using tools::text_value;
using tools::texts_value;

// Takes --place=*=split:DIM:R out of the places: it is about every node that can be split so.
llvm::Error force_every_split(PartitionOptions& options) {
  std::vector<ForcedPlacement>& places = options.limits.places;
  const auto every =
      llvm::find_if(places, [](const ForcedPlacement& place) { return place.node == kEveryNode; });
  if (every == places.end()) return llvm::Error::success();
  if (every->processor)
    return input_error("--place",
                       "expected split:h:R or split:oc:R for *, found a processor, "
                       "which --strategy=cpu and --strategy=gpu are for");
  if (!options.is_optimal())
    return input_error("--strategy", "expected optimal together with --place=*, found \"{0}\"",
                       options.strategy);
  options.split_dim = every->split_dim;
  options.ratio = every->gpu_share;
  places.erase(every);
  return llvm::Error::success();
}

tools::FlagGroup model_flags(CodlcFlags* flags) {
  return {
      "Model",
      {{"input-shape", texts_value("NAME:DIMS", &flags->input_shapes),
        "dims of an input that the model leaves open, like input:1x3x224x224"},
       {"input-value", texts_value("NAME:VALUE[,VALUE...]", &flags->input_values),
        "elements of an input that is really a setting, like sr:16000 or size:2,3; the plan has "
        "them as a constant and no longer has the input"}}};
}

tools::FlagGroup device_flags(CodlcFlags* flags) {
  return {
      "Device",
      {{"device", text_value("NAME|FILE.json[,...]", &flags->device),
        "the device profile: a name of --list-devices, or a file; several with commas between: a "
        "plan for each"},
       {"jobs", integer_value<uint32_t>("N", &flags->job_count, 1, 1024, "a core each"),
        "devices that are compiled for at the same time", "j"},
       {"learn", texts_value("PLAN=BENCH.json", &flags->learned),
        "predict steps by what they took on the device itself: BENCH.json is of codl-bench PLAN "
        "--json --steps --all-variants, PLAN an earlier plan for it, of this network or another; "
        "no = in the name of BENCH.json"},
       {"list-devices", switch_value(&flags->lists_devices),
        "print the device profiles and exit"}}};
}

tools::FlagGroup output_flags(CodlcFlags* flags) {
  return {"What is written",
          {{"output", text_value("FILE", &flags->output, "MODEL.DEVICE.codl beside the model"),
            "the plan; a file with the same bytes is left untouched", "o"},
           {"out-dir", text_value("DIR", &flags->out_dir, "the model's"),
            "where MODEL.DEVICE.codl goes in place of beside the model; made if it is not there"},
           {"depfile", text_value("FILE", &flags->depfile, "none"),
            "write a rule for Make and Ninja: all files that were read; of several devices one "
            "file has "
            "the rules of all",
            "MF"},
           {"depfile-target", text_value("NAME", &flags->depfile_target, "the plan's path"),
            "what the rule says it is made of", "MT"},
           {"quiet", switch_value(&flags->is_quiet), "print errors only", "q"}}};
}

tools::FlagGroup placement_flags(CodlcFlags* flags) {
  std::vector<std::string> strategies = public_strategies();
  llvm::append_range(strategies, other_strategies());
  return {
      "Who computes what",
      {{"strategy", name_value("NAME", &flags->partition.strategy, strategies),
        "optimal: the least predicted time that is found, from the plans of others; cpu, gpu, "
        "gpu-image, gpu-buffer: all that it can on one processor; coarse: whole nodes, on either; "
        "fine: nodes whole or split, no chains; mulayer, codl, codl-buffer: as in the papers"},
       {"variants", variants_value("NAME[,NAME...]", &flags->variants),
        "schedules that the plan has, to be moved among at run time, equal weights once; the "
        "first is the one that a session begins with. coexec: what the flags of this list say; "
        "cpu: the CPU alone, which is also what a run falls back to; gpu: all that it can on the "
        "GPU; gpu50 (1 to 99): as with --gpu-limit=50%; busy: for a CPU that other programs use"},
       {"search-budget",
        integer_value<uint32_t>("N", &flags->partition.search_budget, 0, 1000000,
                                "10000, or 1000 where each plan is judged as a whole: fp16, "
                                "energy, --max-gpu-slice"),
        "whole plans that the search of optimal judges"}}};
}

tools::FlagGroup limit_flags(CodlcFlags* flags) {
  // A launch takes some time.
  const tools::Quantity slice = {{{"us", 1}, {"ms", 1e3}, {"s", 1e6}}, 1e-3, 1e12};
  return {
      "What it may take",
      {{"objective",
        choice_value(&flags->partition.objective,
                     {{"latency", Objective::Latency}, {"energy", Objective::Energy}}),
        "what the search minimises: predicted time, or predicted energy by the power figures of "
        "the profile"},
       {"gpu-limit",
        quantity_value("PERCENT", &flags->partition.limits.gpu_share, tools::percent_quantity(0.01),
                       "no limit"),
        "of a run's predicted time in which the GPU may be busy, at most"},
       {"max-gpu-slice",
        quantity_value("TIME", &flags->partition.limits.max_gpu_slice_us, slice, "no limit"),
        "longest stretch of GPU work that nothing can interrupt, like 4ms: launches are cut and "
        "no more than that is enqueued ahead"},
       {"max-arena", bytes_value("BYTES", &flags->partition.limits.max_arena_bytes),
        "memory for feature maps (arenas and images), like 64MiB"},
       {"max-weights", weights_value("RATIOx|BYTES|none", &flags->partition.limits.max_weights),
        "weights in the plan, with those of all variants: so many times the bytes of the model's, "
        "at least 1 MiB, or bytes, like 64MiB. Transformed weights, which make convolutions "
        "faster, are taken where they save most time for their bytes; none: wherever they do"},
       {"max-fallback",
        quantity_value("PERCENT", &flags->partition.limits.max_fallback_percent,
                       tools::percent_quantity(1), "no limit"),
        "fail if the GPU has no kernel for more than this share of the multiply-adds (of the "
        "nodes, if there are none)"},
       {"max-syncs",
        integer_value<uint32_t>("N", &flags->partition.limits.max_syncs, 0, UINT32_MAX, "no limit"),
        "how often CPU and GPU may wait for each other"},
       {"place", places_value("NODE=WHERE", &flags->partition.limits.places),
        "compute a node on cpu or gpu, or split it: split:h:R gives the GPU the share R of the "
        "rows, split:oc:R of the output channels, like conv1=split:h:0.4; the node * means every "
        "node that can be split so; --dump=graph lists the nodes"}}};
}

tools::FlagGroup kernel_flags(CodlcFlags* flags) {
  return {
      "How it is computed",
      {{"precision",
        choice_value(&flags->precision, {{"fp32", Precision::Fp32}, {"fp16", Precision::Fp16}}),
        "how the GPU stores what it alone touches; fp16: halves where its kernels can: half the "
        "bytes, arithmetic in fp32, results off by what rounding to 11 bits makes (bound: 1e-2 "
        "relative L2), infinite beyond 65504"},
       {"avoid", texts_value("winograd|QUIRKS.json", &flags->avoided),
        "use no kernel that this file of `codl-run --self-test --json` found to be wrong; "
        "winograd: "
        "none by Winograd's method, whose weights are larger and results further from exact"}}};
}

tools::FlagGroup compress_flags(CodlcFlags* flags) {
  const tools::Quantity share = tools::percent_quantity(0.01);
  return {
      "Smaller networks",
      {{"low-rank", ratio_value("RATIO|auto", &flags->compress.low_rank),
        "decompose weights (SVD; of convolutions channel-wise, spatial, Tucker-2) keeping this "
        "share of their squares, where the plan is predicted to be at least 0.2 % faster; auto: "
        "as little as the accuracy budget allows"},
       {"prune", ratio_value("RATIO|auto", &flags->compress.prune),
        "remove this share of the channels of each group that hangs together, where the plan is "
        "predicted to be at least 0.2 % faster; auto: as much as the accuracy budget allows"},
       {"calibration", calibration_value("DIR|none", &flags->compress),
        "inputs of the network: INPUT.npy of dims [samples, dims of the input], or any .npy files "
        "where there is one input; labels.npy, optional: the index of the largest output. Every "
        "other sample is fitted to, the rest measured on. none: rewrite although nobody measures "
        "what the "
        "network loses"},
       {"accuracy-budget", quantity_value("PERCENT", &flags->compress.budget, share),
        "what may be lost of the accuracy or, without labels, as relative L2 error of the outputs: "
        "auto stays within it, a ratio that loses more is warned of"},
       {"latency-cut", quantity_value("PERCENT", &flags->compress.latency_cut, share, "none"),
        "of --prune=auto: not as far as the budget allows but as far as this share of the "
        "predicted time is saved, with the least loss found; fails if that loses more than the "
        "budget"},
       {"search-log", text_value("FILE", &flags->compress.search_log, "none"),
        "keep what auto measures in this file, as it goes: the same command goes on where it was "
        "cut off"},
       {"emit-onnx", text_value("FILE", &flags->emitted_onnx, "none"),
        "write the network as ONNX after fusion, pruning and low rank"}}};
}

tools::FlagGroup report_flags(CodlcFlags* flags) {
  return {
      "Reports",
      {{"report-support",
        optional_choice_value<SupportFormat>(
            &flags->support, {{"text", SupportFormat::Text}, {"json", SupportFormat::Json}}),
        "print where the model's operators can run and what falling back to the CPU costs; a plan "
        "is written only with -o"},
       {"report", reports_value("FILE.html|FILE.json", &flags->reports),
        "write a page that shows the plan: timeline, operators and what else could run them, "
        "memory, passes, and what its times stand on; or what that page shows as JSON "
        "(docs/reference/report.md)"},
       {"measured", text_value("BENCH.json", &flags->measured, "none"),
        "of codl-bench --json --steps: what was measured, beside what is predicted"},
       {"list-ops",
        optional_choice_value<bool>(&flags->lists_ops, {{"text", false}, {"markdown", true}}),
        "print the ONNX operators, what they become and where that runs, and exit"}}};
}

// The values of --dump.
std::vector<std::string> stages_and_passes() {
  std::vector<std::string> names = {"graph", "partition", "schedule", "memory"};
  llvm::append_range(names, pass_names());
  return names;
}

tools::FlagGroup inspection_flags(CodlcFlags* flags) {
  return {
      "Inside the compiler",
      {{"dump", name_value("STAGE|PASS", &flags->dump, stages_and_passes()),
        "print a stage: graph, partition, schedule or memory; or the graph after a pass: " +
            llvm::join(pass_names(), ", ")},
       {"explain", optional_text_value("NODE", &flags->explained_node, "all nodes"),
        "print, for the first variant, which terms the predicted time of a node's steps is made "
        "of, what it stands on, and what other kernels would take, and of one NODE what else "
        "could be done with it; a plan is written only with -o"},
       {"skip-pass", texts_value("PASS", &flags->skipped_passes),
        "leave out a pass of the front end that only makes the network faster, to see what it "
        "gains"}}};
}

// Flags of other compilers and runtimes.
std::vector<tools::OtherName> other_names() {
  return {
      {"fp16 half float16 use-fp16 enable-fp16", "--precision=fp16"},
      {"quantize quantise quant int8 uint8 bits",
       "quantise the ONNX model before, as with onnxruntime.quantization; codlc reads 8-bit "
       "models"},
      {"threads num-threads nthreads intra-op-threads",
       "--num-threads of codl-run and codl-bench; a plan is for as many as the profile has"},
      {"shape shapes input-shapes inputshape minshapes optshapes override-input-shapes "
       "overwrite-input-shape",
       "--input-shape=NAME:DIMS, like input:1x3x224x224"},
      {"batch batch-size", "--input-shape=NAME:DIMS, whose first dim the batch mostly is"},
      {"target soc chip chipset platform backend march arch", "--device=NAME, of --list-devices"},
      {"gpu use-gpu cuda opencl vulkan", "--strategy=gpu, or --variants=gpu beside others"},
      {"cpu use-cpu", "--strategy=cpu"},
      {"out output-file save save-engine", "-o FILE"},
      {"output-dir outdir", "--out-dir=DIR"},
      {"model onnx input input-model", "MODEL.onnx without a flag"},
      {"optimize opt optimization-level", "nothing: all passes run; --skip-pass leaves one out"},
      {"prune-ratio sparsity", "--prune=RATIO"}};
}

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : frontend_passes()) names.emplace_back(pass.name);
  return names;
}

tools::CommandLine command_line_of(CodlcFlags* flags) {
  tools::CommandLine line;
  line.tool = "codlc";
  line.version = compiler_version() + ", ONNX opset " + std::to_string(kOldestOpset) + " to " +
                 std::to_string(kNewestOpset);
  line.usage = {"MODEL.onnx [flags]", "--list-devices | --list-ops"};
  line.summary =
      "Compiles an ONNX model to a plan that computes it on a device's CPU and GPU at the same "
      "time.";
  line.exit_codes =
      "0 ok, 1 the input is wrong (model, profile, flag), 2 valid but not supported, 3 a requested "
      "limit cannot be met, 70 internal error";
  line.others = other_names();
  line.groups = {model_flags(flags),     device_flags(flags), output_flags(flags),
                 placement_flags(flags), limit_flags(flags),  kernel_flags(flags),
                 compress_flags(flags),  report_flags(flags), inspection_flags(flags)};
  return line;
}

llvm::Expected<CompileOptions> options_of(const CodlcFlags& flags, llvm::raw_ostream& dump_to) {
  if (!flags.output.empty() && devices_of(flags).size() > 1)
    return input_error("--output", "expected --out-dir with several devices, found a file");
  if (!flags.output.empty() && !flags.out_dir.empty())
    return input_error("--output", "expected it without --out-dir, found both");
  if (!flags.depfile_target.empty() && devices_of(flags).size() > 1)
    return input_error("--depfile-target", "expected it with one device, found {0}",
                       devices_of(flags).size());
  if (!flags.learned.empty() && devices_of(flags).size() > 1)
    return input_error("--learn", "expected it with one device, found {0}",
                       devices_of(flags).size());
  const bool has_report = !flags.reports.empty();
  if (has_report && devices_of(flags).size() > 1)
    return input_error("--report", "expected it with one device, found {0}",
                       devices_of(flags).size());
  if (!flags.measured.empty() && !has_report)
    return input_error("--measured", "expected --report beside it, found none");
  CompileOptions options;
  options.wants_report = has_report;
  options.partition = flags.partition;
  options.variants = flags.variants;
  if (llvm::Error error = force_every_split(options.partition)) return error;
  options.precision = flags.precision;
  options.support = flags.support.value_or(SupportFormat::None);
  options.builds_plan = (!flags.support && !flags.explained_node) || !flags.output.empty() ||
                        !flags.out_dir.empty() || has_report;
  if (!flags.depfile.empty() && !options.builds_plan)
    return input_error("--depfile", "expected a plan to be written (-o), found none");
  options.compress = flags.compress;
  if ((!flags.compress.calibration.empty() || flags.compress.is_unchecked) &&
      !flags.compress.is_asked())
    return input_error("--calibration", "expected --low-rank or --prune beside it, found neither");
  for (const auto& [flag, is_given] :
       {std::pair("--latency-cut", flags.compress.latency_cut.has_value()),
        std::pair("--search-log", !flags.compress.search_log.empty())})
    if (is_given && !flags.compress.is_asked())
      return input_error(flag, "expected --prune=auto beside it, found none");
  if (!flags.compress.search_log.empty() && devices_of(flags).size() > 1)
    return input_error("--search-log", "expected it with one device, found {0}",
                       devices_of(flags).size());
  if (!flags.emitted_onnx.empty() && devices_of(flags).size() > 1)
    return input_error("--emit-onnx", "expected it with one device, found {0}",
                       devices_of(flags).size());
  for (const std::string& shape : flags.input_shapes)
    if (llvm::Error error = parse_input_shape(shape, options.import)) return error;
  for (const std::string& value : flags.input_values)
    if (llvm::Error error = parse_input_value(value, options.import)) return error;
  for (const std::string& pass : flags.skipped_passes)
    if (pass == "assign_layouts" || !llvm::is_contained(pass_names(), pass))
      return input_error("--skip-pass",
                         "expected one of {0} other than assign_layouts, which every plan needs, "
                         "found '{1}'",
                         llvm::join(pass_names(), ", "), pass);
  options.skipped_passes = flags.skipped_passes;
  options.dump = flags.dump;
  options.explained_node = flags.explained_node;
  options.dump_to = &dump_to;
  return options;
}

std::vector<std::string> devices_of(const CodlcFlags& flags) {
  if (llvm::sys::fs::exists(flags.device)) return {flags.device};
  llvm::SmallVector<llvm::StringRef, 4> names;
  llvm::StringRef(flags.device).split(names, ',');
  return {names.begin(), names.end()};
}

// By the name that the device was given by: a profile that was copied and not renamed inside must
// not write over the plan of the one that it came from.
std::string output_path(const CodlcFlags& flags, llvm::StringRef device) {
  if (!flags.output.empty()) return flags.output;
  llvm::StringRef model = flags.model;
  model.consume_back(".onnx");
  device = llvm::sys::path::filename(device);
  device.consume_back(".json");
  if (flags.out_dir.empty()) return (model + "." + device + ".codl").str();
  return (flags.out_dir + "/" + llvm::sys::path::filename(model) + "." + device + ".codl").str();
}

}  // namespace codl::compiler
