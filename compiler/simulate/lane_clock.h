// The clock of steps on lanes: from event to event, a step's start or end.
#pragma once

#include <algorithm>

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
  //   bool has_next(size_t lane)           whether there is one
  //   double ready_us(size_t lane)         when it may start; kNotReadyUs while it waits for one
  //   not done double start(size_t lane, double us) it starts then; returns what it takes at full
  //   speed void finish(size_t lane, double us)  it ends then: the lane is at the next one
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

}  // namespace codl::compiler
