#include "compiler/schedule/queue_order.h"

#include <algorithm>
#include <array>
#include <deque>

#include "compiler/schedule/step_access.h"

namespace codl::compiler {
namespace {

constexpr StepId kNoStep = UINT32_MAX;
constexpr size_t index_of(Queue queue) { return static_cast<size_t>(queue); }

// Holds, by step and queue, the last earlier step of that queue that the step must wait for.
using Dependencies = std::vector<std::array<StepId, kQueueCount>>;

Dependencies find_dependencies(const ir::Graph& graph, const Schedule& schedule) {
  struct RegionUse {
    StepId step;
    Region region;
  };
  // Both are indexed by tensor. A read is checked against writes only, because thousands of steps
  // may read one tensor.
  std::vector<std::vector<RegionUse>> reads(schedule.tensors.size());
  std::vector<std::vector<RegionUse>> writes(schedule.tensors.size());
  Dependencies dependencies(schedule.steps.size());
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    std::array<StepId, kQueueCount>& last = dependencies[id];
    last.fill(kNoStep);
    const auto depend_on = [&](llvm::ArrayRef<RegionUse> uses, const Region& region) {
      for (const RegionUse& use : uses) {
        if (!region.overlaps(use.region)) continue;
        StepId& of_queue = last[index_of(schedule.steps[use.step].queue)];
        if (of_queue == kNoStep || of_queue < use.step) of_queue = use.step;
      }
    };
    for (const Access& access : accesses_of(graph, schedule, id)) {
      depend_on(writes[access.tensor], access.region);
      if (access.is_write) depend_on(reads[access.tensor], access.region);
      (access.is_write ? writes : reads)[access.tensor].push_back({id, access.region});
    }
  }
  return dependencies;
}

}  // namespace

void order_queues(const ir::Graph& graph, Schedule& schedule) {
  const Dependencies dependencies = find_dependencies(graph, schedule);
  std::array<std::deque<StepId>, kQueueCount> waiting;
  for (StepId id = 0; id < schedule.steps.size(); ++id)
    waiting[index_of(schedule.steps[id].queue)].push_back(id);

  std::vector<StepId> new_id(schedule.steps.size(), kNoStep);
  const auto is_ready = [&](StepId id) {
    return std::all_of(dependencies[id].begin(), dependencies[id].end(), [&](StepId needed) {
      return needed == kNoStep || new_id[needed] != kNoStep;
    });
  };
  // Holds, by queue and other queue, the last (new) step of the other queue that this queue is
  // known to run after.
  std::array<std::array<StepId, kQueueCount>, kQueueCount> behind;
  for (auto& row : behind) row.fill(kNoStep);

  std::vector<Step> ordered;
  std::vector<ir::NodeId> nodes;  // nodes of the steps
  ordered.reserve(schedule.steps.size());
  while (ordered.size() < schedule.steps.size()) {
    for (Queue queue : kEnqueueFirst) {
      std::deque<StepId>& steps = waiting[index_of(queue)];
      if (steps.empty() || !is_ready(steps.front())) continue;
      const StepId id = steps.front();
      steps.pop_front();
      Step step = std::move(schedule.steps[id]);
      for (size_t other = 0; other < kQueueCount; ++other) {
        const StepId needed = dependencies[id][other];
        if (needed == kNoStep || other == index_of(queue)) continue;
        StepId& known = behind[index_of(queue)][other];
        if (known != kNoStep && known >= new_id[needed]) continue;
        known = new_id[needed];
        step.waits.push_back(known);
      }
      std::sort(step.waits.begin(), step.waits.end());
      new_id[id] = static_cast<StepId>(ordered.size());
      ordered.push_back(std::move(step));
      nodes.push_back(schedule.nodes[id]);
      break;
    }
  }
  schedule.steps = std::move(ordered);
  schedule.nodes = std::move(nodes);
}

void choose_host_calls(Variant& variant, const TransferCosts& transfer) {
  variant.is_recorded = transfer.records() && llvm::any_of(variant.steps, [](const Step& step) {
                          return step.queue == Queue::Gpu;
                        });
  for (Step& step : variant.steps) {
    step.wait_kinds.clear();
    // There are no flags beside a queue of transfers.
    if (transfer.wait_kind(step.queue == Queue::Gpu) == WaitKind::Flag)
      step.wait_kinds.assign(step.waits.size(), WaitKind::Flag);
  }
}

}  // namespace codl::compiler
