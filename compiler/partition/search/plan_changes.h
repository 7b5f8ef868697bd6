// Makes and tries changes of a plan.
#pragma once

#include <optional>
#include <vector>

#include "compiler/partition/branch_regions.h"
#include "compiler/partition/search/runs.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {

// Runs [begin, end) of a plan, and others of the same nodes in their place.
struct Change {
  size_t begin = 0;
  size_t end = 0;
  Runs runs;
};

// Makes changes of the plan that a list has at the time. Each function returns nothing where nodes
// cannot be placed so.
class PlanChanges {
 public:
  // Borrows all.
  PlanChanges(const CostModel& costs, const PartitionOptions& options, const RunList& list)
      : costs_(costs), list_(list), maker_(costs, options) {}

  // Places nodes [first, last] in one run or, on one processor, in runs of one node. Other nodes of
  // their old runs stay as they are placed.
  std::optional<Change> placed(ir::NodeId first, ir::NodeId last, const RunSpec& spec) const;
  // Does the same with a run for each node; those that cannot be split so stay on the CPU.
  std::optional<Change> apart(ir::NodeId first, ir::NodeId last, const RunSpec& spec) const;
  // Places each of nodes [first, last] as `spec_of` says; null leaves it as it is. Neighbours of
  // one run that go to one place are one run there, too.
  std::optional<Change> each_placed(
      ir::NodeId first, ir::NodeId last,
      llvm::function_ref<const RunSpec*(ir::NodeId node)> spec_of) const;
  // Returns the GPU's share of a split run, more by `by`, or by as much as moves a cut. Returns
  // nothing where none can be moved so.
  std::optional<double> moved_share(const Run& run, double by) const;

 private:
  std::optional<Change> in_runs(ir::NodeId first, ir::NodeId last,
                                llvm::function_ref<bool(Runs& runs)> add) const;

  const CostModel& costs_;
  const RunList& list_;
  const RunMaker maker_;
};

// Says what becomes of changes.
class ChangeJudge {
 public:
  // Returns true if nothing more is tried.
  virtual bool is_over() const = 0;
  // Makes the change if it helps, and says whether it did.
  virtual bool try_change(std::optional<Change> change) = 0;

 protected:
  ~ChangeJudge() = default;
};

// Tries one change after the other at a place of the plan; each goes on from what the one before
// has made of it.
class ChangesInTurn {
 public:
  // Borrows all.
  ChangesInTurn(const CostModel& costs, const PlanChanges& changes, const RunList& list,
                ChangeJudge& judge)
      : costs_(costs),
        changes_(changes),
        list_(list),
        judge_(judge),
        node_count_(list.node_count()),
        regions_(branch_regions(costs.graph())) {}

  // Tries all changes that begin at `node`, if a run begins there: other cuts, a chain longer or
  // shorter, another dim, one processor, windows of nodes. Returns true if one helped; so do all
  // functions below.
  bool at(ir::NodeId node);
  // Every way to have nodes [first, last] whole, each on one processor or the other.
  bool mixes(ir::NodeId first, ir::NodeId last);
  // Tries whole branches of regions between nodes [first, last].
  bool of_branches(ir::NodeId first, ir::NodeId last);

 private:
  // This many cuts of a run are compared by costs, and this many judged.
  static constexpr int32_t kMaxCuts = 64;
  static constexpr size_t kBestCuts = 3;

  bool boundaries(ir::NodeId node);
  bool shares(ir::NodeId node);
  llvm::SmallVector<double, kBestCuts> best_shares(const Run& run) const;
  bool ends(ir::NodeId node);
  bool assignments(ir::NodeId node);
  bool windows(ir::NodeId node);

  bool try_placed(ir::NodeId first, ir::NodeId last, const RunSpec& spec) {
    return !judge_.is_over() && judge_.try_change(changes_.placed(first, last, spec));
  }
  bool try_apart(ir::NodeId first, ir::NodeId last, const RunSpec& spec) {
    return !judge_.is_over() && judge_.try_change(changes_.apart(first, last, spec));
  }
  bool is_placed(ir::NodeId first, ir::NodeId last, const RunSpec& spec) const;
  // Returns the places on one processor.
  llvm::SmallVector<RunSpec, 3> whole_places() const;
  // Holds the GPU's share at which both processors would end together, and the forms in which it
  // is largest.
  struct BestSplit {
    double gpu_share = 0;
    FormPair forms;
  };
  std::optional<BestSplit> best_split(ir::NodeId first, ir::NodeId last) const;

  const CostModel& costs_;
  const PlanChanges& changes_;
  const RunList& list_;
  ChangeJudge& judge_;
  const ir::NodeId node_count_;
  const std::vector<BranchRegion> regions_;
};

}  // namespace codl::compiler
