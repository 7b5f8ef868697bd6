// A plan as plain structs: the compiler's stages fill them, and its simulator, dumps and reports
// read them. A file has the same in the tables of plan.fbs; compiler/emit writes and reads them.
//
// It is for the host only. The device side allocates nothing: it reads the tables where they lie
// (plan_fields.h, verify_plan.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/in_place.h"
#include "schema/plan.h"
#include "schema/plan_layout.h"
#include "schema/tables.h"

namespace codl {

using TensorId = uint32_t;  // in Variant::tensors
using StepId = uint32_t;    // in Variant::steps

// Describes a value, or a window of its rows, in one memory. A value split between the queues has
// up to one tensor per queue (one for both where they share memory).
struct Tensor {
  std::string name;             // the value's
  kernels::OperandShape shape;  // bytes is 0 for images
  Storage storage = Storage::Host;
  uint32_t index = 0;         // says which Input, Output, Image or Weights
  uint64_t offset_bytes = 0;  // Host, Shared, Device: place in the arena
};

struct Step {
  StepKind kind = StepKind::Kernel;
  Queue queue = Queue::Cpu;
  const KernelInfo* kernel = nullptr;  // Kernel steps only
  std::vector<uint32_t> params;        // the words of the operator's Params struct
  std::vector<TensorId> operands;      // a kernel's output is the last
  SplitDim part_dim = SplitDim::None;
  Range part;
  Range owned;  // a split node's part without the halo that is computed twice
  std::vector<int32_t> tile;
  MapAccess map_access = MapAccess::Read;
  std::vector<StepId> waits;         // they ascend; earlier steps of other queues
  std::vector<WaitKind> wait_kinds;  // parallel to `waits`; empty: all are Event
  double predicted_us = 0;           // includes the launch; nothing else is running
  std::string name;                  // the node's

  bool waits_by_flag(size_t i) const {
    return !wait_kinds.empty() && wait_kinds[i] == WaitKind::Flag;
  }

  // True if the step writes tensor operands[i]; every other operand it reads.
  bool writes(size_t i) const {
    return kind != StepKind::Map && kind != StepKind::Unmap && i + 1 == operands.size();
  }
};

// Returns whether a kernel's step leaves its output where its input has it. The memory plan places
// the one in the other by this rule, which is known before there is a place.
inline bool stays_in_place(const kernels::StepShape& step, Storage input, Storage output) {
  if (input != output || (input != Storage::Host && input != Storage::Device)) return false;
  const int64_t bytes = kernels::run_in_input(step);
  // Buffers of the device either lie in one place or share no byte.
  if (input == Storage::Device) return bytes == 0;
  return bytes >= 0 && bytes % static_cast<int64_t>(kHostAlignment) == 0;
}

// Sizes one image of the pool. Tensors of one dtype that are never live together take turns in it,
// each from (0, 0).
struct ImageSlot {
  uint32_t width = 0;  // texels
  uint32_t height = 0;
  DType dtype = DType::F32;
};

// Describes one way to run the network.
struct Variant {
  std::string name;  // "coexec", "cpu", "gpu"
  Sharing sharing = Sharing::None;
  Gate gate = Gate::HostEnqueue;
  uint64_t host_bytes = 0;  // arena sizes
  uint64_t shared_bytes = 0;
  uint64_t device_bytes = 0;
  std::vector<ImageSlot> images;
  std::vector<Tensor> tensors;
  std::vector<Step> steps;
  double predicted_us = 0;
  // GPU steps that are enqueued and not done take at most so long, by their predicted_us
  // (ahead_window.h). 0: no bound.
  double max_ahead_us = 0;
  bool is_recorded = false;  // GPU steps without waits between them are recorded (recorded_steps.h)

  // The step as its contract sees it. `shapes` has room for kMaxOperands and must outlive the
  // result.
  kernels::StepShape shape_of(const Step& step, kernels::OperandShape* shapes) const {
    for (size_t i = 0; i < step.operands.size(); ++i) shapes[i] = tensors[step.operands[i]].shape;
    kernels::StepShape shape = {.kernel = step.kernel,
                                .params = step.params.data(),
                                .operands = shapes,
                                .operand_count = static_cast<uint32_t>(step.operands.size()),
                                .part_dim = step.part_dim,
                                .part = step.part,
                                .tile = step.tile.data(),
                                .tile_count = static_cast<uint32_t>(step.tile.size())};
    shape.is_in_place =
        step.kernel != nullptr &&
        (kernels::joins_windows(shape) ||
         (step.operands.size() == 2 && stays_in_place(shape, tensors[step.operands[0]].storage,
                                                      tensors[step.operands[1]].storage)));
    return shape;
  }
};

// Describes an input or output of the network.
struct PlanIo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int32_t> dims;
  uint64_t bytes = 0;
};

// Holds weights as a kernel reads them.
struct PlanBlob {
  std::string name;           // the constant's
  uint64_t offset_bytes = 0;  // in the file's data section
  uint64_t bytes = 0;
};

// An output whose extent along `dim` the data decides: its type has the most there may be; the
// first are meant, as many as output `count_output` holds after a run.
struct OutputExtent {
  uint32_t output = 0;
  int32_t dim = 0;
  uint32_t count_output = 0;
};

// Output `output` of a run is input `input` of the next one. The session keeps it.
struct KeptState {
  uint32_t input = 0;
  uint32_t output = 0;
};

struct PlanInfo {
  std::string device;
  std::string model_hash;  // hash of the ONNX bytes, hex
  std::string profile_hash;
  uint32_t cpu_threads = 0;  // workers it was predicted for; 0: unknown
  // Each worker has a kernels::WorkerSpeeds speed; empty means that all are alike.
  std::vector<uint16_t> worker_speeds;
};

// Describes the network at one set of input shapes.
struct PlanEntry {
  std::string name;  // like "width=320"; that of the only one is empty
  std::vector<PlanIo> inputs;
  std::vector<PlanIo> outputs;        // the network's, then those that hold counts only
  uint32_t visible_outputs = 0;       // how many are the network's
  std::vector<OutputExtent> extents;  // ordered by output, then dim
  std::vector<KeptState> states;      // ordered by input
  std::vector<Variant> variants;      // the first is the default
};

struct PlanModel {
  PlanInfo info;
  std::string codlc_version;
  std::vector<PlanBlob> blobs;
  std::vector<const KernelInfo*> kernels;  // that steps use, by id
  std::vector<PlanEntry> entries;          // the first is the default
};

// Names a variant for people: of which entry it is, if the plan has several.
inline std::string full_name(const PlanEntry& entry, const std::string& variant) {
  return entry.name.empty() ? variant : variant + " of " + entry.name;
}

}  // namespace codl
