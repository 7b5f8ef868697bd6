#include "compiler/simulate/host_calls.h"

#include "schema/plan_generated.h"

namespace codl::compiler {

namespace {

constexpr auto kCpu = static_cast<uint8_t>(plan::Lane::Cpu);

class Host {
 public:
  Host(std::vector<PlannedStep> planned, GpuGate gate, const HostCosts& costs)
      : planned_(std::move(planned)),
        is_gated_(gate == GpuGate::UserEvent),
        costs_(costs),
        calls_(planned_.size()),
        ids_(planned_.size()) {}

  std::vector<LaneStep> run() {
    // Behind user events everything is enqueued before anything is computed.
    if (is_gated_)
      for (uint32_t i = 0; i < planned_.size(); ++i)
        if (!is_cpu(i)) call(i);
    for (uint32_t i = 0; i < planned_.size(); ++i) {
      if (!is_cpu(i) && !is_gated_) call(i);
      add(i);
    }
    wait_for_queues();
    return std::move(steps_);
  }

 private:
  bool is_cpu(uint32_t i) const { return planned_[i].step.lane == kCpu; }

  LaneStep& push(uint32_t* out_id) {
    *out_id = static_cast<uint32_t>(steps_.size());
    return steps_.emplace_back();
  }

  void call(uint32_t i) {
    const PlannedStep& planned = planned_[i];
    LaneStep& step = push(&calls_[i]);
    step.lane = kCpu;
    step.called_lane = planned.step.lane;
    step.alone_us = planned.is_copy ? planned.call_us : costs_.enqueue_us.value;
    step.idle_us = planned.is_copy ? planned.call_us : costs_.submit_us.value;
    step.name = planned.step.name;
    step.kernel = "enqueue";
    if (planned.is_download && costs_.download_call_waits)
      for (const LaneWait& wait : planned.step.waits) step.waits.push_back({ids_[wait.step]});
  }

  void add(uint32_t i) {
    LaneStep& step = push(&ids_[i]);
    step = planned_[i].step;
    for (LaneWait& wait : step.waits) wait = {ids_[wait.step], hand_off_us(wait.step, i)};
    if (!is_cpu(i)) step.waits.push_back({calls_[i], costs_.start_us.value});
  }

  double hand_off_us(uint32_t from, uint32_t to) const {
    if (is_cpu(to)) return costs_.wake_us.value;
    if (!is_cpu(from)) return costs_.queue_us.value;
    // What is enqueued behind a step of the host's has waited for it; a gate has to be opened.
    return is_gated_ ? costs_.start_us.value : 0;
  }

  void wait_for_queues() {
    constexpr uint32_t kNone = UINT32_MAX;
    uint32_t last[kLaneCount] = {kNone, kNone, kNone};
    for (uint32_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].lane != kCpu) last[steps_[i].lane] = i;
    std::vector<LaneWait> waits;
    for (uint32_t id : last)
      if (id != kNone) waits.push_back({id, costs_.wake_us.value});
    if (waits.empty()) return;
    uint32_t id = 0;
    LaneStep& end = push(&id);
    end.lane = kCpu;
    end.waits = std::move(waits);
    end.name = "wait for the queues";
  }

  std::vector<PlannedStep> planned_;
  bool is_gated_;
  const HostCosts& costs_;
  std::vector<uint32_t> calls_;  // by step of the plan: the call that enqueues it
  std::vector<uint32_t> ids_;    // by step of the plan: where it is
  std::vector<LaneStep> steps_;
};

}  // namespace

std::vector<LaneStep> with_host_calls(std::vector<PlannedStep> steps, GpuGate gate,
                                      const DeviceProfile& profile) {
  if (profile.exchange.host) return Host(std::move(steps), gate, *profile.exchange.host).run();
  std::vector<LaneStep> result;
  for (PlannedStep& planned : steps) {
    LaneStep& step = result.emplace_back(std::move(planned.step));
    if (!step.waits.empty()) step.hand_off_us = profile.exchange.sync_us.value;
  }
  return result;
}

}  // namespace codl::compiler
