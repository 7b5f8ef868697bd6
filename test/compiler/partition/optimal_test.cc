// Tests a property of the default strategy's plans for each of its rules.
#include "compiler/partition/search/optimal.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/partition/partition.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/partition/value_tensors.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/plan_times.h"
#include "test/compiler/support/partition_text.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

Optimum optimum_of(const ir::Graph& graph, const DeviceProfile& profile,
                   BoundaryFirst boundary_first = BoundaryFirst::Auto) {
  const LatencyPredictor predictor(profile, 0);
  PlanTimes times(graph, predictor);
  PartitionOptions options;
  options.search_budget = 600;
  options.boundary_first = boundary_first;
  return test::value_of(optimal_partition(
      graph, predictor, options, [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
        auto us = times.time_us(plan);
        if (!us) return us.takeError();
        return std::llround(*us * 1e3);
      }));
}

size_t count_split(const PartitionPlan& plan) {
  return static_cast<size_t>(llvm::count_if(
      plan.node_partitions,
      [](const NodePartition& node_partition) { return node_partition.is_split(); }));
}

// Each convolution has 38 million multiply-adds, 38 us on either processor; a chain adds 1.2 us of
// halo.
ir::Graph line_of_convs() {
  test::GraphBuilder builder(64, 32, 32);
  const ir::ValueId a = builder.conv("a", builder.input(), 64);
  const ir::ValueId b = builder.conv("b", a, 64);
  return builder.finish(builder.conv("c", b, 64));
}

TEST_CASE("a chain is where its halo costs less than the synchronisations that it saves") {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const ir::Graph graph = line_of_convs();
  profile.transfer.sync_us.value = 8;
  const Optimum dear = optimum_of(graph, profile, BoundaryFirst::Never);
  REQUIRE(dear.plan.chains.size() == 1);
  CHECK(dear.plan.chains[0].nodes.size() == 3);
  profile.transfer.sync_us.value = 0.01;
  const Optimum cheap = optimum_of(graph, profile, BoundaryFirst::Never);
  CHECK(cheap.plan.chains.empty());
  CHECK(count_split(cheap.plan) == 3);
}

// A map of one row can only be split along channels. The sum reads the channels of its own part of
// the convolution.
TEST_CASE("channels are cut alike, and none is transferred, up to what reads all of them") {
  test::GraphBuilder builder(256, 1, 1024);
  const ir::ValueId a = builder.conv("a", builder.input(), 256, 1);
  const ir::ValueId sum = builder.add("sum", a, a);
  const ir::Graph graph = builder.finish(builder.conv("c", sum, 256, 1));
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const Optimum best = optimum_of(graph, profile);
  CHECK(count_split(best.plan) == 3);
  const LatencyPredictor predictor(profile, 0);
  const Schedule schedule = test::value_of(make_schedule(graph, best.plan, predictor, "test"));
  for (StepId id = 0; id < schedule.steps.size(); ++id)
    if (schedule.nodes[id] == node_named(graph, "sum")) CHECK(schedule.steps[id].waits.empty());
}

// Returns plans with all convolutions, which follow each other, cut at the same row, and all else
// on the CPU: in one chain, or apart.
std::vector<PartitionPlan> plans_by_rows(const CostModel& costs, bool are_chained) {
  const auto node_count = static_cast<ir::NodeId>(costs.graph().nodes().size());
  const auto is_conv = [&](ir::NodeId node) {
    return costs.graph().node(node).op == OpKind::Conv2d;
  };
  std::vector<PartitionPlan> plans;
  for (int32_t eighths = 1; eighths < 8; ++eighths)
    for (const FormPair& forms : costs.form_pairs()) {
      PartitionPlan plan;
      for (ir::NodeId first = 0; first < node_count;) {
        ir::NodeId last = first;
        while (are_chained && is_conv(first) && is_conv(last + 1)) ++last;
        append_segment(plan, is_conv(first)
                                 ? *costs.split(first, last, SplitDim::Height, eighths / 8.0, forms)
                                 : *costs.whole(first, Processor::Cpu));
        first = last + 1;
      }
      plans.push_back(std::move(plan));
    }
  return plans;
}

TEST_CASE(
    "a halo is computed twice where transferring it is dear, else transferred: those rows alone",
    "[search]") {
  const Sharing sharing = GENERATE(Sharing::SubBuffer, Sharing::Separate);
  const Layout layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  CAPTURE(sharing, layout);
  // Each takes 411 us on either processor; the halo of 7 x 7 filters, three rows of 64, takes 19
  // us.
  test::GraphBuilder builder(64, 64, 32);
  const ir::ValueId made = builder.conv("a", builder.input(), 64, 7);
  const ir::ValueId next = builder.conv("b", made, 64, 7);
  const ir::Graph graph = builder.finish(builder.conv("c", next, 64, 7));
  for (const bool is_dear : {true, false}) {
    DeviceProfile profile = test::test_profile(sharing, layout);
    profile.transfer.sync_us.value = is_dear ? 45 : 0.2;
    const LatencyPredictor predictor(profile, 0);
    const CostModel costs(graph, predictor);
    PlanTimes times(graph, predictor);
    const auto least_us = [&](bool are_chained) {
      double least = 1e9;
      for (const PartitionPlan& plan : plans_by_rows(costs, are_chained))
        least = std::min(least, test::value_of(times.time_us(plan)));
      return least;
    };
    const Optimum found = optimum_of(graph, profile, BoundaryFirst::Never);
    CHECK((least_us(true) < least_us(false)) == is_dear);
    CHECK(static_cast<double>(found.predicted_ns) <=
          1e3 * std::min(least_us(true), least_us(false)) + 1);
    CHECK(count_split(found.plan) == 3);
    CHECK(found.plan.chains.empty() != is_dear);
    for (const PartitionPlan& apart : plans_by_rows(costs, false)) {
      const Schedule schedule = test::value_of(make_schedule(graph, apart, predictor, "test"));
      for (StepId id = 0; id < schedule.steps.size(); ++id) {
        const Step& step = schedule.steps[id];
        if (schedule.nodes[id] != ir::kNoId || step.kind == StepKind::Map ||
            step.kind == StepKind::Unmap || schedule.values[step.operands[0]] != made)
          continue;
        CHECK(step.part_dim == SplitDim::Height);
        CHECK(step.part.count() == 3);
      }
    }
  }
}

// Counts nodes of which a queue computes the rows at the cut first.
size_t count_handed_over(const ir::Graph& graph, const PartitionPlan& plan,
                         const DeviceProfile& profile) {
  const TensorPlacer placer(graph, profile);
  size_t count = 0;
  for (const ir::Node& node : graph.nodes())
    count += llvm::any_of(placer.place(node.output, placer.use_of(plan, node.output)).boundary,
                          [](const Region& boundary) { return !boundary.empty(); });
  return count;
}

// The graph and device are those of the first chain above. While the rows are on their way, the
// rest of the part is computed, for 10 us and more. So a synchronisation of 8 us is hidden, and no
// halo is computed twice. Cuts that lie a row apart, so that only one queue misses some, are as
// good as any.
TEST_CASE("no chain is where what a node hands over comes while the rest is computed") {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const ir::Graph graph = line_of_convs();
  profile.transfer.sync_us.value = 8;
  const Optimum chained = optimum_of(graph, profile, BoundaryFirst::Never);
  CHECK(count_handed_over(graph, chained.plan, profile) == 0);
  const Optimum found = optimum_of(graph, profile);
  CHECK(found.plan.chains.empty());
  CHECK(count_split(found.plan) == 3);
  CHECK(count_handed_over(graph, found.plan, profile) == 2);  // the last one's output is no part's
  // The gain is the rows that a chain computes twice, 1.2 us each: the chain waits for only the
  // first and the last synchronisation, too.
  CHECK(found.predicted_ns + 2000 < chained.predicted_ns);
  // The same plan without computing anything first waits for both synchronisations.
  PartitionPlan plan = found.plan;
  set_boundary_first(plan, false);
  const LatencyPredictor predictor(profile, 0);
  PlanTimes times(graph, predictor);
  CHECK(test::value_of(times.time_us(plan)) * 1e3 >
        static_cast<double>(found.predicted_ns) + 2 * 5000);
}

// Uses the graph of the chains and of the transfers above, on all kinds of memory.
TEST_CASE("handing rows over first makes no plan slower, and those with dear transfers faster",
          "[search]") {
  const Sharing sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const Layout layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const double sync_us = GENERATE(45.0, 0.2);
  CAPTURE(sharing, layout, sync_us);
  test::GraphBuilder builder(64, 64, 32);
  const ir::ValueId a = builder.conv("a", builder.input(), 64, 7);
  const ir::Graph graph = builder.finish(builder.conv("c", builder.conv("b", a, 64, 7), 64, 7));
  DeviceProfile profile = test::test_profile(sharing, layout);
  profile.transfer.sync_us.value = sync_us;
  const Optimum without = optimum_of(graph, profile, BoundaryFirst::Never);
  const Optimum with = optimum_of(graph, profile);
  CHECK(with.predicted_ns <= without.predicted_ns);
  const Optimum always = optimum_of(graph, profile, BoundaryFirst::Always);
  for (ir::NodeId node = 0; node < graph.nodes().size(); ++node)
    for (const bool is_first : {false, true}) {
      const NodePartition& of = (is_first ? always : without).plan.node_partitions[node];
      for (const Part& part : of.parts)
        CHECK(part.boundary_first == (is_first && of.dim == SplitDim::Height));
    }
  if (sync_us > 1) {
    CHECK(count_handed_over(graph, with.plan, profile) > 0);
    CHECK(with.predicted_ns + 30000 < without.predicted_ns);
  }
}

TEST_CASE("no node is split where a synchronisation takes more than half of all work") {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  profile.transfer.sync_us.value = 60;
  CHECK(count_split(optimum_of(line_of_convs(), profile).plan) == 0);
}

TEST_CASE("the larger part is on the faster processor") {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.processor == Processor::Gpu)
      profile.kernels[kernel.id - 1].shares[Term::Compute] *= 0.4;
  const PartitionPlan plan = optimum_of(line_of_convs(), profile).plan;
  REQUIRE(count_split(plan) == 3);
  for (const NodePartition& node_partition : plan.node_partitions)
    if (node_partition.is_split())
      CHECK(node_partition.part_on(Processor::Gpu)->owned.count() >
            node_partition.part_on(Processor::Cpu)->owned.count());
}

TEST_CASE("the time that the search says is the plan's", "[search]") {
  for (const Sharing sharing : {Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate}) {
    const DeviceProfile profile = test::test_profile(sharing, Layout::Image2d);
    const ir::Graph graph = line_of_convs();
    const Optimum found = optimum_of(graph, profile);
    const LatencyPredictor predictor(profile, 0);
    PlanTimes times(graph, predictor);
    CHECK(std::llround(test::value_of(times.time_us(found.plan)) * 1e3) == found.predicted_ns);
    CHECK(test::error_of(check_partition(graph, found.plan)) == "");
  }
}

}  // namespace
}  // namespace codl::compiler
