// Represents a partition plan as a search changes it: runs of nodes that are placed alike.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compiler/partition/cost_model.h"
#include "compiler/partition/options.h"

namespace codl::compiler {

// Says how nodes are placed, before kernels are chosen.
struct RunSpec {
  Assignment assignment = Assignment::Cpu;
  double gpu_share = 0;           // set if split
  FormPair forms = kBothBuffers;  // that are preferred
  // Says, by processor, whether its parts are Part::boundary_first in a split along Height.
  std::array<bool, 2> boundary_first = {true, true};

  bool is_split() const {
    return assignment == Assignment::Height || assignment == Assignment::OutputChannel;
  }
  // Serves splits only.
  SplitDim dim() const {
    return assignment == Assignment::Height ? SplitDim::Height : SplitDim::OutputChannel;
  }
};

// Spans consecutive nodes of the graph that are placed alike.
struct Run {
  ir::NodeId first = 0;
  ir::NodeId last = 0;
  RunSpec spec;
  Segment segment;   // the resulting segment
  uint64_t key = 0;  // key of its parts, which differs from other runs'

  size_t count() const { return last - first + 1; }
};
using RunPtr = std::shared_ptr<const Run>;
using Runs = std::vector<RunPtr>;  // cover the whole graph, or a stretch of it

Runs runs_of(const PartitionPlan& plan);
PartitionPlan plan_of(const Runs& runs);

// Returns the microseconds of the slower processor.
double compute_us(const Run& run);

// Combines runs' keys, in whatever order.
uint64_t key_of(llvm::ArrayRef<RunPtr> runs);

// Holds the runs of a whole plan, and the plan that they come to.
class RunList {
 public:
  explicit RunList(const PartitionPlan& plan);

  const Runs& runs() const { return runs_; }
  // Every chain has the number of its first node.
  const PartitionPlan& plan() const { return plan_; }
  ir::NodeId node_count() const { return static_cast<ir::NodeId>(plan_.node_partitions.size()); }

  size_t index_at(ir::NodeId node) const;
  const Run& at(ir::NodeId node) const { return *runs_[index_at(node)]; }
  // Returns a run that is kept longer than until the next change.
  RunPtr held_at(ir::NodeId node) const { return runs_[index_at(node)]; }
  llvm::ArrayRef<RunPtr> stretch(size_t begin, size_t end) const {
    return llvm::makeArrayRef(runs_).slice(begin, end - begin);
  }

  // Puts runs into the plan alone: to be looked at.
  void show(llvm::ArrayRef<RunPtr> runs);
  // Runs [begin, end) replaced by others of the same nodes, which are shown.
  void replace(size_t begin, size_t end, Runs runs);
  void go_back_to(const Runs& runs);

 private:
  Runs runs_;
  PartitionPlan plan_;
};

class RunMaker {
 public:
  // Borrows both.
  RunMaker(const CostModel& costs, const PartitionOptions& options)
      : costs_(costs), options_(options) {}

  // Appends nodes [first, last] as one run or, on one processor, as runs of one node each; a node
  // that cannot be there stays where it can. Returns false if they cannot be placed so.
  bool add(Runs& runs, ir::NodeId first, ir::NodeId last, const RunSpec& spec) const;

 private:
  std::optional<Run> make(ir::NodeId first, ir::NodeId last, const RunSpec& spec) const;
  bool add_whole(Runs& runs, ir::NodeId first, ir::NodeId last, const RunSpec& spec) const;

  const CostModel& costs_;
  const PartitionOptions& options_;
};

}  // namespace codl::compiler
