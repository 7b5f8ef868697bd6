#include "compiler/partition/segment_steps.h"

#include <algorithm>
#include <utility>

#include "compiler/partition/kernel_choice.h"

namespace codl::compiler {

using Mapped = ValueState::Mapped;

llvm::SmallVector<ir::ValueId, 8> SegmentSteps::values_of(const ir::Graph& graph, ir::NodeId first,
                                                          ir::NodeId last) {
  llvm::SmallVector<ir::ValueId, 8> values;
  for (ir::NodeId node = first; node <= last; ++node) {
    for (ir::ValueId input : graph.node(node).inputs)
      if (!graph.value(input).is_constant) values.push_back(input);
    values.push_back(graph.node(node).output);
  }
  llvm::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

llvm::Error SegmentSteps::emit(const PartitionPlan& plan, ir::NodeId first, ir::NodeId last,
                               Sink sink) {
  sink_ = sink;
  const auto bring_operands_to = [&](std::initializer_list<Processor> homes) -> llvm::Error {
    for (ir::NodeId id = first; id <= last; ++id)
      for (const Part& part : plan.node_partitions[id].parts)
        if (llvm::Error error = bring_operands(id, part, first, homes)) return error;
    return llvm::Error::success();
  };
  // Tensors that the host will write are mapped first, before the queue waits for the host's
  // earlier results. No step touches them yet, and shared memory is never reused by another tensor.
  for (ir::NodeId id = first; id <= last; ++id)
    if (plan.node_partitions[id].part_on(Processor::Cpu) != nullptr)
      for (TensorSlot slot : {TensorSlot::Cpu, TensorSlot::StagingToGpu})
        if (llvm::Error error = map(graph_.node(id).output, Mapped::Write, slot)) return error;
  // If the GPU's queue brings operands to both processors, the CPU's come first, because the GPU's
  // next kernel waits for all of it on that queue anyway. Transfers between separate memories have
  // a queue of their own; those that depend on the latest steps come last.
  const bool is_separate = profile_.transfer.sharing == Sharing::Separate;
  if (is_separate) {
    if (llvm::Error error = bring_operands_to({Processor::Gpu, Processor::Cpu})) return error;
  } else {
    if (llvm::Error error = bring_operands_to({Processor::Cpu})) return error;
    if (llvm::Error error = take_back_for_gpu(plan, first, last)) return error;
  }
  // Maps come before the segment's kernels, so that no map waits in the queue for them.
  read_by_gpu_.clear();
  for (ir::NodeId id = first; id <= last; ++id)
    if (const Part* part = plan.node_partitions[id].part_on(Processor::Gpu))
      for (ir::ValueId value : graph_.node(id).inputs) {
        const ValueTensors& value_tensors = value_tensors_[value];
        for (TensorId tensor :
             {value_tensors.tensor_for(*part), value_tensors.tensor_on(Processor::Gpu)})
          if (tensor != kNoTensor) read_by_gpu_.push_back(tensor);
      }
  for (ir::NodeId id = first; id <= last; ++id)
    if (llvm::Error error = map_operands(plan.node_partitions[id])) return error;
  if (!is_separate)
    if (llvm::Error error = bring_operands_to({Processor::Gpu})) return error;
  for (ir::NodeId id = first; id <= last; ++id)
    for (const Part& part : plan.node_partitions[id].parts)
      if (llvm::Error error = emit_part(plan.node_partitions[id], part)) return error;
  if (llvm::Error error = give_to_cpu(first, last)) return error;
  // Mapped tensors belong to the segment that uses them last on the host, which unmaps them here.
  if (profile_.transfer.sharing != Sharing::SubBuffer) return llvm::Error::success();
  for (ir::ValueId value : values_of(graph_, first, last)) {
    if (value_tensors_[value].last_cpu_node <= last)
      if (llvm::Error error = unmap(value)) return error;
    if (!is_missing(value, Processor::Cpu))
      if (llvm::Error error = unmap(value, TensorSlot::StagingToCpu)) return error;
  }
  return llvm::Error::success();
}

llvm::Error SegmentSteps::emit_transfers(ir::ValueId value, const ValueUse& use, Sink sink) {
  sink_ = sink;
  read_by_gpu_.clear();
  const ValueTensors& value_tensors = value_tensors_[value];
  states_[value] = ValueState(value_tensors);
  const auto is_computed = [&](Processor processor) {
    return !use.queues[index_of(processor)].computed.empty();
  };
  if (is_computed(Processor::Cpu))
    for (TensorSlot slot : {TensorSlot::Cpu, TensorSlot::StagingToGpu})
      if (llvm::Error error = map(value, Mapped::Write, slot)) return error;
  for (Processor from : {Processor::Gpu, Processor::Cpu})
    if (is_computed(from) && hands_over(value_tensors, from))
      if (llvm::Error error = hand_over(value, other_of(from))) return error;
  // These stand in for the GPU parts of the segment that reads the value.
  const bool is_read_by_gpu = !use.queues[index_of(Processor::Gpu)].read.empty();
  if (is_read_by_gpu) read_by_gpu_.push_back(value_tensors.tensor_on(Processor::Gpu));
  if (value_tensors.buffer_is_shared)
    read_by_gpu_.push_back(value_tensors.tensor_on(Processor::Cpu));
  if (llvm::Error error = bring(value, Processor::Cpu)) return error;
  if (mapped(value) == Mapped::Write && is_missing(value, Processor::Gpu))
    if (llvm::Error error = unmap(value)) return error;
  if (!use.queues[index_of(Processor::Cpu)].read.empty())
    if (llvm::Error error = map(value, Mapped::Read)) return error;
  if (llvm::Error error = bring(value, Processor::Gpu)) return error;
  for (size_t other = 0; other < kOtherForms; ++other)
    if (llvm::Error error = convert_made(value, other)) return error;
  return llvm::Error::success();
}

// Transfers to tensors of `homes` what the queue reads and has not computed, once per value, before
// the first segment that reads it from outside. Inside the chain that makes a value nothing is
// missing, and nothing exists yet to transfer: nodes after the chain read the missing part.
llvm::Error SegmentSteps::bring_operands(ir::NodeId node, const Part& part,
                                         ir::NodeId segment_first,
                                         llvm::ArrayRef<Processor> homes) {
  for (ir::ValueId value : graph_.node(node).inputs) {
    const ir::NodeId producer = graph_.value(value).producer;
    if (producer != ir::kNoId && producer >= segment_first) continue;
    const Processor home = value_tensors_[value].home_of(part);
    if (!llvm::is_contained(homes, home)) continue;
    if (llvm::Error error = bring(value, home)) return error;
  }
  return llvm::Error::success();
}

llvm::Error SegmentSteps::bring(ir::ValueId value, Processor home) {
  for (Region& region : states_[value].missing[index_of(home)])
    if (llvm::Error error = bring_piece(value, home, region)) return error;
  return llvm::Error::success();
}

// Transfers what is missing, if anything is, and converts it. The host converts when it reads the
// value, because its tensor is mapped by then.
llvm::Error SegmentSteps::bring_piece(ir::ValueId value, Processor home, Region& missing) {
  if (missing.empty()) return llvm::Error::success();
  const Region piece = std::exchange(missing, {});
  if (llvm::Error error = transfer(value, home, piece)) return error;
  for (size_t other = 0; other < kOtherForms; ++other) {
    if (value_tensors_[value].others[other].processor != home) continue;
    Region& made = states_[value].made[other];
    if (home == Processor::Cpu)
      made = hull(made, piece);
    else if (llvm::Error error = convert(value, other, piece))
      return error;
  }
  return llvm::Error::success();
}

// Some values that the segment's GPU parts read are still mapped, because the host wrote its part
// of them. Gives these back to the GPU; afterwards the host may map them again for reading.
llvm::Error SegmentSteps::take_back_for_gpu(const PartitionPlan& plan, ir::NodeId first,
                                            ir::NodeId last) {
  for (ir::NodeId id = first; id <= last; ++id) {
    if (plan.node_partitions[id].part_on(Processor::Gpu) == nullptr) continue;
    for (ir::ValueId value : graph_.node(id).inputs) {
      const ir::NodeId producer = graph_.value(value).producer;
      if (producer != ir::kNoId && producer >= first) continue;
      if (mapped(value) == Mapped::Write && is_missing(value, Processor::Gpu))
        if (llvm::Error error = unmap(value)) return error;
    }
  }
  return llvm::Error::success();
}

// Transfers at once the values that only the GPU has made and that the CPU reads after the segment,
// so that the CPU waits for no unrelated kernel. Where the host still maps the tensor to write its
// own part, the GPU would have to wait; the segment that reads it does the transfer then.
llvm::Error SegmentSteps::give_to_cpu(ir::NodeId first, ir::NodeId last) {
  for (ir::NodeId id = first; id <= last; ++id) {
    const ir::ValueId value = graph_.node(id).output;
    const ValueTensors& value_tensors = value_tensors_[value];
    if (value_tensors.tensor_on(Processor::Gpu) == kNoTensor ||
        value_tensors.last_cpu_node <= last || mapped(value) != Mapped::No ||
        !value_tensors.is_of_gpu)
      continue;
    if (llvm::Error error = bring(value, Processor::Cpu)) return error;
    if (llvm::Error error = map(value, Mapped::Read)) return error;
  }
  return llvm::Error::success();
}

llvm::Error SegmentSteps::convert_made(ir::ValueId value, size_t other) {
  return convert(value, other, std::exchange(states_[value].made[other], {}));
}

// Converts `piece`, a range of rows or channels, of a processor's tensor to its tensor of another
// form, if there is one, as far as that is read.
llvm::Error SegmentSteps::convert(ir::ValueId value, size_t other, Region piece) {
  const ValueTensors& value_tensors = value_tensors_[value];
  const ValueTensors::OtherForm& to = value_tensors.others[other];
  if (to.tensor == kNoTensor || piece.empty()) return llvm::Error::success();
  const Region whole = whole_region(graph_.value(value).type);
  const Region& read = to.read;
  if (piece.channels == whole.channels && !(read.rows == whole.rows))
    piece.rows = intersection(piece.rows, read.rows);
  else if (piece.rows == whole.rows)
    piece.channels = intersection(piece.channels, read.channels);
  if (piece.empty()) return llvm::Error::success();
  const TensorId from = value_tensors.tensor_on(to.processor);
  if (to.processor == Processor::Gpu && from == value_tensors.tensor_on(Processor::Cpu) &&
      mapped(value) == Mapped::Write)
    if (llvm::Error error = unmap(value)) return error;
  return move(value, StepKind::Kernel, own_queue(to.processor), from, to.tensor, piece);
}

bool SegmentSteps::is_missing(ir::ValueId value, Processor processor) const {
  const auto& missing = states_[value].missing[index_of(processor)];
  return !missing[0].empty() || !missing[1].empty();
}

// Transfers what the other processor lacks of a value that a kernel has just made, ahead of the
// queue's other steps.
llvm::Error SegmentSteps::hand_over(ir::ValueId value, Processor to) {
  ValueState& state = states_[value];
  state.is_handed_over[index_of(to)] = true;
  for (const Region& region : state.missing[index_of(to)])
    if (!region.empty())
      if (llvm::Error error = send(value, to, region)) return error;
  return to == Processor::Cpu ? map(value, Mapped::Read, TensorSlot::StagingToCpu)
                              : llvm::Error::success();
}

llvm::Error SegmentSteps::transfer(ir::ValueId value, Processor to, const Region& region) {
  const ValueTensors& value_tensors = value_tensors_[value];
  if (value_tensors.tensor_on(Processor::Gpu) == value_tensors.tensor_on(Processor::Cpu))
    return llvm::Error::success();  // one memory: waits suffice
  // Both may read a tensor that is mapped for reading.
  if (mapped(value) > (to == Processor::Gpu ? Mapped::Read : Mapped::No))
    if (llvm::Error error = unmap(value)) return error;
  if (!states_[value].is_handed_over[index_of(to)])
    if (llvm::Error error = send(value, to, region)) return error;
  return receive(value, to, region);
}

SegmentSteps::Way SegmentSteps::way_of(ir::ValueId value, Processor to) const {
  const ValueTensors& value_tensors = value_tensors_[value];
  return {value_tensors.tensor_on(other_of(to)), value_tensors.staging_on(to),
          value_tensors.tensor_on(to)};
}

// Does the first half of a transfer: it can follow at once the step that makes the region, and
// delays no step of the receiving queue.
llvm::Error SegmentSteps::send(ir::ValueId value, Processor to, const Region& region) {
  const Way way = way_of(value, to);
  const bool is_separate = profile_.transfer.sharing == Sharing::Separate;
  if (way.from == way.to) return llvm::Error::success();
  if (to == Processor::Gpu) {
    if (is_separate)
      return move(value, StepKind::Upload, Queue::Transfer, way.from, way.first_stop(), region);
    return way.is_direct()
               ? llvm::Error::success()
               : move(value, StepKind::Kernel, Queue::Cpu, way.from, way.staging, region);
  }
  if (is_separate && way.is_direct())
    return move(value, StepKind::Download, Queue::Transfer, way.from, way.to, region);
  if (llvm::Error error =
          move(value, StepKind::Kernel, Queue::Gpu, way.from, way.first_stop(), region))
    return error;
  return is_separate ? move(value, StepKind::Download, Queue::Transfer, way.staging, way.to, region)
                     : llvm::Error::success();
}

// Does the second half of the transfer, on the receiving queue.
llvm::Error SegmentSteps::receive(ir::ValueId value, Processor to, const Region& region) {
  const Way way = way_of(value, to);
  const bool is_separate = profile_.transfer.sharing == Sharing::Separate;
  if (to == Processor::Cpu)
    return is_separate || way.is_direct()
               ? llvm::Error::success()
               : move(value, StepKind::Kernel, Queue::Cpu, way.staging, way.to, region);
  if (is_separate && way.is_direct()) return llvm::Error::success();
  if (llvm::Error error = unmap(value, TensorSlot::StagingToGpu)) return error;
  return move(value, StepKind::Kernel, Queue::Gpu, way.is_direct() ? way.from : way.staging, way.to,
              region);
}

// Sets the part of a step that copies `region`: rows, channels, or all.
void SegmentSteps::set_part(PlannedStep& step, ir::ValueId value, const Region& region) const {
  const Region whole = whole_region(graph_.value(value).type);
  if (!(region.channels == whole.channels)) {  // the channels of every row that both tensors hold
    step.part_dim = SplitDim::OutputChannel;
    step.part = region.channels;
  } else if (!(region.rows == whole.rows)) {
    step.part_dim = SplitDim::Height;
    step.part = region.rows;
  }
}

llvm::Error SegmentSteps::move(ir::ValueId value, StepKind kind, Queue queue, TensorId from,
                               TensorId to, const Region& region) {
  PlannedStep step;
  step.kind = kind;
  step.queue = queue;
  step.value = value;
  step.operands = {from, to};
  set_part(step, value, region);
  return sink_(std::move(step));
}

// Maps the shared tensors that the node's CPU part reads.
llvm::Error SegmentSteps::map_operands(const NodePartition& node_partition) {
  if (node_partition.part_on(Processor::Cpu) == nullptr) return llvm::Error::success();
  for (ir::ValueId value : graph_.node(node_partition.node).inputs)
    if (llvm::Error error = map(value, Mapped::Read)) return error;
  return llvm::Error::success();
}

bool SegmentSteps::needs_map(ir::ValueId value, TensorSlot slot) const {
  const SlotTensor& placed = value_tensors_[value].tensors[static_cast<size_t>(slot)];
  return profile_.transfer.sharing == Sharing::SubBuffer && placed.is_there &&
         placed.storage == Storage::Shared;
}

// A tensor mapped for reading may be read by both queues at once (OpenCL 1.2, 5.4.2.1); one mapped
// for writing belongs to the host alone.
llvm::Error SegmentSteps::map(ir::ValueId value, Mapped access, TensorSlot slot) {
  if (!needs_map(value, slot)) return llvm::Error::success();
  const TensorId tensor = tensor_id(value, slot);
  Mapped& now = mapped(value, slot);
  if (now == Mapped::Write && access == Mapped::Read && llvm::is_contained(read_by_gpu_, tensor))
    if (llvm::Error error = unmap(value, slot)) return error;
  if (now >= access) return llvm::Error::success();
  if (llvm::Error error = unmap(value, slot)) return error;
  now = access;
  // The host may read its own rows again later without another map.
  return emit_map_step(tensor, StepKind::Map,
                       access == Mapped::Read ? MapAccess::Read : MapAccess::ReadWrite);
}

llvm::Error SegmentSteps::unmap(ir::ValueId value, TensorSlot slot) {
  if (mapped(value, slot) == Mapped::No) return llvm::Error::success();
  mapped(value, slot) = Mapped::No;
  return emit_map_step(tensor_id(value, slot), StepKind::Unmap, MapAccess::Read);
}

llvm::Error SegmentSteps::emit_map_step(TensorId tensor, StepKind kind, MapAccess access) {
  PlannedStep step;
  step.kind = kind;
  step.queue = Queue::Gpu;
  step.value = value_of_tensor(tensor);
  step.operands = {tensor};
  step.map_access = access;
  return sink_(std::move(step));
}

// Says whether what the other processor misses goes there as soon as `from` has made it.
bool SegmentSteps::hands_over(const ValueTensors& value_tensors, Processor from) {
  return !value_tensors.boundary[index_of(from)].empty() || value_tensors.has_shared_staging();
}

// Emits the part of a node. If its rows at the cut come first, they are handed over before the rest
// is computed.
llvm::Error SegmentSteps::emit_part(const NodePartition& node_partition, const Part& part) {
  const ir::ValueId value = graph_.node(node_partition.node).output;
  const ValueTensors& value_tensors = value_tensors_[value];
  const Range first = value_tensors.boundary[index_of(part.processor)].rows;
  if (!hands_over(value_tensors, part.processor))
    return emit_kernel(node_partition, part, part.computed);
  if (llvm::Error error = emit_kernel(node_partition, part, first.empty() ? part.computed : first))
    return error;
  if (llvm::Error error = hand_over(value, other_of(part.processor))) return error;
  if (first.empty()) return llvm::Error::success();
  const Range rest = first.begin == part.computed.begin ? Range{first.end, part.computed.end}
                                                        : Range{part.computed.begin, first.begin};
  return emit_kernel(node_partition, part, rest);
}

llvm::Error SegmentSteps::emit_kernel(const NodePartition& node_partition, const Part& part,
                                      Range computed) {
  const ir::Node& node = graph_.node(node_partition.node);
  PlannedStep step;
  step.queue = own_queue(part.processor);
  step.kernel = part.kernel;
  step.node = node_partition.node;
  step.reals = part.form.dtype;
  if (node_partition.is_split()) {
    step.part_dim = node_partition.dim;
    step.part = computed;
    step.owned = intersection(part.owned, computed);
    if (step.owned.empty()) step.owned = {};
  }
  for (ir::ValueId value : node.inputs)
    step.operands.push_back(
        graph_.value(value).is_constant ? kNoTensor : value_tensors_[value].tensor_for(part));
  step.operands.push_back(value_tensors_[node.output].tensor_on(part.processor));
  for (ir::ValueId value : node.inputs)
    if (const std::optional<size_t> other = value_tensors_[value].other_for(part))
      if (llvm::Error error = convert_made(value, *other)) return error;
  if (part.processor == Processor::Gpu) {
    const auto takes_back = [&](ir::ValueId value, TensorId tensor, Mapped least) {
      const bool is_both =
          tensor != kNoTensor && tensor == value_tensors_[value].tensor_on(Processor::Cpu);
      return is_both && mapped(value) >= least ? unmap(value) : llvm::Error::success();
    };
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (llvm::Error error = takes_back(node.inputs[i], step.operands[i], Mapped::Write))
        return error;
    if (llvm::Error error = takes_back(node.output, step.operands.back(), Mapped::Read))
      return error;
  }
  return sink_(std::move(step));
}

static Storage storage_of(const std::vector<ValueTensors>& value_tensors, TensorId tensor) {
  return value_tensors[value_of_tensor(tensor)].placed(tensor).storage;
}

kernels::StepShape shape_of(const ir::Graph& graph, const std::vector<ValueTensors>& value_tensors,
                            const PlannedStep& step, kernels::OperandShape* shapes) {
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const TensorId tensor = step.operands[i];
    shapes[i] = tensor == kNoTensor
                    ? constant_shape({graph, graph.node(step.node)}, static_cast<uint32_t>(i),
                                     *step.kernel, step.reals)
                    : value_tensors[value_of_tensor(tensor)].placed(tensor).shape;
  }
  kernels::StepShape shape;
  shape.kernel = step.kernel;
  if (step.node != ir::kNoId) shape.params = graph.node(step.node).params.data();
  shape.operands = shapes;
  shape.operand_count = static_cast<uint32_t>(step.operands.size());
  shape.part_dim = step.part_dim;
  shape.part = step.part;
  if (step.kernel != nullptr && step.operands.size() == 2 && step.operands[0] != kNoTensor)
    shape.is_in_place = stays_in_place(shape, storage_of(value_tensors, step.operands[0]),
                                       storage_of(value_tensors, step.operands[1]));
  return shape;
}

}  // namespace codl::compiler
