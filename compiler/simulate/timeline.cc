#include "compiler/simulate/timeline.h"

#include <algorithm>

#include "compiler/simulate/lane_clock.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace codl::compiler {

namespace {

class LaneSimulation {
 public:
  LaneSimulation(llvm::ArrayRef<LaneStep> steps, const LaneConditions& conditions, Clock clock)
      : steps_(steps),
        conditions_(conditions),
        has_calls_(clock == Clock::Wall),
        is_done_(steps.size()) {
    result_.spans.resize(steps.size());
    for (size_t lane = 0; lane < kLaneCount; ++lane) next_[lane] = following(lane, 0);
  }

  Timeline run() {
    LaneClock clock;
    while (clock.advance(*this, conditions_)) {
    }
    result_.total_us = clock.now_us;
    std::copy(clock.busy_us, clock.busy_us + kLaneCount, result_.busy_us);
    result_.overlap_us = clock.overlap_us;
    return std::move(result_);
  }

  // ---- LaneClock's lanes

  bool has_next(size_t lane) const { return next_[lane] < steps_.size(); }

  double ready_us(size_t lane) const {
    const LaneStep& step = steps_[next_[lane]];
    double ready_us = 0;
    for (const LaneWait& wait : step.waits) {
      if (!is_done_[wait.step]) return kNotReadyUs;
      ready_us =
          std::max(ready_us, result_.spans[wait.step].end_us + conditions_.handed_over_us(wait.us));
    }
    return ready_us + conditions_.handed_over_us(step.hand_off_us);
  }

  double start(size_t lane, double now_us) {
    const size_t index = next_[lane];
    const LaneStep& step = steps_[index];
    result_.spans[index].start_us = now_us;
    if (step.called_lane == kNoLane) return step.alone_us + (has_calls_ ? step.launch_us : 0);
    if (!has_calls_) return 0;
    // What that lane was given before stands before this step.
    return next_[step.called_lane] > index ? step.idle_us : step.alone_us + step.launch_us;
  }

  void finish(size_t lane, double now_us) {
    const size_t index = next_[lane];
    result_.spans[index].end_us = now_us;
    is_done_[index] = true;
    next_[lane] = following(lane, index + 1);
  }

 private:
  size_t following(size_t lane, size_t begin) const {
    while (begin < steps_.size() && steps_[begin].lane != lane) ++begin;
    return begin;
  }

  llvm::ArrayRef<LaneStep> steps_;
  const LaneConditions& conditions_;
  const bool has_calls_;
  std::vector<bool> is_done_;
  size_t next_[kLaneCount];  // the lane's first step that is not done
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
  const LaneConditions conditions(profile, load);
  return LaneSimulation(steps, conditions, clock).run();
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
