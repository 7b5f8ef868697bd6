#include "compiler/simulate/host_calls.h"

#include <algorithm>

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tensor_view.h"
#include "schema/plan.h"

namespace codl::compiler {

namespace {

constexpr auto kCpu = static_cast<uint8_t>(Lane::Cpu);

class Host {
 public:
  Host(std::vector<PlannedStep> planned, Gate gate, const HostCosts& costs)
      : planned_(std::move(planned)),
        is_gated_(gate == Gate::UserEvent),
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
    const double cold_us = cold_us_of(i);
    LaneStep& step = push(&ids_[i]);
    step = planned_[i].step;
    step.alone_us += cold_us;
    for (LaneWait& wait : step.waits) wait = {ids_[wait.step], hand_off_us(wait.step, i)};
    if (!is_cpu(i)) step.waits.push_back({calls_[i], costs_.start_us.value});
  }

  // What the step takes longer than one whose data its own lane had last.
  double cold_us_of(uint32_t i) {
    const PlannedStep& planned = planned_[i];
    if (planned.is_copy) return 0;
    const bool is_first = i == 0 && is_cpu(i);
    bool has_waited = is_first && has_other_lanes();
    double bytes = planned.given_bytes;
    for (size_t k = 0; k < planned.step.waits.size(); ++k) {
      const uint32_t wait = planned.step.waits[k].step;
      uint32_t& known = known_[planned.step.lane][planned_[wait].step.lane];
      if (wait < known) continue;  // the lane has had it since
      known = wait + 1;
      has_waited = true;
      if (k < planned.wait_bytes.size()) bytes += planned.wait_bytes[k];
    }
    if (!is_cpu(i)) return has_waited ? costs_.gpu_cold_us_per_mb.value * bytes * 1e-6 : 0;
    return costs_.cpu_cold_us_per_mb.value * bytes * 1e-6 +
           (has_waited ? costs_.cpu_resume_us.value : 0);
  }

  bool has_other_lanes() const {
    return std::any_of(planned_.begin(), planned_.end(),
                       [](const PlannedStep& planned) { return planned.step.lane != kCpu; });
  }

  double hand_off_us(uint32_t from, uint32_t to) const {
    if (is_cpu(to)) return costs_.wake_us.value;
    if (!is_cpu(from)) return costs_.queue_us.value;
    // What is enqueued behind a step of the host's has waited for it; a gate has to be opened.
    return is_gated_ ? costs_.start_us.value : 0;
  }

  void wait_for_queues() {
    constexpr uint32_t kNotSeen = UINT32_MAX;
    uint32_t last[kLaneCount] = {kNotSeen, kNotSeen, kNotSeen};
    for (uint32_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].lane != kCpu) last[steps_[i].lane] = i;
    std::vector<LaneWait> waits;
    for (uint32_t id : last)
      if (id != kNotSeen) waits.push_back({id, costs_.wake_us.value});
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
  uint32_t known_[kLaneCount][kLaneCount] =
      {};  // by waiting lane: the steps it has waited for end here
};

}  // namespace

double handed_bytes(const kernels::StepShape& maker, const kernels::StepShape& reader,
                    size_t operand) {
  const kernels::OperandShape& value = maker.output();
  const double bytes = static_cast<double>(kernels::stored_elements(value)) * sizeof(float);
  if (!kernels::has_pixels(value)) return bytes;
  const kernels::OperandShape& read = reader.operands[operand];
  const double rows = value.dims[2];
  double begin = 0;
  double end = rows;
  if (maker.part_dim == SplitDim::Height) {
    begin = maker.part.begin;
    end = maker.part.end;
  }
  if (reader.part_dim == SplitDim::Height && kernels::has_pixels(reader.output())) {
    constexpr double kHaloRows = 2;
    const double scale = static_cast<double>(read.dims[2]) / reader.output().dims[2];
    begin = std::max(begin, reader.part.begin * scale - kHaloRows);
    end = std::min(end, reader.part.end * scale + kHaloRows);
  }
  double share = std::max(end - begin, 0.0) / std::max(rows_held(value), 1);
  if (maker.part_dim == SplitDim::OutputChannel)
    share *= static_cast<double>(maker.part.count()) / value.dims[1];
  return bytes * std::min(share, 1.0);
}

std::vector<LaneStep> with_host_calls(std::vector<PlannedStep> steps, Gate gate,
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
