// Keeps nodes where the user has put them (--place), whatever a strategy would do with them.
#pragma once

#include "compiler/partition/cost_model.h"
#include "compiler/partition/limits.h"

namespace codl::compiler {

class UserPlaces {
 public:
  // Errors: Input (no node of that name, with the nearest; a node named twice), Limit (no kernel
  // computes it there: the message has where it can be). Borrows the costs.
  static llvm::Expected<UserPlaces> create(const CostModel& costs, llvm::ArrayRef<UserPlace> asked);

  bool empty() const { return places_.empty(); }

  // Puts the nodes where they are asked for. A node that is somewhere else in `plan` leaves its
  // chain, whose other nodes go on as one or two shorter ones.
  llvm::Error apply(PartitionPlan& plan) const;

  // Returns true if all nodes are where they are asked for.
  bool are_kept(const PartitionPlan& plan) const;

 private:
  explicit UserPlaces(const CostModel& costs) : costs_(&costs) {}

  struct Place {
    ir::NodeId node = ir::kNoId;
    Segment segment;  // the node alone
  };
  static bool is_kept(const Place& place, const NodePartition& node_partition);

  const CostModel* costs_;
  std::vector<Place> places_;  // sorted by node
};

}  // namespace codl::compiler
