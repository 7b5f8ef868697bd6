#include "compiler/simulate/timing/host_steps.h"

#include "compiler/schedule/queue_order.h"
#include "compiler/simulate/timing/host_calls.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

HostSteps::HostSteps(const ir::Graph& graph, const LatencyPredictor& predictor)
    : graph_(graph), predictor_(predictor) {
  variant_.gate = predictor.profile().gate;
  variant_.tensors.resize(graph.values().size() * kTensorSlots + 1);
  variant_.tensors[weights_tensor()].storage = Storage::Weights;
}

void HostSteps::place(ir::ValueId value, const ValueTensors& value_tensors) {
  for (uint32_t slot = 0; slot < kTensorSlots; ++slot) {
    Tensor& tensor = variant_.tensors[tensor_id(value, static_cast<TensorSlot>(slot))];
    tensor.shape = value_tensors.tensors[slot].shape;
    tensor.storage = value_tensors.tensors[slot].storage;
  }
}

Step HostSteps::step_of(const PlannedStep& planned) const {
  Step step;
  step.kind = planned.kind;
  step.queue = planned.queue;
  step.kernel = planned.kernel;
  if (planned.node != ir::kNoId) step.params = graph_.node(planned.node).params.words();
  for (const TensorId operand : planned.operands)
    step.operands.push_back(operand == kNoTensor ? weights_tensor() : operand);
  step.part_dim = planned.part_dim;
  step.part = planned.part;
  return step;
}

double HostSteps::time_us(const std::vector<QueueItem> (&queues)[kQueueCount]) {
  variant_.steps.clear();
  std::vector<QueueStep> steps;
  std::array<std::vector<StepId>, kQueueCount> ids;  // indexed by queue: its steps
  // Holds, by [queue][other], how many steps of the other queue the queue is known to run after.
  std::array<std::array<uint32_t, kQueueCount>, kQueueCount> behind = {};
  const auto list_next = [&](Queue of) {
    const auto queue = static_cast<size_t>(of);
    const size_t at = ids[queue].size();
    if (at == queues[queue].size()) return false;
    const QueueItem& item = queues[queue][at];
    for (size_t other = 0; other < kQueueCount; ++other)
      if (item.needs[other] != kNoNeed && item.needs[other] >= ids[other].size()) return false;
    ids[queue].push_back(static_cast<StepId>(steps.size()));
    Step& listed = variant_.steps.emplace_back(*item.listed);
    for (size_t other = 0; other < kQueueCount; ++other) {
      const uint32_t need = item.needs[other];
      if (need == kNoNeed || need < behind[queue][other]) continue;
      behind[queue][other] = need + 1;
      listed.waits.push_back(ids[other][need]);
    }
    llvm::sort(listed.waits);
    QueueStep& step = steps.emplace_back();
    step.queue = static_cast<uint8_t>(queue);
    step.alone_us = item.time.alone.us;
    step.launch_us = item.time.launch_us;
    step.memory_bytes = item.time.alone.memory_bytes;
    for (const StepId wait : listed.waits) step.waits.push_back({wait});
    return true;
  };
  while (llvm::any_of(kEnqueueFirst, list_next)) {
  }
  choose_host_calls(variant_, predictor_.transfer());
  steps = with_host_calls(variant_, std::move(steps), predictor_);
  return run_queues(steps, predictor_.profile(), {}, Clock::Wall).total_us;
}

}  // namespace codl::compiler
