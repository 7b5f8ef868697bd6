// A schedule is the partition plan made executable: one ordered list of steps over tensors. Each
// step has a queue and waits only for earlier steps of other queues.
#pragma once

#include <string>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition_plan.h"
#include "schema/plan_model.h"

namespace codl::compiler {

// Holds a constant in one packing; all parts, queues and variants that read it so share it.
struct Blob {
  ir::ValueId value = ir::kNoId;
  Packing packing;
  int32_t groups = 1;  // groups of the convolution that reads the weights
  uint64_t bytes = 0;
  friend bool operator==(const Blob&, const Blob&) = default;
};

// Holds a variant of the plan, with facts about its tensors and steps that only the compiler needs.
struct Schedule : Variant {
  std::vector<ir::ValueId> values;  // indexed by tensor
  std::vector<ir::NodeId> nodes;    // indexed by step; kNoId for a transfer
  std::vector<Blob> blobs;  // Tensor::index of Weights; a plan numbers blobs over all variants
};

// Turns a partition plan into steps: one tensor per value and queue (a window: the rows that the
// queue computes or reads), one kernel step per part, transfer steps as the profile's sharing needs
// them, and waits. It places nothing in memory and predicts no time.
llvm::Expected<Schedule> make_schedule(const ir::Graph& graph, const PartitionPlan& plan,
                                       const LatencyPredictor& predictor, llvm::StringRef variant);

// Checks a schedule without knowing how it was made. Two steps on different queues that touch
// overlapping rows and channels of one tensor, at least one writing, must be ordered by waits and
// queue order; and ordered steps must have written everything that a step reads. The Internal error
// names both steps.
llvm::Error check_races(const ir::Graph& graph, const Schedule& schedule);

// Checks, without knowing how kernels and tiles were chosen, that work-groups have room on the
// device: has_room_for_group() of kernels/work_table.h. The Internal error names the step.
llvm::Error check_work_groups(const Variant& variant, const DeviceProfile& profile);

// Prints lines like "12 gpu conv2d_f32_cl_image rows[0,78) of 112 in=t4 out=t7 waits=[9]
// predicted=412us".
std::string print(const Variant& variant);

}  // namespace codl::compiler
