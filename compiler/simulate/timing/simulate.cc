#include "compiler/simulate/timing/simulate.h"

#include "compiler/device/latency_predictor.h"
#include "compiler/simulate/timing/host_calls.h"
#include "compiler/support/error.h"
#include "llvm/Support/Format.h"

namespace codl::compiler {

namespace {

// Limits times to thirty years: plans hold them as floats, and searches count nanoseconds in 64
// bits.
constexpr double kMaxPredictedUs = 1e15;

}  // namespace

double weight_mbytes(const Variant& variant) {
  double bytes = 0;
  for (const Tensor& tensor : variant.tensors)
    if (tensor.storage == Storage::Weights) bytes += static_cast<double>(tensor.shape.bytes);
  return bytes * 1e-6;
}

llvm::Expected<std::vector<QueueStep>> bare_steps_of(const Variant& variant,
                                                     const LatencyPredictor& predictor) {
  std::vector<QueueStep> steps;
  for (const Step& step : variant.steps) {
    QueueStep& added = steps.emplace_back();
    added.queue = static_cast<uint8_t>(step.queue);
    added.name = step.name;
    for (StepId wait : step.waits) added.waits.push_back({wait});
    if (step.kernel != nullptr) {
      if (!predictor.can_predict(*step.kernel))
        return input_error(step.name,
                           "expected a kernel that the device of profile {0} runs, found {1}",
                           predictor.profile().name, step.kernel->symbol);
      added.launch_us = predictor.launch_us(variant, step);
      added.kernel = step.kernel->symbol;
    }
    const StepDemand demand = predictor.demand(variant, step);
    added.alone_us = demand.us;
    added.memory_bytes = demand.memory_bytes;
    added.open = demand.open;
  }
  return steps;
}

llvm::Expected<std::vector<QueueStep>> queue_steps_of(const Variant& variant,
                                                      const DeviceProfile& profile) {
  const LatencyPredictor predictor(profile, weight_mbytes(variant));
  CODL_ASSIGN_OR_RETURN(steps, bare_steps_of(variant, predictor));
  return with_host_calls(variant, std::move(steps), predictor);
}

std::vector<Timeline::Span> step_spans(const Variant& variant, llvm::ArrayRef<QueueStep> steps,
                                       const Timeline& timeline) {
  std::vector<Timeline::Span> spans;
  // The wait for the queues, which is no call either, comes last.
  for (size_t i = 0; i < steps.size() && spans.size() < variant.steps.size(); ++i)
    if (steps[i].called_queue == kNoQueue) spans.push_back(timeline.spans[i]);
  return spans;
}

llvm::Error predict(Variant& variant, const DeviceProfile& profile) {
  const LatencyPredictor predictor(profile, weight_mbytes(variant));
  CODL_ASSIGN_OR_RETURN(steps, bare_steps_of(variant, predictor));
  for (StepId id = 0; id < steps.size(); ++id)
    variant.steps[id].predicted_us = steps[id].alone_us + steps[id].launch_us;
  steps = with_host_calls(variant, std::move(steps), predictor);
  variant.predicted_us = run_queues(steps, profile, {}, Clock::Wall).total_us;
  if (!(variant.predicted_us <= kMaxPredictedUs))
    return input_error(
        "profile " + profile.name, "expected a network that takes {0} ms at most, found {1}",
        llvm::format("%g", kMaxPredictedUs / 1e3), llvm::format("%g", variant.predicted_us / 1e3));
  return llvm::Error::success();
}

}  // namespace codl::compiler
