#include "compiler/memory/lifetimes.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"
#include "schema/step_shape.h"

namespace codl::compiler {

bool is_planned(Storage storage) { return is_arena(storage) || storage == Storage::Image; }

std::vector<Lifetimes::Home> Lifetimes::homes_of(const Variant& variant) {
  std::vector<Home> homes(variant.tensors.size());
  for (TensorId id = 0; id < homes.size(); ++id) homes[id].tensor = id;
  // Goes backwards, because a result may itself be a window of a later one's.
  for (const Step& step : llvm::reverse(variant.steps)) {
    if (step.kernel == nullptr || step.kernel->op != OpKind::Concat) continue;
    const TensorId y = step.operands.back();
    uint64_t channels = 0;
    for (TensorId x : llvm::makeArrayRef(step.operands).drop_back()) {
      const kernels::OperandShape& shape = variant.tensors[x].shape;
      if (kernels::is_window_of(shape, variant.tensors[y].shape)) {
        homes[x] = homes[y];  // on the GPU the shape has the position
        if (variant.tensors[x].storage == Storage::Host)
          homes[x].offset_bytes += channels * dtype_bytes(shape.dtype);
      }
      if (shape.rank > 1) channels += static_cast<uint64_t>(shape.dims[1]);
    }
  }
  for (const Step& step : variant.steps) {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    const kernels::StepShape shape = variant.shape_of(step, shapes);
    if (!shape.is_in_place || step.kernel->op == OpKind::Concat) continue;
    Home& home = homes[step.operands[1]];
    home = homes[step.operands[0]];
    home.offset_bytes += static_cast<uint64_t>(kernels::run_in_input(shape));
  }
  return homes;
}

Lifetimes::Lifetimes(const Variant& variant)
    : order_(variant),
      homes_(homes_of(variant)),
      step_count_(static_cast<StepId>(variant.steps.size())),
      touches_(variant.tensors.size()),
      spans_(variant.tensors.size()) {
  for (StepId id = 0; id < variant.steps.size(); ++id) {
    const Step& step = variant.steps[id];
    const size_t queue = static_cast<size_t>(step.queue);
    steps_of_queue_[queue].push_back(id);
    for (TensorId operand : step.operands) {
      const TensorId tensor = home(operand);
      Touches& touches = touches_[tensor];
      if (touches.first[queue] == ir::kNoId) touches.first[queue] = id;
      touches.last[queue] = id;
      Span& span = spans_[tensor];
      const bool is_first = span.first == ir::kNoId;
      if (is_first) span.first = id;
      span.last = id;
      span.queue = is_first || span.queue == queue ? queue : kQueueCount;
    }
  }
}

Lifetimes::Window Lifetimes::window(TensorId tensor, size_t queue) const {
  const Touches& touches = touches_[tensor];
  const std::vector<StepId>& steps = steps_of_queue_[queue];
  if (spans_[tensor].first == ir::kNoId || steps.empty()) return {};
  Window window = {ir::kNoId, 0};
  for (StepId first : touches.first)
    if (first != ir::kNoId)
      window.begin = std::min(window.begin, order_.done_before(first).count[queue]);
  // Along a queue, the set of steps that are done only grows.
  const auto behind = std::partition_point(steps.begin(), steps.end(), [&](StepId step) {
    return std::any_of(std::begin(touches.last), std::end(touches.last), [&](StepId last) {
      return last != ir::kNoId && !order_.happens_before(last, step);
    });
  });
  window.end = behind == steps.end() ? step_count_ : *behind;
  return window;
}

Lifetimes::Window Lifetimes::life_on(TensorId tensor, size_t queue) const {
  const Touches& touches = touches_[tensor];
  if (touches.first[queue] == ir::kNoId) return {};
  return {touches.first[queue], touches.last[queue] + 1};
}

Lifetimes::Window Lifetimes::life(TensorId tensor) const {
  const Span& span = spans_[tensor];
  if (span.first == ir::kNoId) return {};
  return {span.first, span.last + 1};
}

bool Lifetimes::is_before(TensorId a, TensorId b) const {
  for (StepId last : touches_[a].last)
    for (StepId first : touches_[b].first)
      if (last != ir::kNoId && first != ir::kNoId && !order_.happens_before(last, first))
        return false;
  return true;
}

StepId Lifetimes::first_step(TensorId tensor) const { return spans_[home(tensor)].first; }

StepId Lifetimes::last_step(TensorId tensor) const { return spans_[home(tensor)].last; }

}  // namespace codl::compiler
