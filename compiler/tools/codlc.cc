// codlc compiles an ONNX model for device profiles into plan files. This file does files and
// messages; the work is in pipeline.cc.
#include <cmath>

#include "compiler/device/device_names.h"
#include "compiler/device/device_profile.h"
#include "compiler/device/quirks.h"
#include "compiler/emit/dump_plan.h"
#include "compiler/pipeline.h"
#include "compiler/report/operator_table.h"
#include "compiler/report/plan_report.h"
#include "compiler/simulate/measured/learn_steps.h"
#include "compiler/support/error.h"
#include "compiler/support/input_file.h"
#include "compiler/tools/codlc_flags.h"
#include "compiler/tools/output.h"
#include "kernels/conv2d/winograd.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include "schema/plan_layout.h"
#include "tools/depfile.h"
#include "tools/files.h"
#include "tools/jobs.h"
#include "tools/printable.h"
#include "tools/tool_error.h"

namespace {

using namespace codl;
using namespace codl::compiler;

constexpr char kTool[] = "codlc";
constexpr size_t kFloatsPrinted = 3;  // the report has all

// Prints the figures that limits and objectives concern.
void print_figures(const CompileReport::Variant& variant, llvm::raw_ostream& os) {
  const PlanFigures& figures = variant.figures;
  os << llvm::formatv(
      "  {0}: GPU busy {1:f0} % of the time, longest slice {2:f2} ms, {3} waits, "
      "arenas and images {4:f2} MB",
      variant.name, 100 * figures.gpu_share, figures.longest_slice_us / 1e3, figures.syncs,
      static_cast<double>(figures.arena_bytes) / 1e6);
  if (figures.energy_mj)
    os << llvm::formatv(", energy {0:f1} mJ (power {1})", *figures.energy_mj, variant.power_origin);
  os << " (predicted)\n";
}

// Prints what the variant that a session begins with gains over each processor alone, except the
// one that it runs on: the objective says whether this is time or energy. What was measured stands
// beside it.
void print_gain(const CompileReport& report, Objective objective, llvm::raw_ostream& os) {
  const CompileReport::Variant& variant = report.variants.front();
  std::vector<std::string> gains, measured;
  const auto add = [&](const std::optional<double>& speedup,
                       const std::optional<double>& energy_saved, const char* processor) {
    if (objective == Objective::Energy && energy_saved)
      gains.push_back(llvm::formatv("{0:f0} % {1} energy than on the {2} alone ({3:f1} mJ)",
                                    100 * std::abs(*energy_saved),
                                    *energy_saved < 0 ? "more" : "less", processor,
                                    *variant.figures.energy_mj / (1 - *energy_saved)));
    else if (objective == Objective::Latency && speedup)
      gains.push_back(llvm::formatv("{0:f2} times as fast as the {1} alone ({2:f2} ms)", *speedup,
                                    processor, *speedup * variant.predicted_us / 1e3));
  };
  if (variant.figures.gpu_share > 0)
    add(variant.speedup_over_cpu, variant.energy_saved_over_cpu, "CPU");
  if (variant.name != "gpu") add(variant.speedup_over_gpu, variant.energy_saved_over_gpu, "GPU");
  for (const auto& [name, processor] : {std::pair("cpu", "CPU"), std::pair("gpu", "GPU")})
    if (const auto speedup = report.measured_speedup_over(name))
      measured.push_back(llvm::formatv("{0:f2} times as fast as the {1} alone ({2:f2} ms)",
                                       *speedup, processor, *speedup * *variant.measured_us / 1e3));
  if (gains.empty()) return;
  os << "  " << llvm::join(gains, ", ") << ", as predicted";
  if (!measured.empty()) os << "; measured: " << llvm::join(measured, ", ");
  os << "\n";
}

// How the weights stand to the model's and to their limit, and what was found without it.
void print_weights(const CompileReport& report, Objective objective, llvm::raw_ostream& os) {
  const auto mb = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  os << llvm::formatv("  weights: {0:f1} MB in the model, {1:f1} MB in the plan",
                      mb(report.model_weight_bytes), mb(report.weight_bytes));
  if (report.weight_limit_bytes)
    os << llvm::formatv(", limit {0:f1} MB (--max-weights)", mb(*report.weight_limit_bytes));
  if (report.weight_limit_bytes && report.weight_bytes > *report.weight_limit_bytes)
    os << ", which no plan keeps";
  if (const auto& free = report.without_weight_limit)
    os << llvm::formatv(
        "; without it a plan with {0:f1} MB was found that takes {1} in place of {2}",
        mb(free->weight_bytes), objective_text(free->figures, objective),
        objective_text(report.variants.front().figures, objective));
  os << "\n";
}

// Prints what the plan, and plans in other precisions, take and lose.
void print_precisions(const CompileReport& report, llvm::raw_ostream& os) {
  for (const PrecisionChoice& choice : report.precisions) {
    std::string loss = llvm::StringRef(choice.name) == "fp32"   ? "no loss"
                       : llvm::StringRef(choice.name) == "int8" ? "unknown loss (--calibration)"
                                                                : "unknown loss";
    if (choice.deviation)
      loss = llvm::formatv("loss {0:f2} % ({1})", 100 * choice.deviation->loss(),
                           choice.deviation->loss_name());
    os << llvm::formatv("  --precision={0}: {1}{2:f2} ms, {3}, weights {1}{4:f1} MB{5}\n",
                        choice.name, choice.is_chosen ? "" : "about ", choice.predicted_us / 1e3,
                        loss, static_cast<double>(choice.weight_bytes) / 1e6,
                        choice.is_chosen ? " (this plan)" : "");
  }
  std::vector<std::pair<std::string, std::string>> floats, without_bytes;
  for (const AllowedForms::Float& kept : report.allowed_forms.floats)
    floats.emplace_back(kept.node, kept.reason);
  for (const ShrinkReport::ByteNode& node : report.shrink.byte_nodes)
    if (!node.reason.empty()) without_bytes.emplace_back(node.node, node.reason);
  const auto print_kept = [&](const auto& kept, size_t count, const char* what) {
    if (kept.empty()) return;
    os << llvm::formatv("  {0} of {1} {2}:\n", kept.size(), count, what);
    for (size_t i = 0; i < std::min(kept.size(), kFloatsPrinted); ++i)
      os << "    " << tools::printable(kept[i].first) << ": " << tools::printable(kept[i].second)
         << "\n";
    if (kept.size() > kFloatsPrinted)
      os << llvm::formatv("    and {0} more, which --report=FILE.json lists\n",
                          kept.size() - kFloatsPrinted);
  };
  print_kept(without_bytes, report.shrink.byte_nodes.size(),
             "convolutions and products multiply no bytes");
  print_kept(floats, report.allowed_forms.value_count, "values stay in float");
}

// Prints what is said of the file.
void print_file(const CompileReport& report, llvm::StringRef path, size_t bytes,
                llvm::raw_ostream& os) {
  os << tools::printable({path.data(), path.size()})
     << llvm::formatv(": {0:f1} MB, weights {1:f1} MB", static_cast<double>(bytes) / 1e6,
                      static_cast<double>(report.weight_bytes) / 1e6);
  if (report.winograd_bytes > 0)
    os << llvm::formatv(" ({0:f1} MB of them for Winograd)",
                        static_cast<double>(report.winograd_bytes) / 1e6);
  os << "\n";
}

void print_report(const CompileReport& report, const PartitionOptions& asked,
                  llvm::raw_ostream& os) {
  if (!report.entry.empty()) os << "entry " << tools::printable(report.entry) << "\n";
  print_gain(report, asked.objective, os);
  print_weights(report, asked.objective, os);
  for (const CompileReport::Variant& variant : report.variants)
    os << llvm::formatv(
        "  {0,-8} predicted {1,8:f2} ms ({2:f2} to {3:f2}; {4:f0} % of it assumed)  memory "
        "{5,6:f1} "
        "MB  GPU {6,3:f0} % of MACs  {7} nodes split, {8} chains (longest {9})\n",
        variant.name, variant.predicted_us / 1e3, variant.uncertainty.low_us / 1e3,
        variant.uncertainty.high_us / 1e3, 100 * variant.uncertainty.assumed_share,
        static_cast<double>(variant.figures.arena_bytes + variant.figures.weight_bytes) / 1e6,
        100 * variant.gpu_mac_share, variant.split_nodes, variant.chains, variant.longest_chain);
  print_precisions(report, os);
  for (const CompileReport::Variant& variant : report.variants) print_figures(variant, os);
  for (const CompileReport::Variant& variant : report.variants)
    if (variant.evaluations > 0)
      os << llvm::formatv("  {0}: the best of {1} plans that were judged (--search-budget={2})\n",
                          variant.name, variant.evaluations, asked.search_budget);
  for (const CompileReport::Variant& variant : report.variants) {
    const auto print_share = [&](size_t count, const char* what) {
      if (count > 0)
        os << llvm::formatv("  {0}: {1} of {2} tensors of real numbers are {3}\n", variant.name,
                            count, variant.real_tensors, what);
    };
    print_share(variant.half_tensors, "halves");
    print_share(variant.byte_tensors, "bytes");
  }
  const bool is_searched = asked.is_optimal() && !asked.forces_split();
  for (const CompileReport::Variant& variant : report.variants)
    if (!variant.one_processor_reason.empty())
      os << "  " << variant.name << " is "
         << (is_searched                     ? "the best plan found"
             : variant.figures.gpu_share > 0 ? "the GPU alone"
                                             : "the CPU alone")
         << ", not both processors: " << tools::printable(variant.one_processor_reason) << "\n";
  for (const CompileReport::Variant& variant : report.variants)
    if (!variant.short_of_weights.empty())
      os << "  " << variant.name << " has " << variant.short_of_weights << "\n";
  for (const CompileReport::Variant& variant : report.variants)
    if (!variant.exempt.empty())
      os << "  " << variant.name << " is exempt from " << variant.exempt << "\n";
  if (report.not_split_as_forced.empty()) return;
  os << "  not split as forced:";
  for (const std::string& node : report.not_split_as_forced) os << " " << tools::printable(node);
  os << "\n";
}

// Returns true if one of the lists was asked for.
llvm::Expected<bool> print_lists(const CodlcFlags& flags, llvm::raw_ostream& os) {
  if (flags.lists_devices) {
    const bool has_names = !flags.device.empty();
    CODL_ASSIGN_OR_RETURN(
        text, describe_devices(has_names ? devices_of(flags) : std::vector<std::string>()));
    os << text;
  } else if (flags.lists_ops) {
    if (*flags.lists_ops)
      print_markdown(operator_table(), os);
    else
      print_text(operator_table(), os);
  }
  return flags.lists_devices || flags.lists_ops;
}

std::string what_is_in(const LearnedSteps& learned) {
  const bool has_cpu = learned.has(Processor::Cpu), has_gpu = learned.has(Processor::Gpu);
  std::string text =
      llvm::formatv(
          "{0} steps learned: what was measured is {1:f2} of what the profile predicts "
          "on the {2}",
          learned.step_count(), learned.factor_of(has_cpu ? Processor::Cpu : Processor::Gpu),
          has_cpu ? "CPU" : "GPU")
          .str();
  if (has_cpu && has_gpu)
    text += llvm::formatv(", {0:f2} on the GPU", learned.factor_of(Processor::Gpu)).str();
  else
    text += llvm::formatv(", of the {0} nothing was", has_cpu ? "GPU" : "CPU").str();
  return text;
}

// Learns from every PLAN=BENCH.json of --learn. The plan at `written` (empty: none) is about to be
// replaced: then nothing measured would be of it any more.
llvm::Error learn(const CodlcFlags& flags, llvm::StringRef written, DeviceProfile& profile) {
  LearnedSteps learned;
  for (const std::string& pair : flags.learned) {
    const auto [plan_path, bench_path] = llvm::StringRef(pair).rsplit('=');
    if (plan_path.empty() || bench_path.empty())
      return input_error("--learn",
                         "expected PLAN=BENCH.json like net.codl=bench.json, found \"{0}\"", pair);
    if (!written.empty() && llvm::sys::fs::equivalent(plan_path, written))
      return input_error("--learn", "expected another plan than the one that is written, found {0}",
                         plan_path);
    CODL_ASSIGN_OR_RETURN(bytes, map_plan(plan_path));
    CODL_ASSIGN_OR_RETURN(plan,
                          open_plan(bytes->getBufferStart(), bytes->getBufferSize(), plan_path));
    CODL_ASSIGN_OR_RETURN(text, read_input(bench_path, tools::kMaxTextBytes));
    CODL_ASSIGN_OR_RETURN(measured,
                          read_measured_steps(text, bench_path, profile, flags.measured_on));
    if (llvm::Error error = learn_steps(plan, measured, bench_path, profile, learned)) return error;
  }
  if (learned.empty())
    return input_error("--learn", "expected steps that take {0:f3} ms or more, found none",
                       LearnedSteps::kMinUs / 1e3);
  if (!flags.is_quiet) tools::print_message(kTool, tools::Severity::Note, what_is_in(learned));
  profile.learned = std::move(learned);
  return llvm::Error::success();
}

// Takes the kernels of every --avoid out of those that the device is thought to have.
llvm::Error avoid_kernels(llvm::ArrayRef<std::string> avoided, DeviceProfile& profile) {
  for (const std::string& what : avoided) {
    if (what == "winograd") {
      for (const KernelInfo& kernel : kKernelInfos)
        if (kernels::winograd_outputs(kernel.packing) != 0)
          profile.unused_kernels.push_back(kernel.id);
      continue;
    }
    CODL_ASSIGN_OR_RETURN(quirks, read_input(what, tools::kMaxTextBytes));
    if (llvm::Error error = avoid_quirks(quirks, what, profile)) return error;
  }
  return llvm::Error::success();
}

// Compiles for one device. Text for stdout goes to `os`, the depfile's rule to `rule`.
llvm::Error compile_for(const std::string& device, const CodlcFlags& flags, llvm::raw_ostream& os,
                        std::string* rule) {
  CODL_ASSIGN_OR_RETURN(options, options_of(flags, os));
  CODL_ASSIGN_OR_RETURN(profile, load_device_profile(device));
  const std::string path = output_path(flags, device);
  // Learning comes before kernels are left out, because the plans that ran may have these.
  if (!flags.learned.empty())
    if (llvm::Error error = learn(flags, options.builds_plan ? path : "", profile)) return error;
  if (llvm::Error error = avoid_kernels(flags.avoided, profile)) return error;
  // A file with more bytes than protobuf reads is not read: compile() says why.
  CODL_ASSIGN_OR_RETURN(model, map_input(flags.model, UINT64_MAX));
  if (model->getBuffer().startswith({kPlanMagic, sizeof(kPlanMagic)}))
    return input_error(flags.model, "expected an ONNX model, found a plan (codl-run runs it)");
  if (model->getBuffer().ltrim().startswith("{"))
    return input_error(flags.model,
                       "expected an ONNX model, found JSON (codl-matrix reads lists of models, "
                       "--device profiles)");
  if (!flags.measured.empty()) {
    CODL_ASSIGN_OR_RETURN(text, read_input(flags.measured, tools::kMaxTextBytes));
    CODL_ASSIGN_OR_RETURN(measured,
                          read_measured_steps(text, flags.measured, profile, flags.measured_on));
    options.measured = std::move(measured);
    options.measured_path = flags.measured;
  }
  options.import.on_read = [&] { model->dontNeedIfMmap(); };
  std::optional<tools::Progress> progress;
  size_t most_steps = 0;
  if (!flags.is_quiet && devices_of(flags).size() == 1)
    options.shrink.on_step = [&](size_t count, const std::string& step) {
      if (count != most_steps) progress.emplace(kTool, most_steps = count);
      progress->step(step);
    };
  auto compiled = compile(model->getBuffer(), flags.model, profile, options);
  progress.reset();
  if (!compiled) return compiled.takeError();
  CompileResult& result = *compiled;
  if (!flags.is_quiet) {            // not among what is asked for on stdout
    std::vector<std::string> said;  // entries have warnings in common
    for (const CompileReport& report : result.reports) {
      for (const std::string& note : report.notes)
        tools::print_message(kTool, tools::Severity::Note, note);
      for (const std::string& warning :
           {report.shrink.warning, report.precision_warning, report.assumed_kernels_warning,
            report.plain_loops_warning}) {
        if (warning.empty() || llvm::is_contained(said, warning)) continue;
        tools::print_message(kTool, tools::Severity::Warning, warning);
        said.push_back(warning);
      }
    }
  }
  if (!flags.emitted_onnx.empty()) tools::write_file(flags.emitted_onnx, result.onnx);
  if (!flags.is_quiet) print(result.reports.front().shrink, os);
  if (!options.builds_plan) return llvm::Error::success();
  *rule = tools::make_rule(flags.depfile_target.empty() ? path : flags.depfile_target,
                           tools::inputs_read());
  for (const std::string& report : flags.reports)
    tools::write_file(report, llvm::StringRef(report).endswith(".html")
                                  ? report_html(result.report_json)
                                  : result.report_json);
  if (!flags.ep_context.empty()) tools::write_file(flags.ep_context, result.ep_context);
  // Last: where another output cannot be written there is no new plan.
  tools::write_file(path, {reinterpret_cast<const char*>(result.plan.data()), result.plan.size()});
  if (flags.is_quiet) return llvm::Error::success();
  print_file(result.reports.front(), path, result.plan.size(), os);
  for (const CompileReport& report : result.reports) print_report(report, options.partition, os);
  return llvm::Error::success();
}

// Prints everything that goes to stdout, even before an error.
int compile_and_print(const std::string& device, const CodlcFlags& flags, std::string* rule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const auto compile = [&] {
    try {
      return report(kTool, compile_for(device, flags, os, rule));
    } catch (const tools::ToolError&) {  // an output failed
      tools::print(os.str());
      throw;
    }
  };
  const int code = compile();
  tools::print(os.str());
  return code;
}

// Compiles for all devices at the same time. Returns the exit code of the first, in their order,
// that failed.
int compile_for_all(const std::vector<std::string>& devices, const CodlcFlags& flags,
                    std::string* rules) {
  std::vector<tools::Job> jobs;
  for (const std::string& device : devices)
    jobs.push_back(
        {device, [&](std::string* rule) { return compile_and_print(device, flags, rule); }});
  const size_t processes =
      flags.job_count > 0 ? flags.job_count : llvm::hardware_concurrency().compute_thread_count();
  std::vector<tools::JobResult> results;
  {
    std::optional<tools::Progress> progress;
    if (!flags.is_quiet) progress.emplace(kTool, devices.size());
    results = tools::run_jobs(kTool, jobs, processes, [&](size_t index) {
      if (progress) progress->step(devices[index]);
    });
  }
  const std::string messages = tools::merged_messages(jobs, results);
  std::fwrite(messages.data(), 1, messages.size(), stderr);
  int code = 0;
  for (const tools::JobResult& result : results) {
    tools::print(result.out);
    *rules += result.result;
    if (code == 0) code = result.exit_code;
  }
  return code;
}

// Checks before long work that everything that will be written can be.
llvm::Error claim_outputs(const std::vector<std::string>& devices, const CodlcFlags& flags) {
  if (!flags.out_dir.empty())
    if (const std::error_code error =
            llvm::sys::fs::create_directories(flags.out_dir, true, llvm::sys::fs::all_all))
      return input_error(flags.out_dir, "expected a folder to write to, found {0}",
                         error.message());
  for (const std::string& device : devices) tools::claim_output(output_path(flags, device));
  for (const std::string& path : flags.reports) tools::claim_output(path);
  if (!flags.depfile.empty()) tools::claim_output(flags.depfile);
  if (!flags.ep_context.empty()) tools::claim_output(flags.ep_context);
  return llvm::Error::success();
}

// Returns the exit code.
llvm::Expected<int> run(const CodlcFlags& flags) {
  std::string text;
  llvm::raw_string_ostream os(text);
  CODL_ASSIGN_OR_RETURN(is_answered, print_lists(flags, os));
  tools::print(os.str());
  if (is_answered) return 0;
  if (flags.model.empty())
    return input_error("command line", "expected MODEL.onnx, found none (see --help)");
  CODL_ASSIGN_OR_RETURN(options, options_of(flags, os));
  const std::vector<std::string> devices = devices_of(flags);
  if (!flags.emitted_onnx.empty()) tools::claim_output(flags.emitted_onnx);
  if (options.builds_plan)
    if (llvm::Error error = claim_outputs(devices, flags)) return error;
  if (!flags.shrink.search_log.empty()) tools::LogFile::check(flags.shrink.search_log, true);
  std::string rules;
  const int code = devices.size() == 1 ? compile_and_print(devices[0], flags, &rules)
                                       : compile_for_all(devices, flags, &rules);
  if (!flags.depfile.empty() && code == 0) tools::write_file(flags.depfile, rules);
  return code;
}

// Gives devices the names of their profiles, whatever names they were given by: plans are called
// so.
void name_devices(CodlcFlags& flags) {
  if (flags.device.empty()) return;
  std::vector<std::string> names = devices_of(flags);
  for (std::string& name : names) {
    if (llvm::StringRef(name).endswith(".json")) continue;
    const std::string profile = find_device(name);
    if (profile.empty() || profile == name) continue;
    if (!flags.is_quiet)
      tools::print_message(kTool, tools::Severity::Note,
                           "the profile of " + name + " is " + profile);
    name = profile;
  }
  flags.device = llvm::join(names, ",");
}

int codlc(const std::vector<std::string>& arguments) {
  CodlcFlags flags;
  const tools::Arguments parsed = parse_command_line(command_line_of(&flags), arguments);
  if (parsed.answer) {
    tools::print(*parsed.answer);
    return 0;
  }
  flags.model = only_operand(parsed, "MODEL.onnx");
  name_devices(flags);
  llvm::Expected<int> code = run(flags);
  return code ? *code : report(kTool, code.takeError());
}

}  // namespace

int main(int argc, char** argv) { return run_compiler_tool(kTool, argc, argv, codlc); }
