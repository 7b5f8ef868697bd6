#include "compiler/memory/lifetimes.h"

namespace codl::compiler {

bool is_planned(Storage storage) {
  return storage == Storage::Host || storage == Storage::Shared || storage == Storage::Device ||
         storage == Storage::Image;
}

Lifetimes::Lifetimes(const Schedule& schedule)
    : order_(schedule), touches_(schedule.tensors.size()), spans_(schedule.tensors.size()) {
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    const size_t lane = static_cast<size_t>(step.lane);
    for (TensorId tensor : step.operands) {
      Touches& touches = touches_[tensor];
      if (touches.first[lane] == ir::kNoId) touches.first[lane] = id;
      touches.last[lane] = id;
      Span& span = spans_[tensor];
      const bool is_first = span.first == ir::kNoId;
      if (is_first) span.first = id;
      span.last = id;
      span.lane = is_first || span.lane == lane ? lane : kLaneCount;
    }
  }
}

bool Lifetimes::is_before(TensorId a, TensorId b) const {
  for (StepId last : touches_[a].last)
    for (StepId first : touches_[b].first)
      if (last != ir::kNoId && first != ir::kNoId && !order_.happens_before(last, first))
        return false;
  return true;
}

StepId Lifetimes::first_step(TensorId tensor) const { return spans_[tensor].first; }

StepId Lifetimes::last_step(TensorId tensor) const { return spans_[tensor].last; }

}  // namespace codl::compiler
