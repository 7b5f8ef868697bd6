// Makes the steps of a segment (a chain, or one node) of a partition plan, before they have names,
// numbers of tensors, weights and waits.
//
// The input, for every value and queue, is what the queue computes, what its nodes read, and what
// is missing. The tensors follow from these alone (value_tensors.h), and then the steps, segment by
// segment: transfer what is missing, map shared tensors for the host, run the kernels. Chains need
// no rule of their own, because a queue that computes all it reads misses nothing.
#pragma once

#include <array>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/partition/value_tensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

constexpr Processor processor_of(Queue queue) {
  return queue == Queue::Cpu ? Processor::Cpu : Processor::Gpu;
}
constexpr Queue own_queue(Processor processor) {
  return processor == Processor::Cpu ? Queue::Cpu : Queue::Gpu;
}

struct PlannedStep {
  StepKind kind = StepKind::Kernel;
  Queue queue = Queue::Cpu;
  MapAccess map_access = MapAccess::Read;
  SplitDim part_dim = SplitDim::None;
  Range part;
  Range owned;
  // Points to the kernel of a kernel step. A transfer has none yet: whoever takes the step chooses
  // it (choose_mover()).
  const KernelInfo* kernel = nullptr;
  ir::NodeId node = ir::kNoId;              // node of which the step computes a part
  DType reals = DType::F32;                 // type of that part's real numbers
  ir::ValueId value = ir::kNoId;            // value of a transfer, a map or an unmap
  llvm::SmallVector<TensorId, 4> operands;  // numbered by tensor_id(); constants: kNoTensor

  bool is_map_or_unmap() const { return kind == StepKind::Map || kind == StepKind::Unmap; }
};

// Holds the state of a value at one point of the list of steps.
struct ValueState {
  enum class Mapped : uint8_t { No, Read, Write };

  std::array<std::array<Region, 2>, 2> missing = {};  // indexed by processor; not transferred yet
  std::array<bool, 2> is_handed_over = {};            // the missing part is on its way
  std::array<Region, kOtherForms> made = {};          // not converted to other forms yet
  std::array<Mapped, kTensorSlots> mapped = {};       // shared tensors that the host has mapped

  ValueState() = default;
  // Makes the state before the first step.
  explicit ValueState(const ValueTensors& value_tensors) : missing(value_tensors.missing) {
    for (size_t i = 0; i < kOtherForms; ++i) made[i] = value_tensors.others[i].made;
  }
  friend bool operator==(const ValueState&, const ValueState&) = default;
};

class SegmentSteps {
 public:
  // Receives one step; its error ends the list.
  using Sink = llvm::function_ref<llvm::Error(PlannedStep step)>;

  // Borrows all. Value tensors and states are indexed by value; constants have none.
  SegmentSteps(const ir::Graph& graph, const DeviceProfile& profile,
               const std::vector<ValueTensors>& value_tensors, std::vector<ValueState>& states)
      : graph_(graph), profile_(profile), value_tensors_(value_tensors), states_(states) {}

  // Emits the steps of nodes [first, last], a segment; moves the states from before the segment to
  // after it.
  llvm::Error emit(const PartitionPlan& plan, ir::NodeId first, ir::NodeId last, Sink sink);

  // Emits all that is done for one value between the parts that make and those that read it, as if
  // nothing else were between them. The value is placed by `use`; its state is overwritten.
  llvm::Error emit_transfers(ir::ValueId value, const ValueUse& use, Sink sink);

  // Returns the values that a segment reads or makes, ascending, without constants.
  static llvm::SmallVector<ir::ValueId, 8> values_of(const ir::Graph& graph, ir::NodeId first,
                                                     ir::NodeId last);

 private:
  llvm::Error bring_operands(ir::NodeId node, const Part& part, ir::NodeId segment_first,
                             llvm::ArrayRef<Processor> homes);
  llvm::Error bring(ir::ValueId value, Processor home);
  llvm::Error bring_piece(ir::ValueId value, Processor home, Region& missing);
  llvm::Error take_back_for_gpu(const PartitionPlan& plan, ir::NodeId first, ir::NodeId last);
  llvm::Error give_to_cpu(ir::NodeId first, ir::NodeId last);
  llvm::Error convert_made(ir::ValueId value, size_t other);
  llvm::Error convert(ir::ValueId value, size_t other, Region piece);
  bool is_missing(ir::ValueId value, Processor processor) const;
  static bool hands_over(const ValueTensors& value_tensors, Processor from);
  llvm::Error hand_over(ir::ValueId value, Processor to);
  llvm::Error transfer(ir::ValueId value, Processor to, const Region& region);
  // Holds the tensors through which a value reaches a processor.
  struct Way {
    TensorId from;
    TensorId staging;  // kNoTensor: none
    TensorId to;
    bool is_direct() const { return staging == kNoTensor; }
    TensorId first_stop() const { return is_direct() ? to : staging; }
  };
  Way way_of(ir::ValueId value, Processor to) const;
  llvm::Error send(ir::ValueId value, Processor to, const Region& region);
  llvm::Error receive(ir::ValueId value, Processor to, const Region& region);
  void set_part(PlannedStep& step, ir::ValueId value, const Region& region) const;
  llvm::Error move(ir::ValueId value, StepKind kind, Queue queue, TensorId from, TensorId to,
                   const Region& region);
  llvm::Error map_operands(const NodePartition& node_partition);
  bool needs_map(ir::ValueId value, TensorSlot slot) const;
  ValueState::Mapped& mapped(ir::ValueId value, TensorSlot slot = TensorSlot::Cpu) {
    return states_[value].mapped[static_cast<size_t>(slot)];
  }
  llvm::Error map(ir::ValueId value, ValueState::Mapped access, TensorSlot slot = TensorSlot::Cpu);
  llvm::Error unmap(ir::ValueId value, TensorSlot slot = TensorSlot::Cpu);
  llvm::Error emit_map_step(TensorId tensor, StepKind kind, MapAccess access);
  llvm::Error emit_part(const NodePartition& node_partition, const Part& part);
  llvm::Error emit_kernel(const NodePartition& node_partition, const Part& part, Range computed);

  const ir::Graph& graph_;
  const DeviceProfile& profile_;
  const std::vector<ValueTensors>& value_tensors_;
  std::vector<ValueState>& states_;
  Sink sink_ = nullptr;
  llvm::SmallVector<TensorId, 16> read_by_gpu_;  // in the current segment
};

// Returns the step as its contract sees it. `shapes` has room for kMaxOperands and must outlive the
// result.
kernels::StepShape shape_of(const ir::Graph& graph, const std::vector<ValueTensors>& value_tensors,
                            const PlannedStep& step, kernels::OperandShape* shapes);

}  // namespace codl::compiler
