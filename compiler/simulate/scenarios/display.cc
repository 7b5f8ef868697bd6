#include "compiler/simulate/scenarios/display.h"

#include <algorithm>
#include <limits>

#include "compiler/simulate/timing/queue_clock.h"

namespace codl::compiler {
namespace {

// Run after run of the same steps: QueueClock's queues, from the time at which a run begins.
class EndlessRuns {
 public:
  EndlessRuns(llvm::ArrayRef<QueueStep> steps, const QueueConditions& conditions, bool enqueues_all)
      : queues_(steps, conditions), enqueues_all_(enqueues_all), enqueued_us_(steps.size()) {
    begin_run(0);
  }

  bool has_next(size_t queue) const { return queues_.has_next(queue); }
  double ready_us(size_t queue) const { return queues_.ready_us(queue); }
  StepDemand start(size_t queue) const { return queues_.wall_demand(queue); }

  // Returns when the GPU's next step joined the queue; kNotReadyUs if it is not there.
  double enqueued_us() const {
    return has_next(kGpuQueue) ? enqueued_us_[queues_.next(kGpuQueue)] : kNotReadyUs;
  }

  void finish(size_t queue, double now_us) {
    queues_.finish(queue, now_us);
    if (queue == kHostQueue) enqueue(now_us);
    for (size_t other = 0; other < kQueueCount; ++other)
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
    for (; reached_ < queues_.next(kHostQueue); ++reached_)
      enqueued_us_[reached_] = std::min(enqueued_us_[reached_], now_us);
  }

  QueueWalk queues_;
  const bool enqueues_all_;
  std::vector<double> enqueued_us_;  // indexed by step
  size_t reached_ = 0;               // steps before are enqueued
};

// Gives QueueClock the queues of the runs, whose GPU the display uses, too.
class RunsBesideDisplay {
 public:
  RunsBesideDisplay(EndlessRuns& runs, const Display& display, const QueueClock& clock)
      : runs_(runs), display_(display), clock_(clock) {}

  bool has_next(size_t queue) const { return queue == kGpuQueue || runs_.has_next(queue); }

  double ready_us(size_t queue) {
    if (queue != kGpuQueue) return runs_.ready_us(queue);
    if (is_in_service_) return 0;
    const double own_us = runs_.has_next(kGpuQueue) ? runs_.ready_us(kGpuQueue) : kNotReadyUs;
    const bool is_first = display_.service == GpuService::Fifo ? asked_us_ <= runs_.enqueued_us()
                          : asked_us_ <= clock_.now_us ? is_displays_turn_ || own_us > clock_.now_us
                                                       : asked_us_ < own_us;
    serves_display_ = is_first;
    // The runs wait for the work that was enqueued first, whether it can start or not.
    if (!is_first && own_us == kNotReadyUs) return kNotReadyUs;
    return is_first ? asked_us_ : own_us;
  }

  StepDemand start(size_t queue, double) {
    if (queue != kGpuQueue) return runs_.start(queue);
    is_in_service_ = true;
    return serves_display_ ? StepDemand{display_.frame_us} : runs_.start(queue);
  }

  void finish(size_t queue, double now_us) {
    if (queue != kGpuQueue) {
      runs_.finish(queue, now_us);
      return;
    }
    is_in_service_ = false;
    is_displays_turn_ = !serves_display_;
    if (serves_display_)
      end_frame(now_us);
    else
      runs_.finish(queue, now_us);
  }

  uint64_t shown = 0;
  double longest_wait_us = 0;

 private:
  void end_frame(double now_us) {
    longest_wait_us = std::max(longest_wait_us, now_us - asked_us_);
    if (now_us <= asked_us_ + display_.period_us) ++shown;
    while (asked_us_ < now_us) asked_us_ += display_.period_us;
  }

  EndlessRuns& runs_;
  const Display& display_;
  const QueueClock& clock_;
  double asked_us_ = 0;  // end of the frame at hand, or of the next one
  bool serves_display_ = false;
  bool is_in_service_ = false;
  bool is_displays_turn_ = false;
};

}  // namespace

FrameCount count_frames(llvm::ArrayRef<QueueStep> steps, const DeviceProfile& profile,
                        const Display& display, bool enqueues_all, double total_us,
                        uint64_t max_events) {
  const QueueConditions conditions(profile, {});
  EndlessRuns runs(steps, conditions, enqueues_all);
  QueueClock clock;
  RunsBesideDisplay queues(runs, display, clock);
  double last_us = 0;
  for (uint64_t i = 0; i < max_events && clock.now_us < total_us; ++i) {
    if (!clock.advance(queues, conditions)) break;
    last_us = clock.now_us;
  }
  constexpr double kMaxFrames = 1e18;  // a step may take longer than total_us
  FrameCount count;
  count.frames = static_cast<uint64_t>(std::min(last_us / display.period_us, kMaxFrames));
  count.lost = count.frames - std::min(queues.shown, count.frames);
  count.runs = runs.runs;
  count.run_us = runs.runs > 0 ? last_us / static_cast<double>(runs.runs) : 0;
  count.longest_wait_us = queues.longest_wait_us;
  return count;
}

}  // namespace codl::compiler
