#include "compiler/memory/lifetimes.h"

#include <algorithm>

namespace codl::compiler {

bool is_planned(Storage storage) {
  return storage == Storage::Host || storage == Storage::Shared || storage == Storage::Device ||
         storage == Storage::Image;
}

Lifetimes::Lifetimes(const Schedule& schedule)
    : order_(schedule), touches_(schedule.tensors.size()) {
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    const size_t lane = static_cast<size_t>(step.lane);
    for (TensorId tensor : step.operands) {
      Touches& touches = touches_[tensor];
      if (touches.first[lane] == ir::kNoId) touches.first[lane] = id;
      touches.last[lane] = id;
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

StepId Lifetimes::first_step(TensorId tensor) const {
  // kNoId is the largest id.
  return *std::min_element(std::begin(touches_[tensor].first), std::end(touches_[tensor].first));
}

StepId Lifetimes::last_step(TensorId tensor) const {
  StepId last = ir::kNoId;
  for (StepId step : touches_[tensor].last)
    if (step != ir::kNoId && (last == ir::kNoId || step > last)) last = step;
  return last;
}

}  // namespace codl::compiler
