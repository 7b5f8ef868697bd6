#include "compiler/simulate/timeline.h"

#include <algorithm>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {

namespace {

constexpr double kNever = 1e300;

class LaneSimulation {
 public:
  explicit LaneSimulation(llvm::ArrayRef<LaneStep> steps) : steps_(steps), is_done_(steps.size()) {
    for (const LaneStep& step : steps) left_us_.push_back(step.alone_us);
    result_.spans.resize(steps.size());
    for (size_t lane = 0; lane < kLaneCount; ++lane) next_[lane] = following(lane, 0);
  }

  void add_conditions(const DeviceProfile& profile, const SimulatedLoad& load, Clock clock) {
    slow_down_[0] = 1 / (1 - std::clamp(load.cpu_percent, 0.0, 90.0) / 100);
    slow_down_[1] = 1 / (1 - std::clamp(load.gpu_frame_percent, 0.0, 90.0) / 100);
    for (size_t lane = 0; lane < 2; ++lane) {
      disturbance_[lane] = profile.disturbance_percent[lane].value / 100;
      contention_[lane] = profile.exchange.contention_percent[lane].value / 100;
    }
    has_calls_ = clock == Clock::Wall;
    for (size_t i = 0; i < steps_.size(); ++i)
      if (has_calls_) left_us_[i] += steps_[i].launch_us;
  }

  // A lane's step starts or ends at each event.
  Timeline run() {
    while (
        std::any_of(next_, next_ + kLaneCount, [&](size_t step) { return step < steps_.size(); })) {
      bool runs[kLaneCount];
      double soonest_us = kNever;  // the next event
      for (size_t lane = 0; lane < kLaneCount; ++lane) {
        const double ready_us = next_[lane] < steps_.size() ? ready_time_us(next_[lane]) : kNever;
        runs[lane] = ready_us <= now_us_;
        if (!runs[lane]) soonest_us = std::min(soonest_us, ready_us);
        if (runs[lane] && !is_started_[lane]) start(lane);
      }
      for (size_t lane = 0; lane < kLaneCount; ++lane)
        if (runs[lane])
          soonest_us = std::min(soonest_us, now_us_ + left_us_[next_[lane]] * factor(lane, runs));
      advance(soonest_us, runs);
    }
    result_.total_us = now_us_;
    return std::move(result_);
  }

 private:
  size_t following(size_t lane, size_t begin) const {
    while (begin < steps_.size() && steps_[begin].lane != lane) ++begin;
    return begin;
  }

  // Both lanes have a part in it.
  double handed_over_us(double us) const { return us * (1 + disturbance_[0] + disturbance_[1]); }

  // When the step may start; never while it waits for a step that is not done.
  double ready_time_us(size_t index) const {
    double ready_us = 0;
    for (const LaneWait& wait : steps_[index].waits) {
      if (!is_done_[wait.step]) return kNever;
      ready_us = std::max(ready_us, result_.spans[wait.step].end_us + handed_over_us(wait.us));
    }
    return ready_us + handed_over_us(steps_[index].hand_off_us);
  }

  void start(size_t lane) {
    const size_t index = next_[lane];
    const LaneStep& step = steps_[index];
    is_started_[lane] = true;
    result_.spans[index].start_us = now_us_;
    if (step.called_lane == kNoLane) return;
    // What that lane was given before stands before this step.
    if (next_[step.called_lane] > index) left_us_[index] = step.idle_us;
    if (!has_calls_) left_us_[index] = 0;
  }

  double factor(size_t lane, const bool (&runs)[kLaneCount]) const {
    if (lane >= 2) return slow_down_[lane];
    const bool is_alone = !runs[0] || !runs[1];
    // What disturbs one lane, for longer than steps take, holds up the other at their next join: of
    // lanes that are disturbed at different times both lose what either does.
    const double disturbance = disturbance_[lane] + (is_alone ? 0 : disturbance_[1 - lane]);
    return slow_down_[lane] * (1 + disturbance) * (is_alone ? 1 : 1 + contention_[lane]);
  }

  void advance(double until_us, const bool (&runs)[kLaneCount]) {
    const double elapsed_us = until_us - now_us_;
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      if (!runs[lane]) continue;
      const size_t index = next_[lane];
      result_.busy_us[lane] += elapsed_us;
      // Compared as the event was computed: in a long time rounding may leave nothing elapsed.
      const bool ends = now_us_ + left_us_[index] * factor(lane, runs) <= until_us;
      left_us_[index] -= elapsed_us / factor(lane, runs);
      // 1e-9: what rounding leaves of a step that ends now.
      if (!ends && left_us_[index] > 1e-9) continue;
      result_.spans[index].end_us = until_us;
      is_done_[index] = true;
      is_started_[lane] = false;
      next_[lane] = following(lane, index + 1);
    }
    if (runs[0] && runs[1]) result_.overlap_us += elapsed_us;
    now_us_ = until_us;
  }

  llvm::ArrayRef<LaneStep> steps_;
  double slow_down_[kLaneCount] = {1, 1, 1};
  double disturbance_[2] = {};
  double contention_[2] = {};
  bool has_calls_ = true;
  std::vector<double> left_us_;  // by step, at full speed
  std::vector<bool> is_done_;
  size_t next_[kLaneCount];  // the lane's first step that is not done
  bool is_started_[kLaneCount] = {};
  double now_us_ = 0;
  Timeline result_;
};

}  // namespace

double Timeline::energy_j(const PowerFigures& power) const {
  // A map is the CPU's work; what a transfer lane draws is not known.
  return 1e-6 * (power.base_w.value * total_us + power.cpu_w.value * busy_us[0] +
                 power.gpu_w.value * busy_us[1]);
}

Timeline run_lanes(llvm::ArrayRef<LaneStep> steps, const DeviceProfile& profile,
                   const SimulatedLoad& load, Clock clock) {
  LaneSimulation simulation(steps);
  simulation.add_conditions(profile, load, clock);
  return simulation.run();
}

std::string chrome_trace(llvm::StringRef process, llvm::ArrayRef<LaneStep> steps,
                         const Timeline& timeline) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  const auto name = [&](llvm::StringRef kind, int64_t lane, llvm::StringRef value) {
    json.object([&] {
      json.attribute("name", kind);
      json.attribute("ph", "M");
      json.attribute("pid", 1);
      json.attribute("tid", lane);
      json.attributeObject("args", [&] { json.attribute("name", value); });
    });
  };
  json.object([&] {
    json.attribute("displayTimeUnit", "ns");
    json.attributeArray("traceEvents", [&] {
      name("process_name", 0, llvm::json::fixUTF8(process));
      for (size_t lane = 0; lane < kLaneCount; ++lane)
        if (timeline.busy_us[lane] > 0)
          name("thread_name", static_cast<int64_t>(lane), kLaneNames[lane]);
      for (size_t i = 0; i < steps.size(); ++i) {
        const LaneStep& step = steps[i];
        json.object([&] {
          json.attribute("name", llvm::json::fixUTF8(step.name));
          json.attribute("cat", step.kernel);
          json.attribute("ph", "X");
          json.attribute("ts", timeline.spans[i].start_us);
          json.attribute("dur", timeline.spans[i].end_us - timeline.spans[i].start_us);
          json.attribute("pid", 1);
          json.attribute("tid", static_cast<int64_t>(step.lane));
          json.attributeObject("args", [&] {
            json.attribute("kernel", step.kernel);
            json.attribute("step", static_cast<int64_t>(i));
          });
        });
      }
    });
  });
  return os.str() + "\n";
}

}  // namespace codl::compiler
