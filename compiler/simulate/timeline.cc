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
  LaneSimulation(llvm::ArrayRef<LaneStep> steps, const DeviceProfile& profile,
                 const SimulatedLoad& load, Clock clock)
      : steps_(steps), profile_(profile), is_done_(steps.size()) {
    slow_down_[0] = 1 / (1 - std::clamp(load.cpu_percent, 0.0, 90.0) / 100);
    slow_down_[1] = 1 / (1 - std::clamp(load.gpu_frame_percent, 0.0, 90.0) / 100);
    slow_down_[2] = 1;
    const double launch_us = clock == Clock::Wall ? profile.launch_us.value : 0;
    for (const LaneStep& step : steps)
      left_us_.push_back(step.alone_us + (step.is_enqueued ? launch_us : 0));
    result_.spans.resize(steps.size());
    for (size_t lane = 0; lane < kLaneCount; ++lane) next_[lane] = following(lane, 0);
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

  // When the step may start; never while it waits for a step that is not done.
  double ready_time_us(size_t index) const {
    double ready_us = 0;
    for (uint32_t wait : steps_[index].waits) {
      if (!is_done_[wait]) return kNever;
      ready_us = std::max(ready_us, result_.spans[wait].end_us);
    }
    return ready_us + steps_[index].hand_off_us;
  }

  double factor(size_t lane, const bool (&runs)[kLaneCount]) const {
    double factor = slow_down_[lane];
    if (lane < 2 && runs[0] && runs[1])
      factor *= 1 + profile_.exchange.contention_percent[lane].value / 100;
    return factor;
  }

  void advance(double until_us, const bool (&runs)[kLaneCount]) {
    const double elapsed_us = until_us - now_us_;
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      if (!runs[lane]) continue;
      const size_t index = next_[lane];
      Timeline::Span& span = result_.spans[index];
      if (!is_started_[lane]) span.start_us = now_us_;
      is_started_[lane] = true;
      result_.busy_us[lane] += elapsed_us;
      left_us_[index] -= elapsed_us / factor(lane, runs);
      // 1e-9: what rounding leaves of a step that ends now.
      if (left_us_[index] > 1e-9) continue;
      span.end_us = until_us;
      is_done_[index] = true;
      is_started_[lane] = false;
      next_[lane] = following(lane, index + 1);
    }
    if (runs[0] && runs[1]) result_.overlap_us += elapsed_us;
    now_us_ = until_us;
  }

  llvm::ArrayRef<LaneStep> steps_;
  const DeviceProfile& profile_;
  double slow_down_[kLaneCount];
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
  return LaneSimulation(steps, profile, load, clock).run();
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
