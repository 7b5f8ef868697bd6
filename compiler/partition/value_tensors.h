// Decides where each value lives: one tensor per queue that touches it, or one for both; and which
// part of it each queue lacks.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/partition_plan.h"
#include "compiler/partition/split_geometry.h"
#include "schema/plan_model.h"

namespace codl::compiler {

inline constexpr TensorId kNoTensor = UINT32_MAX;

// Says how one queue uses one value.
struct QueueUse {
  Region computed;
  Region read;
  ir::NodeId last_node = 0;
  // Hold, for real numbers, the form in which it is computed, if it is, and what is read in each
  // form (listed_form(), index_of()).
  std::optional<Form> made_in = {};
  std::array<Region, kMaxForms> read_in = {};

  bool is_used() const { return !computed.empty() || !read.empty(); }
  // Returns what is read in other forms than this one.
  Region read_but_in(Processor processor, Form form) const {
    Region region;
    for (size_t i = 0; i < kMaxForms; ++i)
      if (i != index_of(processor, form)) region = hull(region, read_in[i]);
    return region;
  }
  friend bool operator==(const QueueUse&, const QueueUse&) = default;
};

struct ValueUse {
  std::array<QueueUse, 2> queues;  // indexed by processor
  bool is_read_in_chain = false;   // a part of its chain reads it in another form
  // Holds, by the processor that makes it, how many rows its kernel computes together if it
  // computes the rows at the cut first; else 0.
  std::array<int32_t, 2> boundary_unit = {};
  friend bool operator==(const ValueUse&, const ValueUse&) = default;
};

// Tensors of a value have fixed ids until a schedule numbers those that there are.
// OtherForm is the first of kOtherForms.
enum class TensorSlot : uint8_t { Cpu, Gpu, StagingToCpu, StagingToGpu, OtherForm };
inline constexpr uint32_t kTensorSlots = static_cast<uint32_t>(TensorSlot::OtherForm) + kOtherForms;
constexpr TensorId tensor_id(ir::ValueId value, TensorSlot slot) {
  return value * kTensorSlots + static_cast<TensorId>(slot);
}
constexpr ir::ValueId value_of_tensor(TensorId tensor) { return tensor / kTensorSlots; }

struct SlotTensor {
  bool is_there = false;
  kernels::OperandShape shape;
  Storage storage = Storage::Host;
};

struct ValueTensors {
  // Both are indexed by processor; ids are tensor_id()'s. `missing` is what the queue reads and
  // does not compute: below and above what it computes.
  std::array<TensorId, 2> tensor = {kNoTensor, kNoTensor};
  // The value passes through this tensor on its way to that queue. For Separate with images it is a
  // device buffer; for SubBuffer a shared tensor, so that the queues take only the missing part
  // from each other.
  std::array<TensorId, 2> staging = {kNoTensor, kNoTensor};
  std::array<std::array<Region, 2>, 2> missing = {};
  // Holds, by processor, the rows that it computes first and transfers; empty if it computes all at
  // once.
  std::array<Region, 2> boundary = {};
  // For real numbers these are the forms of the processors' tensors. Parts on the GPU that read the
  // form of the CPU's tensor read that if it is a buffer for both. For every other form that parts
  // read, their processor converts `read` of its own tensor to one of `others`: first the part that
  // it computes (`made`), then the part that was missing.
  FormPair forms = kBothBuffers;
  bool is_map = false;
  bool has_grid = false;
  bool buffer_is_shared = false;
  struct OtherForm {
    Processor processor = Processor::Gpu;
    Form form = kBuffers;
    TensorId tensor = kNoTensor;  // kNoTensor: there is none
    Region made;
    Region read;
  };
  std::array<OtherForm, kOtherForms> others;  // those that there are come first
  bool has_others() const { return others[0].tensor != kNoTensor; }
  std::array<SlotTensor, kTensorSlots> tensors;  // indexed by slot
  bool is_of_gpu = false;                        // computed there alone
  ir::NodeId last_cpu_node = 0;  // the last node whose CPU part touches the CPU's tensor

  // Returns the processor in whose tensor the part has the value.
  Processor home_of(const Part& part) const {
    return buffer_is_shared && form_for(part) == forms[index_of(Processor::Cpu)] ? Processor::Cpu
                                                                                 : part.processor;
  }
  // Returns the form in which the part has real numbers (listed_form()).
  Form form_for(const Part& part) const {
    const DType dtype = part.form.dtype == DType::I8 && !has_grid ? DType::F32 : part.form.dtype;
    return {is_map ? part.form.layout : Layout::Nhwc, dtype};
  }
  // Returns the index of what is converted for the part; nothing if it reads the tensor at home.
  std::optional<size_t> other_for(const Part& part) const {
    for (size_t i = 0; i < kOtherForms; ++i)
      if (others[i].tensor != kNoTensor && others[i].processor == part.processor &&
          others[i].form == form_for(part))
        return i;
    return std::nullopt;
  }
  TensorId tensor_for(const Part& part) const {
    const std::optional<size_t> other = other_for(part);
    return other ? others[*other].tensor : tensor_on(home_of(part));
  }
  TensorId tensor_on(Processor processor) const { return tensor[static_cast<size_t>(processor)]; }
  TensorId staging_on(Processor processor) const { return staging[static_cast<size_t>(processor)]; }
  const SlotTensor& placed(TensorId id) const { return tensors[id % kTensorSlots]; }
  // Returns true if the queues transfer rows in shared tensors of their own.
  bool has_shared_staging() const {
    const auto is_shared = [&](TensorId id) {
      return id != kNoTensor && placed(id).storage == Storage::Shared;
    };
    return is_shared(staging[0]) || is_shared(staging[1]);
  }
};

// Finds where values live. It borrows both arguments.
//
//   who touches the value               its tensors
//   one queue                            one: Host, Device or Image; Input and Output are the
//                                       application's
//   both, nothing missing: in a chain   a private one each
//   both, rows at the cut first         a private one each; SubBuffer: and a Shared one on the way
//                                       to each queue for what it misses
//   both, and one memory serves         one: Shared
//   both, else                          Shared (Separate: Host) for the CPU, Device or Image for
//                                       the GPU; what is missing is copied
//   a queue in several forms            one more for each that it is not made in: for the GPU the
//                                       Shared one where that has the form and the queues transfer
//                                       the value, else Host, Device or Image
//
// One memory serves FineSvm with disjoint parts, or SubBuffer with one writer; it never serves an
// image.
class TensorPlacer {
 public:
  TensorPlacer(const ir::Graph& graph, const DeviceProfile& profile);

  // Returns how the plan uses a value that is not constant.
  ValueUse use_of(const PartitionPlan& plan, ir::ValueId value) const;
  // Adds what the parts of a node make of its output.
  void add_made(const NodePartition& node_partition, ValueUse& use) const;
  // Adds what a part of a node reads of its operand.
  void add_read(const ir::NodeView& node, uint32_t operand, const NodePartition& node_partition,
                const Part& part, ValueUse& use) const;
  // Returns the tensors of a value, which follow from the use alone.
  ValueTensors place(ir::ValueId value, ValueUse use) const;

  struct Reader {
    ir::NodeId node;
    uint32_t operand;
  };
  llvm::ArrayRef<Reader> readers(ir::ValueId value) const { return readers_[value]; }

 private:
  const ir::Graph& graph_;
  const DeviceProfile& profile_;
  std::vector<std::vector<Reader>> readers_;  // indexed by value, in graph order
};

}  // namespace codl::compiler
