// How much a variant's run may have in the GPU's queue at once (VariantDef::max_ahead_us). The
// runtime waits by this rule, and codlc predicts by it.
#pragma once

#include <cstdint>

namespace codl {

// It is given the GPU steps of a variant in their order. The host waits for steps until those in
// the queue, by their predicted times, take no longer than the bound with the one that comes next;
// a step that takes longer by itself stands in the queue alone.
class AheadWindow {
 public:
  static constexpr uint32_t kNoWait = UINT32_MAX;

  // `max_us` is in microseconds; 0 means no bound.
  explicit AheadWindow(float max_us) : max_ns_(nanoseconds(max_us)) {}

  // Returns the step that the host waits for before it enqueues GPU step `step`, or kNoWait; then
  // all steps up to the returned one have left the queue. `us_of(i)`: predicted_us of step i, less
  // than 0 for steps of other queues.
  template <typename UsOf>
  uint32_t add(uint32_t step, const UsOf& us_of) {
    if (max_ns_ == 0) return kNoWait;
    sum_ns_ += nanoseconds(us_of(step));
    uint32_t wait = kNoWait;
    for (; oldest_ < step && sum_ns_ > max_ns_; ++oldest_) {
      const float us = us_of(oldest_);
      if (us < 0) continue;
      sum_ns_ -= nanoseconds(us);
      wait = oldest_;
    }
    return wait;
  }

  // Returns the sum of the predicted times of the steps in the queue.
  double waiting_us() const { return static_cast<double>(sum_ns_) * 1e-3; }

 private:
  // The number is whole, so that what is added can be taken away. A time that no step takes (a file
  // may say anything) counts as 1000 s.
  static int64_t nanoseconds(float us) {
    constexpr float kMaxUs = 1e9F;
    if (us <= 0) return 0;
    return us < kMaxUs ? static_cast<int64_t>(us * 1e3F) : int64_t{1'000'000'000'000};
  }

  int64_t max_ns_;
  int64_t sum_ns_ = 0;
  uint32_t oldest_ = 0;  // steps before have left the queue
};

}  // namespace codl
