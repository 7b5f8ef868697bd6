// Lists the steps of a plan that has no schedule, in the order in which the host gives them to the
// queues.
#pragma once

#include <array>
#include <vector>

#include "compiler/partition/step_times.h"
#include "schema/plan_model.h"

namespace codl::compiler {

inline constexpr uint32_t kNoNeed = UINT32_MAX;

// Describes a step in its queue.
struct QueueItem {
  StepTime time;
  // Holds, by queue, the last step there before it, or kNoNeed.
  std::array<uint32_t, kQueueCount> needs;
  const Step* listed = nullptr;  // as HostSteps has it
};

class HostSteps {
 public:
  // Borrows both.
  HostSteps(const ir::Graph& graph, const LatencyPredictor& predictor);

  // Returns true if the profile says what the host's calls take. Else nothing below is asked for.
  bool has_calls() const { return predictor_.transfer().host.has_value(); }

  // Notes where a value lives now.
  void place(ir::ValueId value, const ValueTensors& value_tensors);

  // Makes the step as the host sees it, without waits.
  Step step_of(const PlannedStep& planned) const;

  // Returns what predict() says of the steps' schedule. Lists them as order_queues() does.
  double time_us(const std::vector<QueueItem> (&queues)[kQueueCount]);

 private:
  // Constants have one tensor together: the time of a step knows their sizes.
  TensorId weights_tensor() const { return static_cast<TensorId>(variant_.tensors.size() - 1); }

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  Variant variant_;  // tensors by tensor_id(), without names
};

}  // namespace codl::compiler
