// Two queues of steps over tensors: the partition plan made executable. One ordered list; each step
// has a queue and waits only on earlier steps of other queues.
#pragma once

#include <string>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition_plan.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// A constant in one packing, shared by the parts, queues and variants that read it so.
struct Blob {
  ir::ValueId value = ir::kNoId;
  Packing packing = Packing::None;
  int32_t groups = 1;  // groups of the convolution that reads the weights
  uint64_t bytes = 0;
  friend bool operator==(const Blob&, const Blob&) = default;
};

// A variant of the plan, and what only the compiler asks of its tensors and steps.
struct Schedule : Variant {
  std::vector<ir::ValueId> values;  // indexed by tensor
  std::vector<ir::NodeId> nodes;    // indexed by step; kNoId for a transfer
  std::vector<Blob> blobs;  // Tensor::index of Weights; a plan numbers those of all variants
};

// Turns a partition plan into steps: per value and queue one tensor (window: the rows the queue
// computes or reads), one kernel step per part, transfer steps by the profile's sharing, waits.
// Nothing is placed in memory, and no time is predicted.
llvm::Expected<Schedule> make_schedule(const ir::Graph& graph, const PartitionPlan& plan,
                                       const LatencyPredictor& predictor, llvm::StringRef variant);

// Independent of how the schedule was made: for every pair of steps on different queues that touch
// overlapping rows and channels of one tensor, at least one writing, one is ordered before the
// other by waits and queue order; everything a step reads was written by ordered steps. Internal
// error: names both steps.
llvm::Error check_races(const ir::Graph& graph, const Schedule& schedule);

// Independent of how kernels and tiles were chosen: no work-group takes more work-items or local
// memory than the device has. Internal error: names the step.
llvm::Error check_work_groups(const Variant& variant, const DeviceProfile& profile);

// "12 gpu conv2d_f32_cl_image rows[0,78) of 112 in=t4 out=t7 waits=[9] predicted=412us"
std::string print(const Variant& variant);

}  // namespace codl::compiler
