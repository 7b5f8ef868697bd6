// A property of the default strategy's plans for each rule that it goes by.
#include "compiler/partition/optimal.h"

#include <cmath>

#include "compiler/partition/partition.h"
#include "compiler/simulate/plan_times.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

Optimum optimum_of(const ir::Graph& graph, const DeviceProfile& profile) {
  const LatencyPredictor predictor(profile, 0);
  PlanTimes times(graph, predictor);
  PartitionOptions options;
  options.search_budget = 600;
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

// 38 million multiply-adds each, 38 us on either processor; 1.2 us of halo in a chain.
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
  const Optimum dear = optimum_of(graph, profile);
  REQUIRE(dear.plan.chains.size() == 1);
  CHECK(dear.plan.chains[0].nodes.size() == 3);
  profile.transfer.sync_us.value = 0.01;
  const Optimum cheap = optimum_of(graph, profile);
  CHECK(cheap.plan.chains.empty());
  CHECK(count_split(cheap.plan) == 3);
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

TEST_CASE("the time that the search says is the plan's, and its bound is below") {
  for (const Sharing sharing : {Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate}) {
    const DeviceProfile profile = test::test_profile(sharing, Layout::Image2d);
    const ir::Graph graph = line_of_convs();
    const Optimum found = optimum_of(graph, profile);
    const LatencyPredictor predictor(profile, 0);
    PlanTimes times(graph, predictor);
    CHECK(std::llround(test::value_of(times.time_us(found.plan)) * 1e3) == found.predicted_ns);
    CHECK(found.bound_us * 1e3 <= static_cast<double>(found.predicted_ns));
    CHECK(test::error_of(check_partition(graph, found.plan)) == "");
  }
}

}  // namespace
}  // namespace codl::compiler
