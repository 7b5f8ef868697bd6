// When a variant's tensors must stand in memory, and which of them may take the same place.
#pragma once

#include <vector>

#include "compiler/ir/types.h"
#include "compiler/schedule/step_order.h"

namespace codl::compiler {

// True for memory that the memory plan places: Host, Shared, Device, Image.
bool is_planned(Storage storage);

// A tensor is live from the first step that touches it to the last; every operand of a step counts,
// those of Map, Unmap, Upload and Download too. Tensors with one home are live together. Queues run
// at the same time, so "first" and "last" are not places in the list: two tensors may share memory
// only if every step that touches one is certainly done (StepOrder) before any step that touches
// the other starts.
class Lifetimes {
 public:
  explicit Lifetimes(const Variant& variant);

  // The tensor in whose place this one lies: the operand of the Reshape or Slice that takes it
  // from there (stays_in_place()), for both hold the same bytes, each computed once; the result of
  // the Concat of which it is a window (write_into_concats()), whose other channels are others'. So
  // neither can spoil the other. Else the tensor itself.
  TensorId home(TensorId tensor) const { return homes_[tensor].tensor; }
  // Behind the beginning of its home.
  uint64_t offset_in_home(TensorId tensor) const { return homes_[tensor].offset_bytes; }

  // In every execution, one of the two is dead before the other is born. Two homes.
  bool may_share(TensorId a, TensorId b) const {
    const Span& left = spans_[a];
    const Span& right = spans_[b];
    const bool is_one_after_the_other = left.last < right.first || right.last < left.first;
    // Most tensors are touched by one and the same queue.
    if (left.queue == right.queue && left.queue < kQueueCount) return is_one_after_the_other;
    return is_before(a, b) || is_before(b, a);
  }

  // The only queue that touches the tensor; kQueueCount if several do, or none.
  size_t only_queue(TensorId tensor) const { return spans_[tensor].queue; }

  // Steps [begin, end) of the list. Two overlap if each begins before the other ends.
  struct Window {
    StepId begin = 0;
    StepId end = 0;
  };
  // Those of `queue` that may run while the tensor is alive.
  Window window(TensorId tensor, size_t queue) const;
  // From the first that touches the tensor to the last, of `queue` and of all queues. Empty if
  // none.
  Window life_on(TensorId tensor, size_t queue) const;
  Window life(TensorId tensor) const;
  // Tensors a and b may not share memory if, and only if, on some queue b's life_on() overlaps a's
  // window(), or the lives of both overlap. Else each queue's steps of b are all done before a is
  // born or begin behind its death; were some queues before and some behind, b's life would
  // overlap a's. For a tensor of one queue, that queue alone says it.

  // Steps in the list's order, for dumps and ties; kNoId for a tensor that nothing touches.
  StepId first_step(TensorId tensor) const;
  StepId last_step(TensorId tensor) const;

 private:
  // The first and last step of each queue that touch the tensor. Because a queue runs in order,
  // they stand for all between them.
  struct Touches {
    StepId first[kQueueCount] = {ir::kNoId, ir::kNoId, ir::kNoId};
    StepId last[kQueueCount] = {ir::kNoId, ir::kNoId, ir::kNoId};
  };
  // In the list's order. queue: the only one that touches the tensor, or kQueueCount.
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
  std::vector<Span> spans_;       // the same
};

}  // namespace codl::compiler
