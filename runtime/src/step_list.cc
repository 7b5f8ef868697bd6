#include "runtime/src/step_list.h"

#include <algorithm>

#include "kernels/common/contract/contract.h"
#include "kernels/kernel_table.h"
#include "runtime/src/diag.h"
#include "schema/ahead_window.h"
#include "schema/recorded_steps.h"
#include "schema/verify_plan.h"

namespace codl::rt {

using plan::StepDef;
using plan::TensorDef;

namespace {

cl_map_flags map_flags_of(MapAccess access) {
  switch (access) {
    case MapAccess::Read:
      return CL_MAP_READ;
    case MapAccess::Write:
      // Not CL_MAP_WRITE_INVALIDATE_REGION: a step may write a part and leave the rest.
      return CL_MAP_WRITE;
    case MapAccess::ReadWrite:
      break;
  }
  return CL_MAP_READ | CL_MAP_WRITE;
}

size_t count_cpu_operands(const plan::VariantDef& variant) {
  size_t count = 0;
  for (const StepDef* step : *variant.steps())
    if (queue_of(*step) == Queue::Cpu) count += step->operands()->size();
  return count;
}

// The latest steps of the other queues that a queue is known to be behind; kNoStep: of none.
struct Known {
  uint32_t queue[kQueueCount] = {kNoStep, kNoStep};
  uint32_t cpu = kNoStep;
};

// True if `step` comes after all that is known; then it is known.
bool advance(uint32_t* known, uint32_t step) {
  if (*known != kNoStep && step <= *known) return false;
  *known = step;
  return true;
}

}  // namespace

bool wants_flags(const plan::VariantDef& variant) {
  for (const StepDef* step : *variant.steps())
    for (uint32_t i = 0; i < step->waits()->size(); ++i)
      if (wait_kind_of(*step, i) == WaitKind::Flag) return true;
  return false;
}

codl_status_t StepList::create(const codl_allocator_t& allocator, const StepListInputs& inputs,
                               codl_diag_t* diag) {
  inputs_ = inputs;
  const plan::VariantDef& variant = *inputs.variant;
  const uint32_t step_count = variant.steps()->size();
  const uint32_t tensor_count = variant.tensors()->size();
  const size_t operand_count = count_cpu_operands(variant);
  const size_t io_count = size_t{inputs.entry->inputs()->size()} + inputs.entry->outputs()->size();
  if (!steps_.allocate(allocator, step_count) || !views_.allocate(allocator, operand_count) ||
      !sources_.allocate(allocator, operand_count) || !fixed_.allocate(allocator, tensor_count) ||
      !io_.allocate(allocator, io_count) || !mapped_.allocate(allocator, step_count) ||
      !needs_unmap_.allocate(allocator, step_count) ||
      !last_maps_.allocate(allocator, tensor_count)) {
    set_diag(diag, "no memory for %u steps", step_count);
    return CODL_OUT_OF_MEMORY;
  }
  for (uint32_t i = 0; i < tensor_count; ++i) {
    const TensorDef& tensor = *variant.tensors()->Get(i);
    last_maps_[i] = kNoStep;
    if (storage_of(tensor) == Storage::Host)
      fixed_[i] = inputs.host_arena + tensor.offset_bytes();
    else if (storage_of(tensor) == Storage::Weights)
      fixed_[i] = const_cast<uint8_t*>(inputs.plan->blob_data(tensor.index()));
    else if (storage_of(tensor) == Storage::Shared && inputs.programs != nullptr)
      fixed_[i] = inputs.memory.pointer_of(i);
  }
  for (uint32_t i = 0; i < step_count; ++i) {
    Step& step = steps_[i];
    step.def = variant.steps()->Get(i);
    step.kind = kind_of(*step.def);
    step.queue = queue_of(*step.def);
    codl_status_t status = CODL_OK;
    switch (step.kind) {
      case StepKind::Kernel:
        status = prepare_kernel(i, diag);
        break;
      case StepKind::Map:
      case StepKind::Unmap:
        prepare_map(i);
        break;
      case StepKind::Upload:
      case StepKind::Download:
        prepare_transfer(step);
        break;
    }
    if (status != CODL_OK) return status;
  }
  is_ahead_ = inputs.has_flags && wants_flags(variant);
  reduce_waits(inputs.gate == Gate::UserEvent, inputs.record_timeline);
  if (inputs.most_recorded == 0 || find_recordings(allocator)) return CODL_OK;
  set_diag(diag, "no memory for %u steps", step_count);
  return CODL_OUT_OF_MEMORY;
}

codl_status_t StepList::prepare_kernel(uint32_t index, codl_diag_t* diag) {
  Step& step = steps_[index];
  kernels::OperandShape shapes[kernels::kMaxOperands];
  const kernels::StepShape shape = step_shape_of(*inputs_.variant, *step.def, shapes);
  step.is_in_place = shape.is_in_place;
  if (!step.is_cpu())
    return step.is_in_place ? CODL_OK
                            : inputs_.programs->add(shape, step.def->operands()->data(),
                                                    inputs_.memory, &step.gpu_kernel, diag);
  kernels::StepNeeds needs;
  const char* expected = kernels::check_step(shape, &needs);
  if (expected != nullptr) {
    // verify_plan asked the same; memory of codl_plan_open has been changed since.
    set_diag(diag, "step %u: expected %s", index, expected);
    return CODL_CORRUPT_PLAN;
  }
  return prepare_cpu_kernel(step, shape, needs, diag);
}

codl_status_t StepList::prepare_cpu_kernel(Step& step, const kernels::StepShape& shape,
                                           const kernels::StepNeeds& needs, codl_diag_t* diag) {
  step.function = kernels::cpu_kernel(*shape.kernel);
  if (step.function == nullptr) {
    set_diag(diag, "%s: expected a CPU kernel of this build", shape.kernel->symbol);
    return CODL_UNSUPPORTED_VERSION;
  }
  step.task_count = needs.task_count;
  step.phase_count = needs.phase_count;
  scratch_bytes_ = std::max(scratch_bytes_, needs.scratch_bytes);
  shared_bytes_ = std::max(shared_bytes_, needs.shared_bytes);
  step.views = views_.data() + view_count_;
  step.sources = sources_.data() + view_count_;
  for (uint32_t i = 0; i < shape.operand_count; ++i, ++view_count_) {
    views_[view_count_] = kernels::make_view(shape.operands[i], nullptr);
    sources_[view_count_] = source_of(step.def->operands()->Get(i));
  }
  step.args.params = shape.params;
  step.args.operands = step.views;
  step.args.operand_count = shape.operand_count;
  step.args.part_dim = shape.part_dim;
  step.args.part = shape.part;
  step.args.tile = shape.tile;
  step.args.tile_count = shape.tile_count;
  step.args.session_seed = inputs_.seed;
  return CODL_OK;
}

// Returns where the address of a CPU step's operand stands when the step runs.
void* const* StepList::source_of(uint32_t tensor) const {
  const TensorDef& def = *inputs_.variant->tensors()->Get(tensor);
  switch (storage_of(def)) {
    case Storage::Input:
      return &io_[def.index()];
    case Storage::Output:
      return &io_[inputs_.entry->inputs()->size() + size_t{def.index()}];
    case Storage::Shared:
      // verify_plan has checked that the tensor is mapped here and that the step waits for the Map.
      if (sharing_of(*inputs_.variant) == Sharing::SubBuffer) return &mapped_[last_maps_[tensor]];
      break;
    default:
      break;
  }
  return &fixed_[tensor];
}

void StepList::prepare_map(uint32_t index) {
  Step& step = steps_[index];
  const uint32_t tensor = step.def->operands()->Get(0);
  step.memory = inputs_.memory.buffer_of(tensor);
  step.map_bytes = static_cast<size_t>(inputs_.variant->tensors()->Get(tensor)->bytes());
  step.map_flags = map_flags_of(map_access_of(*step.def));
  if (step.kind == StepKind::Map)
    last_maps_[tensor] = index;
  else
    step.map_step = last_maps_[tensor];
}

void StepList::prepare_transfer(Step& step) {
  const bool is_upload = step.kind == StepKind::Upload;
  const uint32_t host = step.def->operands()->Get(is_upload ? 0 : 1);
  const uint32_t device = step.def->operands()->Get(is_upload ? 1 : 0);
  step.memory = inputs_.memory.buffer_of(device);
  step.host = static_cast<uint8_t*>(fixed_[host]);
  step.box = transfer_box(operand_shape_of(*inputs_.variant->tensors()->Get(host)),
                          operand_shape_of(*inputs_.variant->tensors()->Get(device)),
                          static_cast<SplitDim>(step.def->part_dim()),
                          {step.def->part_begin(), step.def->part_end()});
}

// A queue keeps its own order. So of several steps of one queue only the last need be waited for,
// and nothing that the waiting queue has waited for before. Where a run is not enqueued ahead and
// without user events, a queue's step is enqueued when all CPU steps before it in the list are
// done, and with them whatever they waited for.
void StepList::reduce_waits(bool has_user_events, bool record_timeline) {
  Known known_by_cpu;
  Known known_by_queue[kQueueCount];
  uint32_t last_of_queue[kQueueCount] = {kNoStep, kNoStep};
  AheadWindow window(inputs_.variant->max_ahead_us());
  const auto predicted_us = [this](uint32_t i) {
    return steps_[i].queue == Queue::Gpu ? steps_[i].def->predicted_us() : -1.0F;
  };
  for (uint32_t i = 0; i < steps_.count(); ++i) {
    Step& step = steps_[i];
    uint32_t queue_waits[kQueueCount] = {kNoStep, kNoStep};
    uint32_t cpu_wait = kNoStep;
    bool is_by_flag = false;  // a wait between the CPU and the compute queue
    for (uint32_t k = 0; k < step.def->waits()->size(); ++k) {  // they ascend
      const uint32_t wait = step.def->waits()->Get(k);          // the last of each queue stays
      (steps_[wait].is_cpu() ? cpu_wait : queue_waits[steps_[wait].cl_queue()]) = wait;
      if (steps_[wait].queue != Queue::Transfer)
        is_by_flag = is_ahead_ && wait_kind_of(*step.def, k) == WaitKind::Flag;
    }

    Known& known = step.is_cpu() ? known_by_cpu : known_by_queue[step.cl_queue()];
    for (uint32_t q = 0; q < kQueueCount; ++q) {
      const uint32_t wait = queue_waits[q];
      if (wait == kNoStep) continue;
      const bool cpu_is_behind = known_by_cpu.queue[q] != kNoStep && wait <= known_by_cpu.queue[q];
      if (!step.is_cpu() && !has_user_events && !is_ahead_ && cpu_is_behind) continue;
      if (!advance(&known.queue[q], wait)) continue;
      step.queue_waits[q] = wait;
      steps_[wait].needs_event = true;
      const bool has_flag = is_by_flag && step.is_cpu() && q == kComputeQueue;
      step.waits_by_flag |= has_flag;
      steps_[wait].sets_flag |= has_flag;
      // A flag is set in the midst of a batch.
      steps_[wait].is_flushed |= step.is_cpu() && !has_flag;
    }
    if (cpu_wait != kNoStep && (has_user_events || is_ahead_) && advance(&known.cpu, cpu_wait)) {
      step.waits_by_flag = is_by_flag;
      steps_[cpu_wait].sets_flag |= is_by_flag;
      steps_[cpu_wait].is_gate |= has_user_events && !is_by_flag;
      (has_user_events || is_by_flag ? step.cpu_wait : step.host_wait) = cpu_wait;
    }
    if (!step.is_cpu()) {
      last_of_queue[step.cl_queue()] = i;
      step.needs_event = record_timeline;
    }
    if (step.queue == Queue::Gpu) {
      step.room_wait = window.add(i, predicted_us);
      if (step.room_wait != kNoStep) steps_[step.room_wait].needs_event = true;
    }
  }
  for (uint32_t q = 0; q < kQueueCount; ++q) {
    const uint32_t last = last_of_queue[q];
    if (last == kNoStep) continue;
    // The host that has seen a recording's flag has not seen its end, and gives it again.
    const bool is_seen = !advance(&known_by_cpu.queue[q], last);
    if (is_seen && (inputs_.most_recorded == 0 || !steps_[last].sets_flag)) continue;
    final_waits_[q] = last;
    steps_[last].needs_event = true;
  }
}

// Kernels of flags are recorded with the steps that they belong to. One kernel alone is enqueued.
bool StepList::find_recordings(const codl_allocator_t& allocator) {
  Array<bool> is_waited_for;
  if (!is_waited_for.allocate(allocator, steps_.count())) return false;
  for (const Step& step : steps_)
    for (const uint32_t wait : *step.def->waits()) is_waited_for[wait] = true;
  const auto facts = [&](uint32_t i) {
    const Step& step = steps_[i];
    return RecordedStep{
        step.queue == Queue::Gpu && step.kind == StepKind::Kernel && !step.is_in_place,
        step.def->waits()->size() != 0, is_waited_for[i]};
  };
  const auto count = static_cast<uint32_t>(steps_.count());
  for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
    end = end_of_recorded(begin, count, facts);
    if (!facts(begin).is_gpu_kernel) continue;
    const uint32_t flags =
        (steps_[begin].waits_by_flag ? 1 : 0) + (steps_[end - 1].sets_flag ? 1 : 0);
    if (inputs_.most_recorded < flags + 1) continue;
    end = std::min(end, begin + inputs_.most_recorded - flags);
    if (end - begin + flags > 1) steps_[begin].recorded_end = end;
  }
  return true;
}

}  // namespace codl::rt
