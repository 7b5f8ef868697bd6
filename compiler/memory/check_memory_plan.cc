// Judges a memory plan by the definition alone, pair by pair and step by step; shares nothing with
// the planner but StepOrder.
#include "compiler/memory/memory_plan.h"
#include "compiler/schedule/step_order.h"
#include "compiler/support/error.h"
#include "kernels/common/tensor_view.h"
#include "schema/plan_layout.h"

namespace codl::compiler {

namespace {

bool takes_arena_bytes(Storage storage) {
  return storage == Storage::Host || storage == Storage::Shared || storage == Storage::Device;
}

uint64_t alignment_of(Storage storage) {
  return storage == Storage::Host ? kHostAlignment : kDeviceAlignment;
}

uint64_t arena_bytes_of(const MemoryPlan& plan, Storage storage) {
  if (storage == Storage::Host) return plan.host_bytes;
  return storage == Storage::Shared ? plan.shared_bytes : plan.device_bytes;
}

llvm::Error check_place(const Schedule& schedule, const MemoryPlan& plan, TensorId id) {
  const Tensor& tensor = schedule.tensors[id];
  const uint64_t place = plan.offset_bytes[id];
  const std::string where = "memory: t" + std::to_string(id);
  if (takes_arena_bytes(tensor.storage)) {
    if (place % alignment_of(tensor.storage) != 0)
      return internal_error(where, "expected an offset that is a multiple of {0}, found {1}",
                            alignment_of(tensor.storage), place);
    const uint64_t arena_bytes = arena_bytes_of(plan, tensor.storage);
    if (place > arena_bytes || tensor.shape.bytes > arena_bytes - place)
      return internal_error(where, "expected {0} bytes at {1} inside an arena of {2}, found {3}",
                            tensor.shape.bytes, place, arena_bytes, place + tensor.shape.bytes);
  }
  if (tensor.storage == Storage::Image) {
    if (place >= plan.images.size())
      return internal_error(where, "expected an image number below {0}, found {1}",
                            plan.images.size(), place);
    const ImageSlot& slot = plan.images[place];
    if (kernels::image_width(tensor.shape) > slot.width ||
        kernels::image_height(tensor.shape) > slot.height)
      return internal_error(where, "expected an image of {0} x {1} or more, found {2} x {3}",
                            kernels::image_width(tensor.shape), kernels::image_height(tensor.shape),
                            slot.width, slot.height);
  }
  return llvm::Error::success();
}

// Both stand in one memory and have a byte (or an image) in common.
bool share_memory(const Schedule& schedule, const MemoryPlan& plan, TensorId a, TensorId b) {
  const Tensor& left = schedule.tensors[a];
  const Tensor& right = schedule.tensors[b];
  if (left.storage != right.storage) return false;
  if (left.storage == Storage::Image) return plan.offset_bytes[a] == plan.offset_bytes[b];
  return takes_arena_bytes(left.storage) &&
         plan.offset_bytes[a] < plan.offset_bytes[b] + right.shape.bytes &&
         plan.offset_bytes[b] < plan.offset_bytes[a] + left.shape.bytes;
}

bool all_before(const StepOrder& order, llvm::ArrayRef<StepId> earlier,
                llvm::ArrayRef<StepId> later) {
  for (StepId a : earlier)
    for (StepId b : later)
      if (!order.happens_before(a, b)) return false;
  return true;
}

// By tensor: the one it is a copy of, through Reshapes only, on the CPU's lane; else itself.
std::vector<TensorId> originals_of(const Schedule& schedule) {
  std::vector<TensorId> originals(schedule.tensors.size());
  for (TensorId id = 0; id < originals.size(); ++id) originals[id] = id;
  for (const Step& step : schedule.steps)
    if (step.kernel != nullptr && step.lane == Lane::Cpu && step.kernel->op == OpKind::Reshape)
      originals[step.operands[1]] = originals[step.operands[0]];
  return originals;
}

}  // namespace

llvm::Error check_memory_plan(const Schedule& schedule, const MemoryPlan& plan) {
  const TensorId tensor_count = static_cast<TensorId>(schedule.tensors.size());
  if (plan.offset_bytes.size() != tensor_count)
    return internal_error("memory", "expected a place for each of {0} tensors, found {1}",
                          tensor_count, plan.offset_bytes.size());
  std::vector<std::vector<StepId>> touching(tensor_count);  // by tensor
  for (StepId step = 0; step < schedule.steps.size(); ++step)
    for (TensorId tensor : schedule.steps[step].operands) touching[tensor].push_back(step);

  for (TensorId id = 0; id < tensor_count; ++id)
    if (llvm::Error error = check_place(schedule, plan, id)) return error;

  // Copies may lie one upon the other, byte by byte: what writes one writes what the other holds.
  const std::vector<TensorId> originals = originals_of(schedule);
  const auto is_copy = [&](TensorId a, TensorId b) {
    return originals[a] == originals[b] && plan.offset_bytes[a] == plan.offset_bytes[b] &&
           schedule.tensors[a].shape.bytes == schedule.tensors[b].shape.bytes;
  };
  const StepOrder order(schedule);
  for (TensorId a = 0; a < tensor_count; ++a)
    for (TensorId b = a + 1; b < tensor_count; ++b)
      if (share_memory(schedule, plan, a, b) && !is_copy(a, b) &&
          !all_before(order, touching[a], touching[b]) &&
          !all_before(order, touching[b], touching[a]))
        return internal_error("memory: t" + std::to_string(a),
                              "expected no memory in common with t{0}, which is live at the same "
                              "time, found offsets {1} and {2}",
                              b, plan.offset_bytes[a], plan.offset_bytes[b]);
  return llvm::Error::success();
}

}  // namespace codl::compiler
