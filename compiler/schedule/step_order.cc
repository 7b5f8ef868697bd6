#include "compiler/schedule/step_order.h"

#include <algorithm>

namespace codl::compiler {

StepOrder::StepOrder(const Variant& variant)
    : done_(variant.steps.size()), queue_(variant.steps.size()) {
  Done after_latest[kQueueCount];  // indexed by queue: the steps done after the queue's latest step
  for (StepId step = 0; step < variant.steps.size(); ++step) {
    const auto queue = static_cast<uint8_t>(variant.steps[step].queue);
    queue_[step] = queue;
    Done& done = done_[step];
    done = after_latest[queue];
    for (StepId wait : variant.steps[step].waits) {
      // A wait for a step that is not earlier can never end, so it proves no order.
      if (wait >= step) continue;
      for (size_t i = 0; i < done.count.size(); ++i)
        done.count[i] = std::max(done.count[i], done_[wait].count[i]);
      done.count[queue_[wait]] = std::max(done.count[queue_[wait]], wait + 1);
    }
    after_latest[queue] = done;
    after_latest[queue].count[queue] = step + 1;
  }
}

}  // namespace codl::compiler
