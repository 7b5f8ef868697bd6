// A partition plan as a search changes it: runs of nodes that are placed alike.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compiler/partition/cost_model.h"
#include "compiler/partition/options.h"

namespace codl::compiler {

// How nodes are placed, before kernels are chosen.
struct How {
  Placement placement = Placement::Cpu;
  double gpu_share = 0;        // of a split
  Layout maps = Layout::Nhwc;  // that the GPU prefers

  bool is_split() const {
    return placement == Placement::Height || placement == Placement::OutputChannel;
  }
};

// Consecutive nodes of the graph that are placed alike.
struct Run {
  ir::NodeId first = 0;
  ir::NodeId last = 0;
  How how;
  Segment segment;  // what it comes to

  size_t count() const { return last - first + 1; }
};
using RunPtr = std::shared_ptr<const Run>;
using Runs = std::vector<RunPtr>;  // of the whole graph, or of a stretch of it

Runs runs_of(const PartitionPlan& plan);
PartitionPlan plan_of(const Runs& runs);

// Where the run leaves what its last node makes.
ValuePlace place_of(const Run& run);

// Microseconds of the slower processor.
double compute_us(const Run& run);

// The same parts in the same chains.
bool is_alike(llvm::ArrayRef<RunPtr> a, llvm::ArrayRef<RunPtr> b);

class RunMaker {
 public:
  // Borrows both.
  RunMaker(const CostModel& costs, const PartitionOptions& options)
      : costs_(costs), options_(options) {}

  // Appends nodes [first, last] as one run or, on one processor, as runs of one node each; a node
  // that cannot be there stays where it can. False if they cannot be placed so.
  bool add(Runs& runs, ir::NodeId first, ir::NodeId last, const How& how) const;

 private:
  std::optional<Run> make(ir::NodeId first, ir::NodeId last, const How& how) const;
  bool add_whole(Runs& runs, ir::NodeId first, ir::NodeId last, const How& how) const;

  const CostModel& costs_;
  const PartitionOptions& options_;
};

}  // namespace codl::compiler
