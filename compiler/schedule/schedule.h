// Two lanes of steps over tensors: the partition plan made executable. One ordered list; each step
// has a lane and waits only on earlier steps of other lanes.
#pragma once

#include <string>
#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition_plan.h"
#include "kernels/common/contract.h"
#include "schema/plan.h"

namespace codl::compiler {

using TensorId = uint32_t;
using StepId = uint32_t;

// A value, or a window of its rows, in one memory. A value split between the lanes has up to one
// tensor per lane (one for both where they share memory).
struct Tensor {
  ir::ValueId value = ir::kNoId;
  kernels::OperandShape shape;  // bytes is filled in; 0 for images
  Storage storage = Storage::Host;
  uint32_t index = 0;  // Input, Output: which; Weights: index into Schedule::blobs
};

// A constant in one packing, shared by the parts, lanes and variants that read it so.
struct Blob {
  ir::ValueId value = ir::kNoId;
  Packing packing = Packing::None;
  int32_t groups = 1;  // of the convolution whose weights it is
  uint64_t bytes = 0;
  friend bool operator==(const Blob&, const Blob&) = default;
};

struct Step {
  StepKind kind = StepKind::Kernel;
  Lane lane = Lane::Cpu;
  const KernelRow* kernel = nullptr;  // of a Kernel step
  ir::OpParams params;
  llvm::SmallVector<TensorId, 6> operands;  // the output is the last
  SplitDim part_dim = SplitDim::None;
  Range part;
  llvm::SmallVector<int32_t, 4> tile;
  MapAccess map_access = MapAccess::Read;
  llvm::SmallVector<StepId, 4> waits;  // sorted; earlier steps of other lanes
  double predicted_us = 0;
  double call_us = 0;           // of an Upload or Download: what its call takes of the host
  double moved_bytes = 0;       // the same
  std::string name;             // of the node
  ir::NodeId node = ir::kNoId;  // kNoId for an exchange
  Range owned;                  // of a split node's part: without the halo computed twice

  // The step as its contract sees it; `shapes` (kMaxOperands) must outlive the result.
  kernels::StepShape shape(llvm::ArrayRef<Tensor> tensors, kernels::OperandShape* shapes) const;
  // True if the step writes tensor operands[i]; every other operand it reads.
  bool writes(size_t i) const {
    return kind != StepKind::Map && kind != StepKind::Unmap && i + 1 == operands.size();
  }
};

struct Schedule {
  std::string name;                 // of the variant: "coexec", "cpu", "gpu"
  Sharing sharing = Sharing::None;  // the profile's, if there are steps of several lanes
  Gate gate = Gate::HostEnqueue;
  std::vector<Tensor> tensors;
  std::vector<Blob> blobs;
  std::vector<Step> steps;
  double predicted_us = 0;  // simulate()
};

// Turns a partition plan into steps: per value and lane one tensor (window: the rows the lane
// computes or reads), one kernel step per part, exchange steps by the profile's sharing, waits.
llvm::Expected<Schedule> make_schedule(const ir::Graph& graph, const PartitionPlan& plan,
                                       const DeviceProfile& profile, llvm::StringRef variant);

// Independent of how the schedule was made: for every pair of steps on different lanes that touch
// overlapping rows and channels of one tensor, at least one writing, one is ordered before the
// other by waits and lane order; everything a step reads was written by ordered steps. Internal
// error: names both steps.
llvm::Error check_races(const ir::Graph& graph, const Schedule& schedule);

// "12 gpu conv2d_f32_cl_image rows[0,78) of 112 in=t4 out=t7 waits=[9] predicted=412us"
std::string print(const Schedule& schedule);

}  // namespace codl::compiler
