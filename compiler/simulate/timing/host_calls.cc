#include "compiler/simulate/timing/host_calls.h"

#include <algorithm>

#include "kernels/common/contract/check_step_shape.h"
#include "schema/ahead_window.h"
#include "schema/plan.h"
#include "schema/recorded_steps.h"
#include "schema/step_shape.h"

namespace codl::compiler {

namespace {

constexpr auto kCpu = static_cast<uint8_t>(Queue::Cpu);

// Returns the bytes of what `maker` made that `reader`, a kernel, reads.
double bytes_read_by_kernel(const Variant& variant, const Step& maker, const Step& reader) {
  if (maker.kind == StepKind::Download) return moved_bytes(variant, maker);
  if (maker.kind != StepKind::Kernel) return 0;
  kernels::OperandShape made[kernels::kMaxOperands];
  kernels::OperandShape read[kernels::kMaxOperands];
  for (size_t i = 0; i + 1 < reader.operands.size(); ++i)
    if (reader.operands[i] == maker.operands.back())
      return bytes_read_of(variant.shape_of(maker, made), variant.shape_of(reader, read), i);
  return 0;
}

// Returns the bytes of the run's inputs that a kernel reads.
double given_bytes_of(const Variant& variant, const Step& step) {
  double bytes = 0;
  for (TensorId operand : step.operands)
    if (variant.tensors[operand].storage == Storage::Input)
      bytes += static_cast<double>(variant.tensors[operand].shape.bytes);
  return bytes;
}

// Adds calls for a profile without HostCosts. They take no time themselves, but come when the host
// is done with the CPU's steps before them in the list, and wait until there is room in the queue.
std::vector<QueueStep> with_calls_for_room(const Variant& variant, llvm::ArrayRef<QueueStep> steps,
                                           const TransferCosts& transfer) {
  AheadWindow window(static_cast<float>(variant.max_ahead_us));
  std::vector<QueueStep> all;
  std::vector<uint32_t> ids;  // indexed by step of the plan: its new position
  for (uint32_t i = 0; i < steps.size(); ++i) {
    QueueStep step = steps[i];
    for (QueueWait& wait : step.waits) wait.step = ids[wait.step];
    if (variant.steps[i].queue == Queue::Gpu) {
      const uint32_t room = window.add(i, [&](uint32_t of) { return ahead_us(variant, of); });
      QueueStep call;
      call.queue = kCpu;
      call.called_queue = step.queue;
      call.name = step.name;
      call.kernel = "enqueue";
      if (room != AheadWindow::kNoWait) call.waits.push_back({ids[room], transfer.sync_us.value});
      step.waits.push_back({static_cast<uint32_t>(all.size())});
      all.push_back(std::move(call));
    }
    ids.push_back(static_cast<uint32_t>(all.size()));
    all.push_back(std::move(step));
  }
  return all;
}

class Host {
 public:
  // It borrows `variant` and `predictor`.
  Host(const Variant& variant, std::vector<QueueStep> planned, const LatencyPredictor& predictor)
      : variant_(variant),
        planned_(std::move(planned)),
        predictor_(predictor),
        costs_(*predictor.profile().transfer.host),
        is_gated_(variant.gate == Gate::UserEvent),
        window_(static_cast<float>(variant.max_ahead_us)),
        calls_(planned_.size()),
        ids_(planned_.size()),
        is_waited_for_(planned_.size()),
        flags_of_(planned_.size()),
        is_given_(planned_.size()) {
    for (const Step& step : variant.steps)
      for (size_t k = 0; k < step.waits.size(); ++k) {
        is_waited_for_[step.waits[k]] = true;
        flags_of_[step.waits[k]] |= is_by_flag(step, k);
        is_ahead_ = is_ahead_ || is_by_flag(step, k);
      }
    // A device that takes no recordings gets the steps one by one.
    records_ = variant.is_recorded && costs_.recorded_us;
    if (records_) find_recordings();
  }

  std::vector<QueueStep> run() {
    uint32_t next = 0;
    for (uint32_t i = 0; i < planned_.size(); ++i) {
      // With user events everything is enqueued before anything is computed, with flags what waits
      // by event for no step of the CPU that is not done.
      for (; next < planned_.size() && may_call(next, i); ++next)
        if (!is_cpu(next)) call(next);
      add(i);
    }
    wait_for_queues();
    return std::move(steps_);
  }

 private:
  bool is_cpu(uint32_t i) const { return planned_[i].queue == kCpu; }

  // A flag of a device without them is an event.
  bool is_by_flag(const Step& step, size_t wait) const {
    return step.waits_by_flag(wait) && predictor_.transfer().flags.has_value();
  }

  // Returns true if `step` is enqueued before step `now` of the list begins.
  bool may_call(uint32_t step, uint32_t now) const {
    if (is_gated_ || is_cpu(step)) return true;
    if (!is_ahead_) return step <= now;
    const Step& called = variant_.steps[step];
    for (size_t k = 0; k < called.waits.size(); ++k)
      if (is_cpu(called.waits[k]) && !is_by_flag(called, k) && called.waits[k] >= now) return false;
    return true;
  }

  bool is_in_place(const Step& step) const {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    return step.kind == StepKind::Kernel && variant_.shape_of(step, shapes).is_in_place;
  }

  // Notes which steps another one's call gives the GPU.
  void find_recordings() {
    const auto facts = [&](uint32_t i) {
      const Step& step = variant_.steps[i];
      return RecordedStep{
          step.queue == Queue::Gpu && step.kind == StepKind::Kernel && !is_in_place(step),
          !step.waits.empty(), is_waited_for_[i]};
    };
    const auto count = static_cast<uint32_t>(planned_.size());
    for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
      end = end_of_recorded(begin, count, facts);
      for (uint32_t i = begin + 1; i < end; ++i) is_given_[i] = true;
    }
  }

  // Returns false for a step that leaves its operand in place, except for a marker where it waits
  // or is waited for.
  bool is_enqueued(uint32_t i) const {
    const Step& step = variant_.steps[i];
    return !step.waits.empty() || is_waited_for_[i] || !is_in_place(step);
  }

  QueueStep& push(uint32_t* out_id) {
    *out_id = static_cast<uint32_t>(steps_.size());
    return steps_.emplace_back();
  }

  void call(uint32_t i) {
    const Step& called = variant_.steps[i];
    QueueStep& step = push(&calls_[i]);
    step.queue = kCpu;
    step.called_queue = planned_[i].queue;
    step.alone_us = costs_.enqueue_us.value;
    step.idle_us = costs_.submit_us.value;
    if (called.queue == Queue::Transfer)
      step.alone_us = step.idle_us = predictor_.transfer().copy_call_time_us(
          moved_bytes(variant_, called), called.kind == StepKind::Upload);
    if (!is_enqueued(i)) step.alone_us = step.idle_us = 0;
    if (is_given_[i]) step.alone_us = step.idle_us = costs_.recorded_us->value;
    if (is_ahead_) {
      // Flags are kernels of their own; only the first call finds the queue idle.
      bool waits_by_flag = false;
      for (size_t k = 0; k < called.waits.size(); ++k)
        waits_by_flag = waits_by_flag || is_by_flag(called, k);
      const Quantity& kernel_us = records_ ? *costs_.recorded_us : costs_.enqueue_us;
      step.alone_us += kernel_us.value * ((waits_by_flag ? 1 : 0) + (flags_of_[i] ? 1 : 0));
      if (has_called_) step.idle_us = step.alone_us;
      has_called_ = true;
    }
    step.name = called.name;
    step.kernel = "enqueue";
    if (called.queue == Queue::Gpu) {
      const uint32_t wait = window_.add(i, [&](uint32_t of) { return ahead_us(variant_, of); });
      if (wait != AheadWindow::kNoWait) step.waits.push_back({ids_[wait], costs_.wake_us.value});
    }
    if (called.kind == StepKind::Download && costs_.download_call_waits)
      for (StepId wait : called.waits) step.waits.push_back({ids_[wait]});
  }

  void add(uint32_t i) {
    const double cold_us = cold_us_of(i);
    QueueStep& step = push(&ids_[i]);
    step = planned_[i];
    step.alone_us += cold_us;
    for (size_t k = 0; k < step.waits.size(); ++k) {
      const uint32_t from = step.waits[k].step;
      step.waits[k] = {ids_[from], is_by_flag(variant_.steps[i], k)
                                       ? predictor_.transfer().flag_us_of(!is_cpu(i)).value
                                       : synchronisation_us(from, i)};
    }
    if (!is_cpu(i)) step.waits.push_back({calls_[i], costs_.start_us.value});
  }

  // Returns how much longer the step takes than one whose data its own queue had last.
  double cold_us_of(uint32_t i) {
    const Step& step = variant_.steps[i];
    if (step.queue == Queue::Transfer) return 0;
    const bool is_first = i == 0 && is_cpu(i);
    const bool is_kernel = step.kind == StepKind::Kernel;
    bool has_waited = is_first && has_other_queues();
    double bytes = is_kernel ? given_bytes_of(variant_, step) : 0;
    for (StepId wait : step.waits) {
      StepId& known = known_[planned_[i].queue][planned_[wait].queue];
      if (wait < known) continue;  // the queue has had it since
      known = wait + 1;
      has_waited = true;
      if (is_kernel) bytes += bytes_read_by_kernel(variant_, variant_.steps[wait], step);
    }
    if (!is_cpu(i)) return has_waited ? costs_.gpu_cold_us_per_mb.value * bytes * 1e-6 : 0;
    return costs_.cpu_cold_us_per_mb.value * bytes * 1e-6 +
           (has_waited ? costs_.cpu_resume_us.value : 0);
  }

  bool has_other_queues() const {
    return std::any_of(planned_.begin(), planned_.end(),
                       [](const QueueStep& step) { return step.queue != kCpu; });
  }

  double synchronisation_us(uint32_t from, uint32_t to) const {
    if (is_cpu(to)) return costs_.wake_us.value;
    if (!is_cpu(from)) return costs_.queue_us.value;
    // A step that is enqueued after a step of the host's has waited for it; a gate has to be
    // opened.
    return is_gated_ ? costs_.start_us.value : 0;
  }

  void wait_for_queues() {
    constexpr uint32_t kNotSeen = UINT32_MAX;
    uint32_t last[kQueueCount] = {kNotSeen, kNotSeen, kNotSeen};
    for (uint32_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].queue != kCpu) last[steps_[i].queue] = i;
    std::vector<QueueWait> waits;
    for (uint32_t id : last)
      if (id != kNotSeen) waits.push_back({id, costs_.wake_us.value});
    if (waits.empty()) return;
    uint32_t id = 0;
    QueueStep& end = push(&id);
    end.queue = kCpu;
    end.waits = std::move(waits);
    end.name = "wait for the queues";
  }

  const Variant& variant_;
  std::vector<QueueStep> planned_;
  const LatencyPredictor& predictor_;
  const HostCosts& costs_;
  bool is_gated_;
  AheadWindow window_;
  std::vector<uint32_t> calls_;      // indexed by step of the plan: the call that enqueues it
  std::vector<uint32_t> ids_;        // indexed by step of the plan: its position
  std::vector<bool> is_waited_for_;  // indexed by step of the plan
  std::vector<char> flags_of_;       // likewise: it is waited for by flag
  std::vector<bool> is_given_;       // likewise: another step's recording has it
  bool is_ahead_ = false;            // there are flags
  bool records_ = false;
  bool has_called_ = false;
  std::vector<QueueStep> steps_;
  uint32_t known_[kQueueCount][kQueueCount] =
      {};  // indexed by waiting queue: end of the steps it has waited for
};

}  // namespace

double bytes_read_of(const kernels::StepShape& maker, const kernels::StepShape& reader,
                     size_t operand) {
  const kernels::OperandShape& value = maker.output();
  const double bytes = static_cast<double>(kernels::stored_bytes(value));
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

std::vector<QueueStep> with_host_calls(const Variant& variant, std::vector<QueueStep> steps,
                                       const LatencyPredictor& predictor) {
  const TransferCosts& transfer = predictor.profile().transfer;
  if (transfer.host) return Host(variant, std::move(steps), predictor).run();
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = variant.steps[i];
    for (size_t k = 0; k < step.waits.size(); ++k)
      steps[i].synchronisation_us = std::max(
          steps[i].synchronisation_us, step.waits_by_flag(k) && transfer.flags
                                           ? transfer.flag_us_of(step.queue == Queue::Gpu).value
                                           : transfer.sync_us.value);
  }
  return variant.max_ahead_us > 0 ? with_calls_for_room(variant, steps, transfer) : steps;
}

}  // namespace codl::compiler
