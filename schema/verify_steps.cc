// Checks steps of a plan: what each may name and touch.
#include "schema/plan_check.h"
#include "schema/step_shape.h"

namespace codl {

using kernels::OperandShape;
using kernels::StepShape;
using plan::StepDef;
using plan::TensorDef;
using plan::VariantDef;

namespace {

bool check_operand_indices(PlanCheck& c, const VariantDef& variant, const StepDef& step) {
  if (!c.expect(step.operands()->size() <= kernels::kMaxOperands, "at most 16 operands",
                step.operands()->size()))
    return false;
  for (uint32_t tensor : *step.operands())
    if (!c.expect(tensor < variant.tensors()->size(), "operands that name tensors of the variant",
                  tensor))
      return false;
  return true;
}

// Waits ascend, so that no step is waited for twice; they name another queue's steps, because a
// queue keeps its order.
bool check_waits(PlanCheck& c, const VariantDef& variant, const StepDef& step) {
  c.wait_count += step.waits()->size();
  if (!c.expect(c.wait_count <= kMaxWaits, "at most 2^24 waits in all variants",
                as_found(c.wait_count)))
    return false;
  int64_t previous = -1;
  for (uint32_t wait : *step.waits()) {
    if (!c.expect(int64_t{wait} < c.index, "waits for earlier steps", wait) ||
        !c.expect(int64_t{wait} > previous, "waits in ascending order", wait) ||
        !c.expect(queue_of(*variant.steps()->Get(wait)) != queue_of(step),
                  "waits for steps of other queues", wait))
      return false;
    previous = wait;
  }
  if (count_of(step.wait_kinds()) == 0) return true;
  if (!c.expect(step.wait_kinds()->size() == step.waits()->size(), "a wait_kind for each wait",
                step.wait_kinds()->size()))
    return false;
  for (uint32_t i = 0; i < step.waits()->size(); ++i) {
    const WaitKind kind = wait_kind_of(step, i);
    if (!c.expect(is_known(kind), "kinds of waits that this build knows",
                  static_cast<uint8_t>(kind), PlanFault::Version))
      return false;
    if (kind != WaitKind::Flag) continue;
    // A copy that the CPU waits for may wait for a kernel that waits for the CPU's flag; and who
    // waits before it enqueues, for what waits for a flag that it has yet to set.
    if (!c.expect(sharing_of(variant) != Sharing::Separate, "no flags beside copies", i) ||
        !c.expect(variant.max_ahead_us() == 0, "no flags with max_ahead_us", i))
      return false;
  }
  return true;
}

// True if a step of the queue may read the storage; `writes`: write it.
bool may_touch(Queue queue, Storage storage, bool writes) {
  switch (storage) {
    case Storage::Input:
      return queue == Queue::Cpu && !writes;
    case Storage::Output:
      return queue == Queue::Cpu && writes;
    case Storage::Host:
      return queue == Queue::Cpu;
    case Storage::Shared:
      return true;
    case Storage::Device:
    case Storage::Image:
      return queue == Queue::Gpu;
    case Storage::Weights:
      return !writes;
  }
  return false;
}

// A step that changes no byte may leave them where they are.
bool is_in_place(const VariantDef& variant, const StepDef& step) {
  OperandShape shapes[kernels::kMaxOperands];
  return step_shape_of(variant, step, shapes).is_in_place;
}

// An input of a Concat with the output's pixel stride is not copied: it must be where it would be
// copied to, behind `channels` of the output's. On the GPU both are placed as the widest map is.
bool check_window(PlanCheck& c, const TensorDef& x, const TensorDef& y, int64_t channels) {
  const bool is_on_host = storage_of(x) == Storage::Host;
  const uint64_t bytes =
      is_on_host ? static_cast<uint64_t>(channels) * dtype_bytes(static_cast<DType>(x.dtype())) : 0;
  return c.expect(storage_of(x) == storage_of(y) && x.index() == y.index() &&
                      x.dtype() == y.dtype() && x.row_begin() == y.row_begin() &&
                      x.row_end() == y.row_end() && x.offset_bytes() == y.offset_bytes() + bytes &&
                      (is_on_host || x.first_channel() == y.first_channel() + channels),
                  "a window of a Concat's output at its place in it", as_found(x.offset_bytes()));
}

bool check_kernel_operands(PlanCheck& c, const VariantDef& variant, const StepDef& step,
                           OpKind op) {
  const uint32_t operand_count = step.operands()->size();
  if (!c.expect(operand_count >= 1, "at least one operand", operand_count)) return false;
  const TensorDef& output = operand_of(variant, step, operand_count - 1);
  int64_t channels = 0;  // channels of the inputs in front of a window
  for (uint32_t i = 0; i < operand_count; ++i) {
    const TensorDef& operand = operand_of(variant, step, i);
    const bool is_output = i + 1 == operand_count;
    const bool is_window =
        op == OpKind::Concat && !is_output &&
        kernels::is_window_of(operand_shape_of(operand), operand_shape_of(output));
    if (is_window && !check_window(c, operand, output, channels)) return false;
    if (operand.dims()->size() > 1) channels += operand.dims()->Get(1);
    if (!c.expect(may_touch(queue_of(step), storage_of(operand), is_output),
                  "operands in storage that the queue may read, an output that it may write", i) ||
        !c.expect(
            is_output || !share_bytes(operand, output) || is_window || is_in_place(variant, step),
            "an output that shares no byte with an input", i))
      return false;
  }
  return true;
}

// Checks the part of a step against one operand whose rows or channels it names.
bool check_part(PlanCheck& c, const StepDef& step, const TensorDef& operand) {
  const Range part = {step.part_begin(), step.part_end()};
  const OperandShape shape = operand_shape_of(operand);
  switch (static_cast<SplitDim>(step.part_dim())) {
    case SplitDim::None:
      return c.expect(part == Range{}, "part [0, 0) without a part_dim", part.end);
    case SplitDim::Height: {
      if (!c.expect(shape.rank == 4, "rank 4 for a part of the rows", shape.rank)) return false;
      const Range held =
          has_rows(shape.layout) ? Range{shape.row_begin, shape.row_end} : Range{0, shape.dims[2]};
      return c.expect(!part.empty() && held.contains(part),
                      "part inside the rows the operand holds", part.end);
    }
    case SplitDim::OutputChannel: {
      if (!c.expect(shape.rank >= 2, "rank of at least 2 for a part of the channels", shape.rank))
        return false;
      const Range channels = {0, shape.dims[1]};
      return c.expect(!part.empty() && channels.contains(part), "part inside the channels",
                      part.end) &&
             c.expect(part.begin % kChannelPanel == 0, "part_begin a multiple of 16", part.begin) &&
             c.expect(part.end % kChannelPanel == 0 || part.end == channels.end,
                      "part_end a multiple of 16 or the last channel", part.end);
    }
  }
  return c.expect(false, "a known part_dim", step.part_dim());
}

// The bytes are aligned for int32_t and float: a vector of a verified FlatBuffer starts at a
// multiple of 4, behind its 4-byte length.
bool check_params(PlanCheck& c, const StepDef& step, OpKind op) {
  return c.expect(step.params()->size() == params_bytes_of(op),
                  "params as long as the operator's parameters", step.params()->size());
}

bool check_kernel_step(PlanCheck& c, const VariantDef& variant, const StepDef& step) {
  const KernelInfo* kernel = find_kernel(step.kernel());
  if (!c.expect(kernel != nullptr, "a kernel of this build", step.kernel(), PlanFault::Kernel) ||
      !c.expect(c.is_kernel_named[kernel->id], "a kernel that the plan's list names", kernel->id) ||
      !c.expect(queue_of(step) == (kernel->processor == Processor::Cpu ? Queue::Cpu : Queue::Gpu),
                "the queue of the kernel's processor", step.queue()) ||
      !c.expect(step.tile()->size() <= kernels::kMaxTileInts, "at most 8 tile numbers",
                step.tile()->size()) ||
      !check_params(c, step, kernel->op) || !check_kernel_operands(c, variant, step, kernel->op) ||
      !check_part(c, step, operand_of(variant, step, step.operands()->size() - 1)))
    return false;
  OperandShape shapes[kernels::kMaxOperands];
  const StepShape shape = step_shape_of(variant, step, shapes);
  kernels::StepNeeds needs;
  const char* expected = c.check_step(shape, &needs);
  return c.expect(expected == nullptr, expected, kernel->id);
}

// A step that moves data has no kernel, no parameters and no tile.
bool check_no_kernel(PlanCheck& c, const StepDef& step, uint32_t operand_count) {
  return c.expect(step.kernel() == 0, "kernel 0", step.kernel()) &&
         c.expect(step.params()->size() == 0, "no params", step.params()->size()) &&
         c.expect(step.tile()->size() == 0, "no tile", step.tile()->size()) &&
         c.expect(step.operands()->size() == operand_count,
                  "1 operand to map or unmap, 2 to upload or download", step.operands()->size());
}

bool check_map_step(PlanCheck& c, const VariantDef& variant, const StepDef& step) {
  return check_no_kernel(c, step, 1) &&
         c.expect(queue_of(step) == Queue::Gpu, "queue Gpu", step.queue()) &&
         c.expect(sharing_of(variant) == Sharing::SubBuffer, "sharing SubBuffer to map and unmap",
                  variant.sharing()) &&
         c.expect(storage_of(operand_of(variant, step, 0)) == Storage::Shared,
                  "an operand in the shared arena", step.operands()->Get(0)) &&
         c.expect(step.part_dim() == static_cast<uint8_t>(SplitDim::None), "no part",
                  step.part_dim()) &&
         check_part(c, step, operand_of(variant, step, 0));
}

// Checks that both have the same value, window for window unless a part says which rows or
// channels.
bool check_copy_shapes(PlanCheck& c, const TensorDef& from, const TensorDef& to,
                       SplitDim part_dim) {
  const OperandShape a = operand_shape_of(from);
  const OperandShape b = operand_shape_of(to);
  if (!c.expect(a.dtype == b.dtype && a.layout == b.layout && a.rank == b.rank,
                "operands of one dtype, layout and rank", b.rank) ||
      !c.expect(a.pixel_stride == 0 && b.pixel_stride == 0, "no windows of channels to copy",
                b.pixel_stride))
    return false;
  for (int32_t i = 0; i < a.rank; ++i)
    if (!c.expect(a.dims[i] == b.dims[i], "operands of the same dims", b.dims[i])) return false;
  return part_dim == SplitDim::Height ||
         c.expect(a.row_begin == b.row_begin && a.row_end == b.row_end,
                  "operands that hold the same rows", b.row_end);
}

bool check_transfer_step(PlanCheck& c, const VariantDef& variant, const StepDef& step) {
  if (!check_no_kernel(c, step, 2) ||
      !c.expect(queue_of(step) == Queue::Transfer, "queue Transfer", step.queue()) ||
      !c.expect(sharing_of(variant) == Sharing::Separate, "sharing Separate to upload and download",
                variant.sharing()))
    return false;
  const TensorDef& from = operand_of(variant, step, 0);
  const TensorDef& to = operand_of(variant, step, 1);
  const bool is_upload = kind_of(step) == StepKind::Upload;
  return c.expect(storage_of(from) == (is_upload ? Storage::Host : Storage::Device),
                  "operand 0 on the side that the step reads", from.storage()) &&
         c.expect(storage_of(to) == (is_upload ? Storage::Device : Storage::Host),
                  "operand 1 on the side that the step writes", to.storage()) &&
         check_copy_shapes(c, from, to, static_cast<SplitDim>(step.part_dim())) &&
         check_part(c, step, from) && check_part(c, step, to);
}

// Every string and vector of a step is there, every enum has a known value.
bool check_step_fields(PlanCheck& c, const StepDef& step) {
  return c.expect(step.name() != nullptr && step.params() != nullptr &&
                      step.operands() != nullptr && step.tile() != nullptr &&
                      step.waits() != nullptr,
                  "name, params, operands, tile and waits present", 0) &&
         c.expect(is_known(kind_of(step)), "a known kind", step.kind()) &&
         c.expect(is_known(queue_of(step)), "a known queue", step.queue()) &&
         c.expect(is_known(map_access_of(step)), "a known map_access", step.map_access()) &&
         c.expect(is_latency(step.predicted_us()), "predicted_us from 0 to 3e38",
                  as_found(step.predicted_us())) &&
         c.expect(step.owned_begin() >= 0 && step.owned_begin() <= step.owned_end() &&
                      step.owned_end() <= kMaxDim,
                  "owned_begin and owned_end in order", step.owned_end());
}

bool check_step_def(PlanCheck& c, const VariantDef& variant, const StepDef& step) {
  if (!check_step_fields(c, step) ||
      !c.expect(queue_of(step) == Queue::Cpu || sharing_of(variant) != Sharing::None,
                "steps of queue Cpu only in a variant without sharing", step.queue()) ||
      !check_operand_indices(c, variant, step) || !check_waits(c, variant, step))
    return false;
  switch (kind_of(step)) {
    case StepKind::Kernel:
      return check_kernel_step(c, variant, step);
    case StepKind::Map:
    case StepKind::Unmap:
      return check_map_step(c, variant, step);
    case StepKind::Upload:
    case StepKind::Download:
      return check_transfer_step(c, variant, step);
  }
  return false;
}

}  // namespace

bool check_steps(PlanCheck& c, const VariantDef& variant) {
  c.step_count += variant.steps()->size();
  c.at("variant", -1);
  if (!c.expect(c.step_count <= kMaxSteps, "at most 2^20 steps in all variants",
                as_found(c.step_count)))
    return false;
  for (uint32_t i = 0; i < variant.steps()->size(); ++i) {
    c.at("step", i);
    if (!check_step_def(c, variant, *variant.steps()->Get(i))) return false;
  }
  return true;
}

}  // namespace codl
