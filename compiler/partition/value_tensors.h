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
  bool is_used() const { return !computed.empty() || !read.empty(); }
  friend bool operator==(const QueueUse&, const QueueUse&) = default;
};

struct ValueUse {
  std::array<QueueUse, 2> queues;  // indexed by processor
  // These are for a map on the GPU:
  std::optional<Layout> made_in;  // if it is computed there
  Region read_as_buffer;
  Region read_as_image;
  bool is_read_in_chain = false;  // a GPU part of its chain reads it in the other layout
  // Holds, by the processor that makes it, how many rows its kernel computes together if it
  // computes the rows at the cut first; else 0.
  std::array<int32_t, 2> boundary_unit = {};
  friend bool operator==(const ValueUse&, const ValueUse&) = default;
};

// Tensors of a value have fixed ids until a schedule numbers those that there are.
enum class TensorSlot : uint8_t { Cpu, Gpu, StagingToCpu, StagingToGpu, OtherLayout };
inline constexpr uint32_t kTensorSlots = 5;
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
  // For maps it is the layout of the GPU's tensor. Parts on the GPU that read the other layout read
  // the CPU's tensor if that is a buffer for both; else `other_layout`, to which the GPU converts
  // `converted` of its own tensor: first the part it computes (`made`), then the part that was
  // missing.
  Layout gpu_maps = Layout::Nhwc;
  bool buffer_is_shared = false;
  TensorId other_layout = kNoTensor;
  Region made;
  Region converted;
  std::array<SlotTensor, kTensorSlots> tensors;  // indexed by slot
  bool is_of_gpu = false;                        // computed there alone
  ir::NodeId last_cpu_node = 0;  // the last node whose CPU part touches the CPU's tensor

  // Returns the processor in whose tensor the part has the value.
  Processor home_of(const Part& part) const {
    return buffer_is_shared && part.maps == Layout::Nhwc ? Processor::Cpu : part.processor;
  }
  bool reads_converted(const Part& part) const {
    return other_layout != kNoTensor && part.processor == Processor::Gpu && part.maps != gpu_maps;
  }
  TensorId tensor_for(const Part& part) const {
    return reads_converted(part) ? other_layout : tensor_on(home_of(part));
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
//   the GPU in two layouts              one more for the layout that it is not made in: the Shared
//                                       one where it is a buffer and the queues transfer the value,
//                                       else a Device or Image one
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
