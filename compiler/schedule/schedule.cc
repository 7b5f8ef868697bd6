// Makes the partition plan executable: gives the steps of its segments (segment_steps.h) numbers of
// tensors, weights, tiles and waits.
#include "compiler/schedule/schedule.h"

#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/segment_steps.h"
#include "compiler/schedule/queue_order.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "kernels/pack.h"
#include "kernels/work_table.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {

namespace {

class Scheduler {
 public:
  Scheduler(const ir::Graph& graph, const PartitionPlan& plan, const LatencyPredictor& predictor)
      : graph_(graph), plan_(plan), profile_(predictor.profile()), predictor_(predictor) {}

  llvm::Expected<Schedule> run(llvm::StringRef variant) {
    schedule_.name = variant.str();
    schedule_.gate = profile_.gate;
    place_values();
    SegmentSteps steps(graph_, profile_, value_tensors_, states_);
    for (ir::NodeId first = 0; first < plan_.node_partitions.size();) {
      const ir::NodeId last = last_of_segment(plan_, first);
      const auto add = [&](const PlannedStep& step) { return add_step(step); };
      if (llvm::Error error = steps.emit(plan_, first, last, add)) return error;
      first = last + 1;
    }
    if (llvm::any_of(schedule_.steps, [](const Step& step) { return step.queue != Queue::Cpu; }))
      schedule_.sharing = profile_.transfer.sharing;
    order_queues(graph_, schedule_);
    choose_host_calls(schedule_, profile_.transfer);
    return std::move(schedule_);
  }

 private:
  void place_values() {
    const TensorPlacer placer(graph_, profile_);
    value_tensors_.resize(graph_.values().size());
    states_.resize(graph_.values().size());
    numbers_.resize(graph_.values().size() * kTensorSlots, kNoTensor);
    for (ir::ValueId value = 0; value < graph_.values().size(); ++value) {
      if (graph_.value(value).is_constant) continue;
      value_tensors_[value] = placer.place(value, placer.use_of(plan_, value));
      states_[value] = ValueState(value_tensors_[value]);
      for (uint32_t slot = 0; slot < kTensorSlots; ++slot) {
        const SlotTensor& placed = value_tensors_[value].tensors[slot];
        if (placed.is_there)
          numbers_[tensor_id(value, static_cast<TensorSlot>(slot))] =
              add_tensor(value, placed.shape, placed.storage, 0);
      }
    }
    // A value may appear twice: the first position counts, and inputs come before outputs.
    for (const llvm::ArrayRef<ir::ValueId> list : {graph_.outputs(), graph_.inputs()})
      for (size_t i = list.size(); i-- > 0;) {
        const TensorId number = numbers_[tensor_id(list[i], TensorSlot::Cpu)];
        if (number != kNoTensor) schedule_.tensors[number].index = static_cast<uint32_t>(i);
      }
  }

  TensorId add_tensor(ir::ValueId value, const kernels::OperandShape& shape, Storage storage,
                      uint32_t index) {
    schedule_.tensors.push_back({graph_.value(value).name, shape, storage, index});
    schedule_.values.push_back(value);
    return static_cast<TensorId>(schedule_.tensors.size() - 1);
  }

  llvm::Error add_step(const PlannedStep& planned) {
    Step step;
    step.kind = planned.kind;
    step.queue = planned.queue;
    step.kernel = planned.kernel;
    step.part_dim = planned.part_dim;
    step.part = planned.part;
    step.owned = planned.owned;
    step.map_access = planned.map_access;
    const bool is_of_node = planned.node != ir::kNoId;
    step.name = is_of_node ? graph_.node(planned.node).name : graph_.value(planned.value).name;
    if (is_of_node) step.params = graph_.node(planned.node).params.words();
    for (uint32_t i = 0; i < planned.operands.size(); ++i)
      step.operands.push_back(planned.operands[i] == kNoTensor ? weights_of(planned, i)
                                                               : numbers_[planned.operands[i]]);
    if (step.kind == StepKind::Kernel)
      if (llvm::Error error = complete_kernel(step, is_of_node)) return error;
    schedule_.steps.push_back(std::move(step));
    schedule_.nodes.push_back(planned.node);
    return llvm::Error::success();
  }

  llvm::Error complete_kernel(Step& step, bool is_of_node) const {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    if (!is_of_node) {
      step.kernel =
          choose_mover(schedule_.shape_of(step, shapes), processor_of(step.queue), predictor_);
      if (step.kernel != nullptr) return llvm::Error::success();
      return internal_error(step.name,
                            "expected a kernel that transfers the value between the queues");
    }
    if (step.queue == Queue::Gpu) step.tile = tile_of(step);
    kernels::StepNeeds needs;
    if (const char* expected = kernels::check_step(schedule_.shape_of(step, shapes), &needs))
      return internal_error(step.name, "{0}: expected {1}", step.kernel->symbol, expected);
    return llvm::Error::success();
  }

  std::vector<int32_t> tile_of(const Step& step) const {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    int32_t tile[kernels::kMaxTileInts];
    const uint32_t count =
        kernels::choose_tile(schedule_.shape_of(step, shapes), profile_.gpu_facts, tile);
    return {tile, tile + count};
  }

  TensorId weights_of(const PlannedStep& planned, uint32_t operand) {
    const ir::NodeView view{graph_, graph_.node(planned.node)};
    const KernelInfo& kernel = *planned.kernel;
    const ir::ValueId value = view.node.inputs[operand];
    const kernels::OperandShape shape = constant_shape(view, operand, kernel, planned.reals);
    const Blob blob{value, packing_of(view, operand, kernel, planned.reals), groups_of(view.node),
                    shape.bytes};
    // A constant has as many blobs as there are ways to pack it.
    llvm::SmallVector<TensorId, 1>& known = blob_tensors_[value];
    for (TensorId tensor : known)
      if (schedule_.blobs[schedule_.tensors[tensor].index] == blob) return tensor;
    known.push_back(
        add_tensor(value, shape, Storage::Weights, static_cast<uint32_t>(schedule_.blobs.size())));
    schedule_.blobs.push_back(blob);
    return known.back();
  }

  const ir::Graph& graph_;
  const PartitionPlan& plan_;
  const DeviceProfile& profile_;
  const LatencyPredictor& predictor_;
  Schedule schedule_;
  std::vector<ValueTensors> value_tensors_;  // indexed by value
  std::vector<ValueState> states_;           // indexed by value, at this point of the list
  std::vector<TensorId> numbers_;            // indexed by tensor_id()
  llvm::DenseMap<ir::ValueId, llvm::SmallVector<TensorId, 1>> blob_tensors_;  // keyed by constant
};

std::string print_step(const Variant& variant, StepId id) {
  const Step& step = variant.steps[id];
  std::string text;
  llvm::raw_string_ostream os(text);
  os << id << " " << name_of(step.queue) << " "
     << (step.kernel ? step.kernel->symbol : name_of(step.kind)) << " "
     << tools::printable(step.name);
  if (step.part_dim == SplitDim::Height)
    os << " rows[" << step.part.begin << "," << step.part.end << ")";
  if (step.part_dim == SplitDim::OutputChannel)
    os << " channels[" << step.part.begin << "," << step.part.end << ")";
  const size_t inputs = step.kind == StepKind::Map || step.kind == StepKind::Unmap
                            ? step.operands.size()
                            : step.operands.size() - 1;
  const char* separator = " in=";
  for (size_t i = 0; i < inputs; ++i, separator = ",") os << separator << "t" << step.operands[i];
  if (inputs < step.operands.size()) os << " out=t" << step.operands.back();
  os << " waits=[";
  for (size_t i = 0; i < step.waits.size(); ++i)
    os << (i ? "," : "") << step.waits[i] << (step.waits_by_flag(i) ? " by flag" : "");
  os << llvm::formatv("] predicted={0:f1}us", step.predicted_us);
  return text;
}

}  // namespace

llvm::Expected<Schedule> make_schedule(const ir::Graph& graph, const PartitionPlan& plan,
                                       const LatencyPredictor& predictor, llvm::StringRef variant) {
  return Scheduler(graph, plan, predictor).run(variant);
}

std::string print(const Variant& variant) {
  std::string text =
      llvm::formatv("variant {0} predicted={1:f1}us\n", variant.name, variant.predicted_us).str();
  for (StepId id = 0; id < variant.steps.size(); ++id) text += print_step(variant, id) + "\n";
  return text;
}

}  // namespace codl::compiler
