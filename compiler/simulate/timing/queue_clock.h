// Runs the clock of steps on queues, from event to event: starts and ends of steps.
#pragma once

#include <algorithm>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/simulate/timing/timeline.h"

namespace codl::compiler {

inline constexpr double kNotReadyUs = 1e300;

// Holds conditions that make queues slower than their steps say.
struct QueueConditions {
  double slow_down[kQueueCount] = {1, 1, 1};
  double interference[2] = {};
  double contention[2] = {};
  double memory_gb_per_s = 0;  // 0: no limit

  QueueConditions(const DeviceProfile& profile, const SimulatedLoad& load) {
    slow_down[0] = 1 / (1 - std::clamp(load.cpu_percent, 0.0, 90.0) / 100);
    slow_down[1] = 1 / (1 - std::clamp(load.gpu_frame_percent, 0.0, 90.0) / 100);
    for (size_t queue = 0; queue < 2; ++queue) {
      interference[queue] = profile.interference_percent[queue].value / 100;
      contention[queue] = profile.transfer.contention_percent[queue].value / 100;
    }
    memory_gb_per_s = profile.transfer.memory_gb_per_s.value;
  }

  // Both queues have a part in a synchronisation.
  double with_interference_us(double us) const {
    return us * (1 + interference[0] + interference[1]);
  }

  // Returns how many times as long as alone the queue's step takes, beside those that run;
  // `gb_per_s` is what each asks of the memory.
  double factor(size_t queue, const bool (&runs)[kQueueCount],
                const double (&gb_per_s)[kQueueCount]) const {
    if (queue >= 2) return slow_down[queue];
    const bool is_alone = !runs[0] || !runs[1];
    // Interference lasts longer than a step, and the other queue waits at the next join, so that
    // both queues lose what either loses.
    const double both = interference[queue] + (is_alone ? 0 : interference[1 - queue]);
    const double alone = slow_down[queue] * (1 + both);
    if (is_alone) return alone;
    return alone * (1 + contention[queue]) *
           memory_slow_down(memory_gb_per_s, gb_per_s[0], gb_per_s[1]);
  }
};

// Holds plain data: a copy is a point in time that can be gone on from.
struct QueueClock {
  double now_us = 0;
  double left_us[kQueueCount] = {};   // rest of the queue's step, at full speed
  double gb_per_s[kQueueCount] = {};  // that it asks of the memory
  bool is_started[kQueueCount] = {};
  double busy_us[kQueueCount] = {};
  double overlap_us = 0;

  // Goes to the next event; returns false if there is none. `queues` answers for the step that a
  // queue is at:
  //
  //   bool has_next(size_t queue)              whether there is one
  //   double ready_us(size_t queue)            when it may start; kNotReadyUs: not known yet
  //   StepDemand start(size_t queue, double us) it starts then
  //   void finish(size_t queue, double us)     it ends then: the queue is at its next one
  template <typename Queues>
  bool advance(Queues& queues, const QueueConditions& conditions) {
    bool runs[kQueueCount];
    bool has_step = false;
    double soonest_us = kNotReadyUs;  // time of the next event
    for (size_t queue = 0; queue < kQueueCount; ++queue) {
      const bool has_next = queues.has_next(queue);
      has_step |= has_next;
      const double ready_us = has_next ? queues.ready_us(queue) : kNotReadyUs;
      runs[queue] = ready_us <= now_us;
      if (!runs[queue]) soonest_us = std::min(soonest_us, ready_us);
      if (!runs[queue] || is_started[queue]) continue;
      is_started[queue] = true;
      const StepDemand demand = queues.start(queue, now_us);
      left_us[queue] = demand.us;
      gb_per_s[queue] = memory_demand(demand.memory_bytes, demand.us);
    }
    if (!has_step) return false;
    for (size_t queue = 0; queue < kQueueCount; ++queue)
      if (runs[queue])
        soonest_us = std::min(soonest_us,
                              now_us + left_us[queue] * conditions.factor(queue, runs, gb_per_s));
    pass(soonest_us, runs, queues, conditions);
    return true;
  }

 private:
  template <typename Queues>
  void pass(double until_us, const bool (&runs)[kQueueCount], Queues& queues,
            const QueueConditions& conditions) {
    const double elapsed_us = until_us - now_us;
    for (size_t queue = 0; queue < kQueueCount; ++queue) {
      if (!runs[queue]) continue;
      busy_us[queue] += elapsed_us;
      const double factor = conditions.factor(queue, runs, gb_per_s);
      // It is compared as the event was computed: in a long time rounding may leave nothing
      // elapsed.
      const bool ends = now_us + left_us[queue] * factor <= until_us;
      left_us[queue] -= elapsed_us / factor;
      // Rounding may leave 1e-9 of a step that ends now.
      if (!ends && left_us[queue] > 1e-9) continue;
      is_started[queue] = false;
      queues.finish(queue, until_us);
    }
    if (runs[0] && runs[1]) overlap_us += elapsed_us;
    now_us = until_us;
  }
};

// Walks the steps of one run in their queues' order.
class QueueWalk {
 public:
  // Borrows both. The run begins at begin().
  QueueWalk(llvm::ArrayRef<QueueStep> steps, const QueueConditions& conditions)
      : steps_(steps), conditions_(conditions), end_us_(steps.size()) {}

  void begin(double us) {
    begin_us_ = us;
    std::fill(end_us_.begin(), end_us_.end(), kNotReadyUs);
    for (size_t queue = 0; queue < kQueueCount; ++queue) next_[queue] = following(queue, 0);
  }

  // Returns the queue's first step that has not ended, or the count of all steps if there is none.
  size_t next(size_t queue) const { return next_[queue]; }
  bool has_next(size_t queue) const { return next_[queue] < steps_.size(); }

  double ready_us(size_t queue) const {
    const QueueStep& step = steps_[next_[queue]];
    double ready_us = begin_us_;
    for (const QueueWait& wait : step.waits) {
      if (end_us_[wait.step] == kNotReadyUs) return kNotReadyUs;
      ready_us = std::max(ready_us, end_us_[wait.step] + conditions_.with_interference_us(wait.us));
    }
    return ready_us + conditions_.with_interference_us(step.synchronisation_us);
  }

  // Returns the demand of the queue's next step, on the wall's clock.
  StepDemand wall_demand(size_t queue) const {
    const QueueStep& step = steps_[next_[queue]];
    // The steps that the other queue was given before this one come first in the list.
    const bool is_idle_call =
        step.called_queue != kNoQueue && next_[step.called_queue] > next_[queue];
    if (is_idle_call) return {step.idle_us};
    return {step.alone_us + step.launch_us, step.memory_bytes};
  }

  void finish(size_t queue, double us) {
    end_us_[next_[queue]] = us;
    next_[queue] = following(queue, next_[queue] + 1);
  }

 private:
  size_t following(size_t queue, size_t begin) const {
    while (begin < steps_.size() && steps_[begin].queue != queue) ++begin;
    return begin;
  }

  llvm::ArrayRef<QueueStep> steps_;
  const QueueConditions& conditions_;
  std::vector<double> end_us_;  // indexed by step; kNotReadyUs: it has not ended
  size_t next_[kQueueCount] = {};
  double begin_us_ = 0;
};

}  // namespace codl::compiler
