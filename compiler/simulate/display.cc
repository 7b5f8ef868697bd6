#include "compiler/simulate/display.h"

#include <algorithm>
#include <limits>

#include "compiler/simulate/lane_clock.h"

namespace codl::compiler {
namespace {

constexpr auto kHostLane = static_cast<size_t>(Lane::Cpu);
constexpr auto kGpuLane = static_cast<size_t>(Lane::Gpu);

// Run after run of the same steps: LaneClock's lanes, from the time at which a run begins.
class EndlessRuns {
 public:
  EndlessRuns(llvm::ArrayRef<LaneStep> steps, const LaneConditions& conditions, bool enqueues_all)
      : queues_(steps, conditions), enqueues_all_(enqueues_all), enqueued_us_(steps.size()) {
    begin_run(0);
  }

  bool has_next(size_t lane) const { return queues_.has_next(lane); }
  double ready_us(size_t lane) const { return queues_.ready_us(lane); }
  double start(size_t lane) const { return queues_.wall_us(lane); }

  // When the GPU's next step joined the queue; kNotReadyUs: it is not there.
  double enqueued_us() const {
    return has_next(kGpuLane) ? enqueued_us_[queues_.next(kGpuLane)] : kNotReadyUs;
  }

  void finish(size_t lane, double now_us) {
    queues_.finish(lane, now_us);
    if (lane == kHostLane) enqueue(now_us);
    for (size_t other = 0; other < kLaneCount; ++other)
      if (has_next(other)) return;
    ++runs;
    begin_run(now_us);
  }

  uint64_t runs = 0;

 private:
  void begin_run(double now_us) {
    queues_.begin(now_us);
    std::fill(enqueued_us_.begin(), enqueued_us_.end(), enqueues_all_ ? now_us : kNotReadyUs);
    reached_ = 0;
    enqueue(now_us);
  }

  // The host has come to the CPU's next step: what stands before that is enqueued.
  void enqueue(double now_us) {
    for (; reached_ < queues_.next(kHostLane); ++reached_)
      enqueued_us_[reached_] = std::min(enqueued_us_[reached_], now_us);
  }

  LaneQueues queues_;
  const bool enqueues_all_;
  std::vector<double> enqueued_us_;  // by step
  size_t reached_ = 0;               // steps before are enqueued
};

// LaneClock's lanes: those of the runs, whose GPU the display uses, too.
class RunsBesideDisplay {
 public:
  RunsBesideDisplay(EndlessRuns& runs, const Display& display, const LaneClock& clock)
      : runs_(runs), display_(display), clock_(clock) {}

  bool has_next(size_t lane) const { return lane == kGpuLane || runs_.has_next(lane); }

  double ready_us(size_t lane) {
    if (lane != kGpuLane) return runs_.ready_us(lane);
    if (is_in_service_) return 0;
    const double own_us = runs_.has_next(kGpuLane) ? runs_.ready_us(kGpuLane) : kNotReadyUs;
    const bool is_first = display_.service == GpuService::Fifo ? asked_us_ <= runs_.enqueued_us()
                          : asked_us_ <= clock_.now_us ? is_displays_turn_ || own_us > clock_.now_us
                                                       : asked_us_ < own_us;
    serves_display_ = is_first;
    // What was enqueued first is waited for, whether it can start or not.
    if (!is_first && own_us == kNotReadyUs) return kNotReadyUs;
    return is_first ? asked_us_ : own_us;
  }

  double start(size_t lane, double) {
    if (lane != kGpuLane) return runs_.start(lane);
    is_in_service_ = true;
    return serves_display_ ? display_.frame_us / display_.draws : runs_.start(lane);
  }

  void finish(size_t lane, double now_us) {
    if (lane != kGpuLane) {
      runs_.finish(lane, now_us);
      return;
    }
    is_in_service_ = false;
    is_displays_turn_ = !serves_display_;
    if (!serves_display_) {
      runs_.finish(lane, now_us);
    } else if (++drawn_ == display_.draws) {
      end_frame(now_us);
    }
  }

  uint64_t shown = 0;
  double longest_wait_us = 0;

 private:
  void end_frame(double now_us) {
    drawn_ = 0;
    longest_wait_us = std::max(longest_wait_us, now_us - asked_us_);
    if (now_us <= asked_us_ + display_.period_us) ++shown;
    while (asked_us_ < now_us) asked_us_ += display_.period_us;
  }

  EndlessRuns& runs_;
  const Display& display_;
  const LaneClock& clock_;
  double asked_us_ = 0;  // the frame at hand, or the next one
  uint32_t drawn_ = 0;   // of its launches
  bool serves_display_ = false;
  bool is_in_service_ = false;
  bool is_displays_turn_ = false;
};

}  // namespace

FrameCount count_frames(llvm::ArrayRef<LaneStep> steps, const DeviceProfile& profile,
                        const Display& display, bool enqueues_all, double total_us) {
  const LaneConditions conditions(profile, {});
  EndlessRuns runs(steps, conditions, enqueues_all);
  LaneClock clock;
  RunsBesideDisplay lanes(runs, display, clock);
  double last_us = 0;
  while (clock.now_us < total_us && clock.advance(lanes, conditions)) last_us = clock.now_us;
  FrameCount count;
  count.frames = static_cast<uint64_t>(last_us / display.period_us);
  count.lost = count.frames - std::min(lanes.shown, count.frames);
  count.runs = runs.runs;
  count.run_us = runs.runs > 0 ? last_us / static_cast<double>(runs.runs) : 0;
  count.longest_wait_us = lanes.longest_wait_us;
  return count;
}

}  // namespace codl::compiler
