// The clock of steps on lanes: from event to event, a step's start or end.
#pragma once

#include <algorithm>
#include <vector>

#include "compiler/simulate/timeline.h"

namespace codl::compiler {

inline constexpr double kNotReadyUs = 1e300;

// What makes lanes slower than their steps say.
struct LaneConditions {
  double slow_down[kLaneCount] = {1, 1, 1};
  double disturbance[2] = {};
  double contention[2] = {};

  LaneConditions(const DeviceProfile& profile, const SimulatedLoad& load) {
    slow_down[0] = 1 / (1 - std::clamp(load.cpu_percent, 0.0, 90.0) / 100);
    slow_down[1] = 1 / (1 - std::clamp(load.gpu_frame_percent, 0.0, 90.0) / 100);
    for (size_t lane = 0; lane < 2; ++lane) {
      disturbance[lane] = profile.disturbance_percent[lane].value / 100;
      contention[lane] = profile.exchange.contention_percent[lane].value / 100;
    }
  }

  // Both lanes have a part in a hand-off.
  double handed_over_us(double us) const { return us * (1 + disturbance[0] + disturbance[1]); }

  double factor(size_t lane, const bool (&runs)[kLaneCount]) const {
    if (lane >= 2) return slow_down[lane];
    const bool is_alone = !runs[0] || !runs[1];
    // What disturbs one lane, for longer than steps take, holds up the other at their next join: of
    // lanes that are disturbed at different times both lose what either does.
    const double both = disturbance[lane] + (is_alone ? 0 : disturbance[1 - lane]);
    return slow_down[lane] * (1 + both) * (is_alone ? 1 : 1 + contention[lane]);
  }
};

// Plain data: a copy is a point in time that can be gone on from.
struct LaneClock {
  double now_us = 0;
  double left_us[kLaneCount] = {};  // of the lane's step, at full speed
  bool is_started[kLaneCount] = {};
  double busy_us[kLaneCount] = {};
  double overlap_us = 0;

  // To the next event; false if there is none. `lanes`, of the step that a lane is at:
  //
  //   bool has_next(size_t lane)              whether there is one
  //   double ready_us(size_t lane)            when it may start; kNotReadyUs: not known yet
  //   double start(size_t lane, double us)    it starts then; what it takes at full speed
  //   void finish(size_t lane, double us)     it ends then: the lane is at its next one
  template <typename Lanes>
  bool advance(Lanes& lanes, const LaneConditions& conditions) {
    bool runs[kLaneCount];
    bool has_step = false;
    double soonest_us = kNotReadyUs;  // the next event
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      const bool has_next = lanes.has_next(lane);
      has_step |= has_next;
      const double ready_us = has_next ? lanes.ready_us(lane) : kNotReadyUs;
      runs[lane] = ready_us <= now_us;
      if (!runs[lane]) soonest_us = std::min(soonest_us, ready_us);
      if (!runs[lane] || is_started[lane]) continue;
      is_started[lane] = true;
      left_us[lane] = lanes.start(lane, now_us);
    }
    if (!has_step) return false;
    for (size_t lane = 0; lane < kLaneCount; ++lane)
      if (runs[lane])
        soonest_us = std::min(soonest_us, now_us + left_us[lane] * conditions.factor(lane, runs));
    pass(soonest_us, runs, lanes, conditions);
    return true;
  }

 private:
  template <typename Lanes>
  void pass(double until_us, const bool (&runs)[kLaneCount], Lanes& lanes,
            const LaneConditions& conditions) {
    const double elapsed_us = until_us - now_us;
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      if (!runs[lane]) continue;
      busy_us[lane] += elapsed_us;
      const double factor = conditions.factor(lane, runs);
      // Compared as the event was computed: in a long time rounding may leave nothing elapsed.
      const bool ends = now_us + left_us[lane] * factor <= until_us;
      left_us[lane] -= elapsed_us / factor;
      // 1e-9: what rounding leaves of a step that ends now.
      if (!ends && left_us[lane] > 1e-9) continue;
      is_started[lane] = false;
      lanes.finish(lane, until_us);
    }
    if (runs[0] && runs[1]) overlap_us += elapsed_us;
    now_us = until_us;
  }
};

// The steps of one run in their lanes' order.
class LaneQueues {
 public:
  // Borrows both. The run begins at begin().
  LaneQueues(llvm::ArrayRef<LaneStep> steps, const LaneConditions& conditions)
      : steps_(steps), conditions_(conditions), end_us_(steps.size()) {}

  void begin(double us) {
    begin_us_ = us;
    std::fill(end_us_.begin(), end_us_.end(), kNotReadyUs);
    for (size_t lane = 0; lane < kLaneCount; ++lane) next_[lane] = following(lane, 0);
  }

  // The lane's first step that has not ended; all steps' count: there is none.
  size_t next(size_t lane) const { return next_[lane]; }
  bool has_next(size_t lane) const { return next_[lane] < steps_.size(); }

  double ready_us(size_t lane) const {
    const LaneStep& step = steps_[next_[lane]];
    double ready_us = begin_us_;
    for (const LaneWait& wait : step.waits) {
      if (end_us_[wait.step] == kNotReadyUs) return kNotReadyUs;
      ready_us = std::max(ready_us, end_us_[wait.step] + conditions_.handed_over_us(wait.us));
    }
    return ready_us + conditions_.handed_over_us(step.hand_off_us);
  }

  // What the lane's next step takes at full speed, on the wall's clock.
  double wall_us(size_t lane) const {
    const LaneStep& step = steps_[next_[lane]];
    // What that lane was given before stands before this step.
    const bool is_idle_call = step.called_lane != kNoLane && next_[step.called_lane] > next_[lane];
    return is_idle_call ? step.idle_us : step.alone_us + step.launch_us;
  }

  void finish(size_t lane, double us) {
    end_us_[next_[lane]] = us;
    next_[lane] = following(lane, next_[lane] + 1);
  }

 private:
  size_t following(size_t lane, size_t begin) const {
    while (begin < steps_.size() && steps_[begin].lane != lane) ++begin;
    return begin;
  }

  llvm::ArrayRef<LaneStep> steps_;
  const LaneConditions& conditions_;
  std::vector<double> end_us_;  // by step; kNotReadyUs: it has not ended
  size_t next_[kLaneCount] = {};
  double begin_us_ = 0;
};

}  // namespace codl::compiler
