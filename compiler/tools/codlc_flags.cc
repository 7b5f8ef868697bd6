#include "compiler/tools/codlc_flags.h"

#include "compiler/frontend/onnx/onnx_model.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/pass_order.h"
#include "compiler/tools/codlc_values.h"
#include "compiler/tools/ep_context_flags.h"
#include "compiler/tools/output.h"
#include "compiler/tools/shape_flags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "schema/plan_layout.h"
#include "tools/quantity.h"
#include "tools/tool_error.h"

namespace codl::compiler {
namespace {

// Refuses what is made for one shape where there are several.
llvm::Error expect_one_entry(const CodlcFlags& flags, size_t count) {
  if (count == 1) return llvm::Error::success();
  for (const auto& [flag, is_given] :
       {std::pair("--prune", flags.shrink.prune.has_value()),
        std::pair("--low-rank", flags.shrink.low_rank.has_value()),
        std::pair("--calibration", !flags.shrink.calibration.empty()),
        std::pair("--emit-onnx", !flags.emitted_onnx.empty()),
        std::pair("--report-support=json", flags.support == SupportFormat::Json)})
    if (is_given) return input_error(flag, "expected a plan of one input shape, found {0}", count);
  return llvm::Error::success();
}

// Reads "sr:16000", "size:2,3"; no values ("NAME:") stand for an input without elements. NAME may
// hold colons.
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
  std::vector<UserPlace>& places = options.limits.places;
  const auto every =
      llvm::find_if(places, [](const UserPlace& place) { return place.node == kEveryNode; });
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
  return {"Model",
          {{"input-shape", texts_value("NAME:DIMS", &flags->input_shapes),
            "set the dims of an input that the model leaves open, like input:1x3x224x224", "",
            "'input:1x3x48x160|320|640' makes a plan of three shapes with one set of weights; a "
            "session takes the one that it is told. Flags with as many numbers go together: the "
            "first of each, then the second ones."}},
          {{"dim", texts_value("NAME:N[|N...]", &flags->dims),
            "set open dims by the name that the model gives them, like width:320", "",
            "Several numbers are several shapes, as with --input-shape."},
           {"input-value", texts_value("NAME:VALUES", &flags->input_values),
            "make a constant of an input that is really a setting, like sr:16000 or size:2,3", "",
            "The plan no longer has that input."},
           {"state", texts_value("OUTPUT:INPUT", &flags->states),
            "keep an output in the session as an input of its next run, like hn:h0", "",
            "It begins at zero. The application has neither; it can read, write and reset it."}}};
}

tools::FlagGroup device_flags(CodlcFlags* flags) {
  return {
      "Device",
      {{"device", text_value("NAME|FILE.json", &flags->device, "host"),
        "compile for this device: a name that --list-devices prints, or a profile", "",
        "Several, with commas between, have a plan each."},
       {"list-devices", switch_value(&flags->lists_devices),
        "print the names of the devices, and exit", "",
        "With --device it prints those alone, in their order."},
       {"learn", texts_value("PLAN=BENCH.json", &flags->learned),
        "predict steps by what `codl-bench PLAN --json --steps` measured there", "",
        "PLAN is an earlier plan for the device, of this network or another; add --all-variants "
        "to measure all of it. The name BENCH.json may not contain '='."}},
      {{"measured-on", text_value("TEXT", &flags->measured_on, "the device's own GPU"),
        "believe --learn and --measured of a machine whose name has this text", "",
        "The name is that of the OpenCL device that codl-bench ran on or, where the plan computes "
        "nothing there, the CPU's architecture. Without the flag it must be the GPU of the "
        "device's profile."},
       {"jobs", integer_value<uint32_t>("N", &flags->job_count, 1, 1024, "one per core"),
        "compile for at most N devices at the same time", "j"}}};
}

tools::FlagGroup output_flags(CodlcFlags* flags) {
  return {"Output",
          {{"output", text_value("FILE", &flags->output, "MODEL.DEVICE.codl"),
            "write the plan to FILE", "o", "A file with the same bytes is left untouched."},
           {"quiet", switch_value(&flags->is_quiet), "print errors only", "q"}},
          {{"out-dir", text_value("DIR", &flags->out_dir, "the model's"),
            "write MODEL.DEVICE.codl to this folder", "", "It is made if it is not there."},
           {"ep-context", text_value("FILE.onnx", &flags->ep_context, "none"),
            "write a model with which ONNX Runtime runs the plan (integrations/onnxruntime)", "",
            "Its one node, an EPContext, refers to the plan, which lies in its folder or below."},
           {"ep-context-embed", switch_value(&flags->embeds_plan),
            "let that model contain the plan, for applications that load it from memory"},
           {"depfile", text_value("FILE", &flags->depfile, "none"),
            "write a rule for Make and Ninja that names all files that were read", "MF",
            "With several devices it has the rules of all."},
           {"depfile-target", text_value("NAME", &flags->depfile_target, "the plan's path"),
            "name this as what the rule makes", "MT"}}};
}

tools::FlagGroup placement_flags(CodlcFlags* flags) {
  std::vector<std::string> strategies = public_strategies();
  const std::string known = llvm::join(strategies, ", ");
  llvm::append_range(strategies, other_strategies());
  return {
      "Who computes what",
      {{"strategy", name_value("NAME", &flags->partition.strategy, strategies),
        "place work on CPU and GPU by this method: " + known, "",
        "optimal searches for the least predicted time, from the plans of all others; cpu and gpu "
        "give one processor all that it can compute; coarse gives whole nodes to either; fine "
        "splits nodes, too; mulayer and codl do as these papers do. Also: " +
            llvm::join(other_strategies(), ", ") +
            ", the bars of the papers' figures, which keep to one kind of GPU memory."},
       {"variants", variants_value("NAME[,NAME...]", &flags->variants),
        "put these schedules into the plan, to be moved among at run time: coexec, cpu, gpu, "
        "gpu50, busy",
        "",
        "The first is the one that a session begins with; equal weights are stored once. coexec: "
        "what the flags of this list say; cpu: the CPU alone, which a run also falls back to; gpu: "
        "all that it can on the GPU; gpu50 (1 to 99): as with --gpu-limit=50%; busy: for a CPU "
        "that other programs use."}},
      {{"place", places_value("NODE=WHERE", &flags->partition.limits.places),
        "compute a node where you say: on cpu, on gpu, or on both with split:h:R or split:oc:R", "",
        "split:h:R gives the GPU the share R of the rows, split:oc:R of the output channels, like "
        "conv1=split:h:0.4. The node * means every node that can be split so. --dump=graph lists "
        "the nodes."},
       {"search-budget", integer_value<uint32_t>("N", &flags->partition.search_budget, 0, 1000000),
        "let the search of --strategy=optimal judge N plans for a variant at most", "",
        "With --precision=auto it judges so many in floats, so many in halves, and N / 5 of "
        "both."}}};
}

tools::FlagGroup limit_flags(CodlcFlags* flags) {
  // A launch takes some time.
  const tools::Quantity slice = {{{"us", 1}, {"ms", 1e3}, {"s", 1e6}}, 1e-3, 1e12};
  return {
      "What it may take",
      {{"gpu-limit",
        quantity_value("PERCENT", &flags->partition.limits.gpu_share, tools::percent_quantity(0.01),
                       "no limit"),
        "keep the GPU busy for at most this share of a run, like 50%"},
       {"max-arena", bytes_value("BYTES", &flags->partition.limits.max_arena_bytes),
        "hold feature maps in at most this much memory, like 64MiB"},
       {"max-weights", weights_value("RATIOx|BYTES|none", &flags->partition.limits.max_weights),
        "store at most so many times the model's weights, or 1 MiB if that is more", "",
        "The limit is of all variants together. Transformed weights, which "
        "make convolutions faster, are stored where they save most time for their bytes; none: "
        "wherever they save any."}},
      {{"objective",
        choice_value(&flags->partition.objective,
                     {{"latency", Objective::Latency}, {"energy", Objective::Energy}}),
        "minimise the predicted time, or energy"},
       {"max-gpu-slice",
        quantity_value("TIME", &flags->partition.limits.max_gpu_slice_us, slice, "no limit"),
        "give other programs the GPU at least this often, like 4ms", "",
        "Launches are cut, and no more than that is enqueued ahead."},
       {"max-fallback",
        quantity_value("PERCENT", &flags->partition.limits.max_fallback_percent,
                       tools::percent_quantity(1), "no limit"),
        "fail if the GPU has no kernel for more of the multiply-adds than this, like 5%", "",
        "It is a share of the nodes in a network without multiply-adds."},
       {"max-syncs",
        integer_value<uint32_t>("N", &flags->partition.limits.max_syncs, 0, UINT32_MAX, "no limit"),
        "let CPU and GPU wait for each other at most N times in a run"}}};
}

tools::FlagGroup kernel_flags(CodlcFlags* flags) {
  return {
      "Kernels",
      {{"precision", precision_value(&flags->precision), "hold numbers in this precision", "",
        "fp16 takes half the bytes wherever kernels can. Convolutions and products compute in it "
        "if the processor does, other kernels in fp32. What halves may not hold stays in float "
        "(docs/guide/precision.md). int8 needs --calibration: convolutions and products multiply "
        "bytes on the CPU, as far as --accuracy-budget allows. auto has halves and, with "
        "--calibration, bytes where they are faster. codlc says what the others would take and, "
        "with --calibration, lose."},
       {"avoid", texts_value("FILE|winograd", &flags->avoided),
        "use no kernel that `codl-run --self-test --json` found wrong, by its FILE", "",
        "winograd: none by Winograd's method, whose weights are larger and results less exact."}}};
}

tools::FlagGroup shrink_flags(CodlcFlags* flags) {
  const tools::Quantity share = tools::percent_quantity(0.01);
  return {
      "Smaller networks",
      {{"prune", ratio_value("RATIO|auto", &flags->shrink.prune),
        "remove this share (0 to 1) of the channels; auto: as many as the budget allows", "",
        "The share is of each group of channels that can only be removed together. What the plan "
        "is not predicted to be at least 0.2 % faster for stays."},
       {"low-rank", ratio_value("RATIO|auto", &flags->shrink.low_rank),
        "factor weights so that this share of their squares is kept; auto: as for --prune", "",
        "By SVD; convolutions channel-wise, spatially or by Tucker-2. What the plan is not "
        "predicted to be at least 0.2 % faster for stays."},
       {"calibration", text_value("DIR", &flags->shrink.calibration, "none"),
        "measure the loss on these inputs", "",
        "DIR has INPUT.npy of dims [samples, dims of the input], or any .npy files where there is "
        "one input; and maybe labels.npy: the index of the largest output. Every other sample is "
        "fitted to, the rest measured on."},
       {"unchecked", switch_value(&flags->shrink.is_unchecked),
        "shrink without --calibration: nobody measures what the network loses"},
       {"accuracy-budget", quantity_value("PERCENT", &flags->shrink.budget, share),
        "lose at most this much accuracy (without labels: relative error), like 1%", "",
        "auto and --precision=int8 stay within it; what else loses more is warned of."}},
      {{"emit-onnx", text_value("FILE", &flags->emitted_onnx, "none"),
        "write the network as ONNX after it was made smaller", "",
        "What is in bytes has QuantizeLinear and DequantizeLinear."},
       {"latency-cut", quantity_value("PERCENT", &flags->shrink.latency_cut, share, "none"),
        "let --prune=auto save this share of the predicted time at the least loss, like 30%", "",
        "It fails if that loses more than the budget."},
       {"search-log", text_value("FILE", &flags->shrink.search_log, "none"),
        "keep what auto measures in FILE, so that the same command goes on where it was cut "
        "off"}}};
}

tools::FlagGroup report_flags(CodlcFlags* flags) {
  return {
      "Reports",
      {{"report", reports_value("FILE.html|.json", &flags->reports),
        "write a page that shows the plan, or its numbers as JSON", "",
        "It has timelines, operators and what else could run them, memory, passes, and what the "
        "times stand on (docs/reference/report.md)."},
       {"report-support",
        optional_choice_value<SupportFormat>(
            &flags->support, {{"text", SupportFormat::Text}, {"json", SupportFormat::Json}}),
        "print which operators the GPU can run, and what the others cost", "",
        "A plan is written only with -o."},
       {"explain", optional_text_value("NODE", &flags->explained_node, "all nodes"),
        "print why a node takes the time predicted, and what else it could do", "",
        "It has the terms of each step's time, what they stand on, and what other kernels would "
        "take, for the first variant; of one NODE also what each other place of it would make of "
        "the plan. A plan is written only with -o."}},
      {{"measured", text_value("BENCH.json", &flags->measured, "none"),
        "show what `codl-bench --json --steps` measured in the report, too"},
       {"list-ops",
        optional_choice_value<bool>(&flags->lists_ops, {{"text", false}, {"markdown", true}}),
        "print the ONNX operators, what they become and where that runs, and exit"}}};
}

// Returns the values of --dump.
std::vector<std::string> stages_and_passes() {
  std::vector<std::string> names = {"graph", "partition", "schedule", "memory"};
  llvm::append_range(names, pass_names());
  return names;
}

tools::FlagGroup inspection_flags(CodlcFlags* flags) {
  return {"Inside the compiler",
          {},
          {{"dump", name_value("STAGE|PASS", &flags->dump, stages_and_passes()),
            "print a stage (graph, partition, schedule or memory) or the graph after a pass", "",
            "The passes, in their order: " + llvm::join(pass_names(), ", ") + "."},
           {"skip-pass", texts_value("PASS", &flags->skipped_passes),
            "leave a pass out that only makes the network faster, to see what it gains"}}};
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
      "Compiles an ONNX model to a plan that a device runs on its CPU and GPU at the same time.";
  line.examples = {
      {"codlc net.onnx --device=sd855 --report=net.html",
       "writes the plan net.sd855.codl for a Snapdragon 855, and a page that shows it"}};
  line.exit_codes =
      "0 ok, 1 wrong input (model, profile, flag), 2 not supported, 3 a limit cannot be met, 70 "
      "internal error";
  line.groups = {model_flags(flags),     device_flags(flags), output_flags(flags),
                 placement_flags(flags), limit_flags(flags),  kernel_flags(flags),
                 shrink_flags(flags),    report_flags(flags), inspection_flags(flags)};
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
  if (!flags.measured_on.empty() && flags.learned.empty() && flags.measured.empty())
    return input_error("--measured-on", "expected --learn or --measured beside it, found neither");
  CompileOptions options;
  options.wants_report = has_report;
  options.partition = flags.partition;
  options.variants = flags.variants;
  if (llvm::Error error = force_every_split(options.partition)) return error;
  options.precision = flags.precision->reals;
  options.prints.support = flags.support.value_or(SupportFormat::None);
  options.builds_plan = (!flags.support && !flags.explained_node) || !flags.output.empty() ||
                        !flags.out_dir.empty() || has_report;
  options.compares_precisions = options.builds_plan && (!flags.is_quiet || has_report);
  if (!flags.depfile.empty() && !options.builds_plan)
    return input_error("--depfile", "expected a plan to be written (-o), found none");
  CODL_ASSIGN_OR_RETURN(ep_context_plan, ep_context_plan_of(flags, options.builds_plan));
  options.ep_context_plan = std::move(ep_context_plan);
  options.shrink = flags.shrink;
  options.shrink.bytes = flags.precision->bytes;
  options.emits_onnx = !flags.emitted_onnx.empty();
  if (flags.shrink.is_unchecked && !flags.shrink.asks_for_smaller())
    return input_error("--unchecked", "expected --low-rank or --prune beside it, found neither");
  if (flags.shrink.latency_cut && !flags.shrink.asks_for_smaller())
    return input_error("--latency-cut", "expected --prune=auto beside it, found none");
  if (!flags.shrink.search_log.empty() && !options.shrink.is_asked())
    return input_error("--search-log",
                       "expected --prune=auto or --precision=int8 beside it, found neither");
  if (!flags.shrink.search_log.empty() && devices_of(flags).size() > 1)
    return input_error("--search-log", "expected it with one device, found {0}",
                       devices_of(flags).size());
  if (!flags.emitted_onnx.empty() && devices_of(flags).size() > 1)
    return input_error("--emit-onnx", "expected it with one device, found {0}",
                       devices_of(flags).size());
  for (const std::string& shape : flags.input_shapes)
    if (llvm::Error error = parse_input_shape(shape, options.entries)) return error;
  for (const std::string& dim : flags.dims)
    if (llvm::Error error = parse_dim(dim, options.entries)) return error;
  if (llvm::Error error = expect_other_shapes(options.entries)) return error;
  if (llvm::Error error = expect_one_entry(flags, options.entries.size())) return error;
  options.import.states = flags.states;
  for (const std::string& value : flags.input_values)
    if (llvm::Error error = parse_input_value(value, options.import)) return error;
  for (const std::string& pass : flags.skipped_passes)
    if (pass == "assign_layouts" || !llvm::is_contained(pass_names(), pass))
      return input_error("--skip-pass",
                         "expected one of {0} other than assign_layouts, which every plan needs, "
                         "found '{1}'",
                         llvm::join(pass_names(), ", "), pass);
  options.skipped_passes = flags.skipped_passes;
  options.prints.dump = flags.dump;
  options.prints.explained_node = flags.explained_node;
  options.prints.to = &dump_to;
  return options;
}

std::vector<std::string> devices_of(const CodlcFlags& flags) {
  if (flags.device.empty()) return {"host"};
  if (llvm::sys::fs::exists(flags.device)) return {flags.device};
  llvm::SmallVector<llvm::StringRef, 4> names;
  llvm::StringRef(flags.device).split(names, ',');
  return {names.begin(), names.end()};
}

// Uses the name that the device was given by: a copied profile that was not renamed inside must not
// overwrite the plan of the original.
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
