#include "compiler/simulate/measured/learn_steps.h"

#include <algorithm>

#include "compiler/simulate/timing/simulate.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

// No profile is that far off; such a file belongs to something else.
constexpr double kMaxFactor = 1000;

// Measured times include what both processors take of each other. So the ratio is to the prediction
// of the step in its place in the run, not of the step alone.
llvm::Error learn_variant(const Variant& variant, const MeasuredSteps& measured,
                          llvm::StringRef path, const DeviceProfile& profile,
                          LearnedSteps& learned) {
  const LatencyPredictor predictor(profile, weight_mbytes(variant));
  for (const Step& step : variant.steps)
    if (step.kernel != nullptr && !predictor.can_predict(*step.kernel))
      return input_error(
          path,
          "expected steps of a plan that the device of profile {0} runs, found {1} of \"{2}\"",
          profile.name, step.kernel->symbol, step.name);
  CODL_ASSIGN_OR_RETURN(steps, queue_steps_of(variant, profile));
  // On CoDL's clock a GPU step begins where it is computed, as events say.
  const auto spans = step_spans(variant, steps, run_queues(steps, profile, {}, Clock::Codl));
  for (StepId id = 0; id < variant.steps.size(); ++id) {
    const Step& step = variant.steps[id];
    const double measured_us = measured.steps[id].median_us;
    if (step.kind != StepKind::Kernel) continue;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    const kernels::StepShape shape = variant.shape_of(step, shapes);
    const double placed_us = spans[id].end_us - spans[id].start_us;
    if (shape.is_in_place || std::min(placed_us, measured_us) < LearnedSteps::kMinUs) continue;
    if (std::max(measured_us / placed_us, placed_us / measured_us) > kMaxFactor)
      return input_error(
          path,
          "expected a time of \"{0}\" within {1} times the {2:f4} ms that profile {3} "
          "predicts, found {4:f4}",
          step.name, kMaxFactor, placed_us / 1e3, profile.name, measured_us / 1e3);
    const double alone_us = predictor.demand(shape).us;
    learned.add(shape, alone_us, measured_us * alone_us / placed_us);
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Error learn_steps(const PlanModel& plan, const std::vector<MeasuredSteps>& measured,
                        llvm::StringRef path, const DeviceProfile& profile, LearnedSteps& learned) {
  bool has_any = false;
  for (const PlanEntry& entry : plan.entries)
    for (const Variant& variant : entry.variants) {
      CODL_ASSIGN_OR_RETURN(of_variant, measured_steps_of(measured, path, entry.name, variant));
      if (of_variant == nullptr) continue;
      has_any = true;
      if (llvm::Error error = learn_variant(variant, *of_variant, path, profile, learned))
        return error;
    }
  if (!has_any)
    return input_error(path, "expected steps of a variant of the plan, found {0}",
                       measured.empty() ? "none" : "\"" + measured.front().variant + "\"");
  return llvm::Error::success();
}

}  // namespace codl::compiler
