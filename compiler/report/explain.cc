#include "compiler/report/explain.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/partition/kernel_choice.h"
#include "compiler/report/alternatives.h"
#include "compiler/simulate/timing/simulate.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "llvm/Support/FormatVariadic.h"
#include "tools/nearest.h"
#include "tools/printable.h"

namespace codl::compiler {
namespace {

// "compute 0.8120 ms, l2 0.0315 ms": largest first, without what is less than a thousandth.
std::string terms_text(const TermTimes& times, const Shares& shares) {
  std::vector<std::pair<double, std::string>> terms;
  double sum_us = 0;
  const auto add = [&](double us, std::string name) {
    terms.emplace_back(us, std::move(name));
    sum_us += us;
  };
  for (int term = 0; term < kTermCount; ++term)
    add(times.us[term] * shares.of[term], kTermNames[term]);
  for (const JointShare& joint : shares.joints())
    add(joint_us(times, joint) * joint.share, name_of(joint));
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [us, name] : terms)
    if (us > sum_us * 1e-3)
      text += llvm::formatv("{0}{1} {2:f4} ms", text.empty() ? "" : ", ", name, us / 1e3);
  return text;
}

std::string kernel_text(const kernels::StepShape& step, const LatencyPredictor& predictor) {
  const Calibration& known = predictor.profile().calibration_of(*step.kernel);
  const double us = predictor.predict_us(step, false);
  const LearnedSteps::Correction learned = predictor.correction(step);
  // No shares are known of halves.
  const char* const of = step.operands[0].dtype == DType::F16 ? " of floats" : "";
  std::string text = llvm::formatv(
      "{0,-30} {1,10:f4} ms ({2:f4} to {3:f4})  {4}{5}, {6}: {7}", step.kernel->symbol, us / 1e3,
      us * std::pow(known.interval_low, learned.open) / 1e3,
      us * std::pow(known.interval_high, learned.open) / 1e3,
      kLevelNames[static_cast<size_t>(known.level)], of, name_of(known.origin),
      terms_text(predictor.times(step), known.shares));
  if (!predictor.profile().learned.empty())
    text += llvm::formatv("; x {0:f3} learned", learned.factor);
  if (const double launch_us = predictor.launch_us(step); launch_us > 0)
    text += llvm::formatv(", launch {0:f4} ms", launch_us / 1e3);
  return text + "\n";
}

std::string part_text(const Step& step) {
  if (step.part_dim == SplitDim::None || step.part.empty()) return "";
  return llvm::formatv(" {0} [{1}, {2})", step.part_dim == SplitDim::Height ? "rows" : "channels",
                       step.part.begin, step.part.end);
}

std::string step_text(const Variant& variant, StepId id, const QueueStep& queue_step,
                      const LatencyPredictor& predictor) {
  constexpr const char* kQueues[] = {"cpu", "gpu", "copy"};
  const Step& step = variant.steps[id];
  std::string text =
      llvm::formatv("  {0,-4}{1}", kQueues[static_cast<size_t>(step.queue)], part_text(step));
  if (step.kind == StepKind::Kernel) {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    text += " " + kernel_text(variant.shape_of(step, shapes), predictor);
  } else {
    text += llvm::formatv(" transfer {0:f4} ms\n", predictor.step_us(variant, step) / 1e3).str();
  }
  if (!step.waits.empty()) {
    double synchronisation_us = queue_step.synchronisation_us;
    for (const QueueWait& wait : queue_step.waits)
      synchronisation_us = std::max(synchronisation_us, wait.us);
    text += llvm::formatv("       waits for the other processor: synchronisation {0:f4} ms\n",
                          synchronisation_us / 1e3);
  }
  return text;
}

}  // namespace

llvm::Expected<std::string> explain(const ir::Graph& graph, const Variant& variant,
                                    const DeviceProfile& profile, llvm::StringRef node) {
  const LatencyPredictor predictor(profile, weight_mbytes(variant));  // as predict() has it
  std::vector<std::string> names;
  for (const ir::Node& known : graph.nodes()) names.push_back(known.name);
  if (!node.empty() && !llvm::is_contained(names, node))
    return input_error("--explain", "expected a node of the graph (--dump=graph), found \"{0}\"{1}",
                       node, tools::suggestion({node.data(), node.size()}, names));
  CODL_ASSIGN_OR_RETURN(queue_steps, bare_steps_of(variant, predictor));
  for (QueueStep& step : queue_steps)
    if (!step.waits.empty())
      step.synchronisation_us = predictor.transfer().synchronisation_us(0, step.queue != 0);
  std::string text =
      llvm::formatv("variant {0}: predicted {1:f4} ms\n", variant.name, variant.predicted_us / 1e3);
  for (const ir::Node& of : graph.nodes()) {
    if (!node.empty() && of.name != node) continue;
    std::string steps;
    for (StepId id = 0; id < variant.steps.size(); ++id)
      if (variant.steps[id].name == of.name)
        steps += step_text(variant, id, queue_steps[id], predictor);
    if (steps.empty() && node.empty()) continue;
    text += tools::printable(of.name) + " (" + std::string(op_info(of.op).name) + ")\n" + steps +
            "    kernels that could run all of it:\n";
    for (const Processor processor : {Processor::Cpu, Processor::Gpu})
      if (processor == Processor::Cpu || profile.has_gpu)
        each_kernel({graph, of}, processor, predictor, [&](const kernels::StepShape& step) {
          text += "      " + kernel_text(step, predictor);
        });
  }
  return text;
}

llvm::Error print_explanation(const ir::Graph& graph, const Candidate& variant,
                              const LatencyPredictor& predictor, const PlanLimits& limits,
                              const Printouts& prints) {
  if (!prints.explained_node || prints.to == nullptr) return llvm::Error::success();
  const std::string& node = *prints.explained_node;
  CODL_ASSIGN_OR_RETURN(text, explain(graph, variant.schedule, predictor.profile(), node));
  CODL_ASSIGN_OR_RETURN(others, explain_alternatives(graph, variant, predictor, limits, node));
  *prints.to << text << others;
  return llvm::Error::success();
}

}  // namespace codl::compiler
