// Finds out when a variant's tensors must be in memory, and which of them may share a place.
#pragma once

#include <vector>

#include "compiler/ir/types.h"
#include "compiler/schedule/step_order.h"

namespace codl::compiler {

// Returns true for memory that the memory plan assigns: Host, Shared, Device, Image.
bool is_planned(Storage storage);

// A tensor is live from the first step that touches it to the last. Every operand of a step counts,
// even those of Map, Unmap, Upload and Download. Tensors with one home are live together. Because
// queues run at the same time, the list's order does not matter: two tensors may share memory only
// if every step that touches one is certainly done (StepOrder) before any step that touches the
// other starts.
class Lifetimes {
 public:
  explicit Lifetimes(const Variant& variant);

  // Returns the tensor in whose place this one lies. For the result of a Reshape or Slice in place
  // (stays_in_place()) it is the operand: both hold the same bytes. For a window of a Concat's
  // result (write_into_concats()) it is that result, whose other channels belong to others. So
  // neither can spoil the other. Any other tensor is its own home.
  TensorId home(TensorId tensor) const { return homes_[tensor].tensor; }
  // Returns where the tensor begins in its home.
  uint64_t offset_in_home(TensorId tensor) const { return homes_[tensor].offset_bytes; }

  // Returns true if in every execution one of the two homes is dead before the other is born.
  bool may_share(TensorId a, TensorId b) const {
    const Span& left = spans_[a];
    const Span& right = spans_[b];
    const bool is_one_after_the_other = left.last < right.first || right.last < left.first;
    // This is a shortcut: most tensors are touched by one and the same queue.
    if (left.queue == right.queue && left.queue < kQueueCount) return is_one_after_the_other;
    return is_before(a, b) || is_before(b, a);
  }

  // Returns the only queue that touches the tensor; kQueueCount if several do, or none.
  size_t only_queue(TensorId tensor) const { return spans_[tensor].queue; }

  // Spans steps [begin, end) of the list. Two windows overlap if each begins before the other ends.
  struct Window {
    StepId begin = 0;
    StepId end = 0;
  };
  // Returns the steps of `queue` that may run while the tensor is alive.
  Window window(TensorId tensor, size_t queue) const;
  // Returns the steps from the first that touches the tensor to the last, of `queue` or of all
  // queues. The window is empty if there are none.
  Window life_on(TensorId tensor, size_t queue) const;
  Window life(TensorId tensor) const;
  // Tensors a and b may not share memory if, and only if, on some queue b's life_on() overlaps a's
  // window(), or their life()s overlap. Otherwise, on each queue, either all of b's steps are done
  // before a is born, or all begin after a's death. If some queues were before and some after, b's
  // life would overlap a's. If one queue alone touches b, looking at that queue is enough.

  // Return steps in the list's order, for dumps and ties; kNoId if nothing touches the tensor.
  StepId first_step(TensorId tensor) const;
  StepId last_step(TensorId tensor) const;

 private:
  // Holds the first and last step of each queue that touch the tensor. Because a queue runs in
  // order, they stand for all between them.
  struct Touches {
    StepId first[kQueueCount] = {ir::kNoId, ir::kNoId, ir::kNoId};
    StepId last[kQueueCount] = {ir::kNoId, ir::kNoId, ir::kNoId};
  };
  // Holds the first and last step in the list's order. `queue` is the only queue that touches the
  // tensor, or kQueueCount.
  struct Span {
    StepId first = ir::kNoId;
    StepId last = ir::kNoId;
    size_t queue = kQueueCount;
  };

  struct Home {
    TensorId tensor = ir::kNoId;
    uint64_t offset_bytes = 0;
  };
  static std::vector<Home> homes_of(const Variant& variant);
  bool is_before(TensorId a, TensorId b) const;

  StepOrder order_;
  std::vector<Home> homes_;  // indexed by tensor
  StepId step_count_;
  std::vector<StepId> steps_of_queue_[kQueueCount];
  std::vector<Touches> touches_;  // indexed by home
  std::vector<Span> spans_;       // indexed by home
};

}  // namespace codl::compiler
