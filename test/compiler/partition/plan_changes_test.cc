#include "compiler/partition/search/plan_changes.h"

#include <limits>
#include <set>

#include "compiler/partition/split_geometry.h"
#include "compiler/partition/strategies/strategy.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

// Makes no change, and notes the GPU's rows in changes of a node that is split along Height.
class Notes : public ChangeJudge {
 public:
  explicit Notes(ir::NodeId node) : node_(node) {}
  bool is_over() const override { return false; }
  bool try_change(std::optional<Change> change) override {
    if (!change) return false;
    for (const RunPtr& run : change->runs)
      for (const NodePartition& of : run->segment.node_partitions)
        if (of.node == node_ && of.dim == SplitDim::Height)
          rows_.insert(of.part_on(Processor::Gpu)->owned.end);
    return false;
  }
  const std::set<int32_t>& rows() const { return rows_; }

 private:
  const ir::NodeId node_;
  std::set<int32_t> rows_;
};

// The GPU of sd855 computes rows in waves of groups, the CPU in tiles. Between two good cuts lie
// many slower ones, so small moves of a cut do not lead from one to the other.
TEST_CASE("of a split run the cut that takes least by itself is tried, wherever the run is cut") {
  const DeviceProfile profile = test::value_of(load_device_profile("sd855"));
  const int32_t rows = GENERATE(40, 64, 96);
  const int32_t cut_now = GENERATE(8, 20, 30);
  test::GraphBuilder builder(128, rows, rows);
  const ir::Graph graph = builder.finish(builder.conv("a", builder.input(), 128));
  const LatencyPredictor predictor(profile, 0);
  const CostModel costs(graph, predictor);
  const auto split_at = [&](int32_t cut) {
    return *costs.split(1, 1, SplitDim::Height, static_cast<double>(cut) / rows);
  };
  int32_t best_cut = 0;
  double least_us = std::numeric_limits<double>::infinity();
  for (int32_t cut = 1; cut < rows; ++cut) {
    const double us = split_at(cut).compute_us;
    if (us >= least_us) continue;
    least_us = us;
    best_cut = cut;
  }
  PartitionPlan plan;
  append_segment(plan, *costs.whole(0, Processor::Cpu));
  append_segment(plan, split_at(cut_now));
  append_segment(plan, *costs.whole(2, Processor::Cpu));
  const RunList list(plan);
  const PartitionOptions options;
  const PlanChanges changes(costs, options, list);
  Notes notes(1);
  ChangesInTurn(costs, changes, list, notes).at(1);
  CAPTURE(rows, cut_now, best_cut);
  CHECK(notes.rows().count(best_cut) == 1);
}

}  // namespace
}  // namespace codl::compiler
