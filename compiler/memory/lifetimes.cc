#include "compiler/memory/lifetimes.h"

#include <numeric>

namespace codl::compiler {

bool is_planned(Storage storage) {
  return storage == Storage::Host || storage == Storage::Shared || storage == Storage::Device ||
         storage == Storage::Image;
}

namespace {

std::vector<TensorId> homes_of(const Schedule& schedule) {
  std::vector<TensorId> homes(schedule.tensors.size());
  std::iota(homes.begin(), homes.end(), 0);
  for (const Step& step : schedule.steps) {
    if (step.kernel == nullptr || step.kernel->op != OpKind::Reshape) continue;
    const Tensor& x = schedule.tensors[step.operands[0]];
    const Tensor& y = schedule.tensors[step.operands[1]];
    if (x.storage == Storage::Host && y.storage == Storage::Host && x.shape.bytes == y.shape.bytes)
      homes[step.operands[1]] = homes[step.operands[0]];
  }
  return homes;
}

}  // namespace

Lifetimes::Lifetimes(const Schedule& schedule)
    : order_(schedule),
      homes_(homes_of(schedule)),
      touches_(schedule.tensors.size()),
      spans_(schedule.tensors.size()) {
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    const size_t lane = static_cast<size_t>(step.lane);
    for (TensorId operand : step.operands) {
      const TensorId tensor = homes_[operand];
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

StepId Lifetimes::first_step(TensorId tensor) const { return spans_[homes_[tensor]].first; }

StepId Lifetimes::last_step(TensorId tensor) const { return spans_[homes_[tensor]].last; }

}  // namespace codl::compiler
