// Counts the bytes of weights that a plan's steps read.
#pragma once

#include <vector>

#include "compiler/device/device_profile.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition_plan.h"
#include "llvm/ADT/DenseMap.h"

namespace codl::compiler {

// Counts weights for plans that differ little from one to the next.
class WeightCount {
 public:
  // Borrows both.
  WeightCount(const ir::Graph& graph, const DeviceProfile& profile);

  // Returns what weight_mbytes() says of the plan's schedule. Where no cache of the profile keeps
  // weights, it is zero or infinity: without or with any.
  double mbytes_of(const PartitionPlan& plan);

 private:
  void add(const NodePartition& node_partition, int32_t by);

  const ir::Graph& graph_;
  const bool is_counted_;
  const bool has_weights_;
  std::vector<NodePartition> counted_;  // those of the plan before
  // Counts the parts that read a constant in a packing and groups.
  llvm::DenseMap<std::pair<ir::ValueId, uint64_t>, int32_t> readers_;
  uint64_t bytes_ = 0;
};

}  // namespace codl::compiler
