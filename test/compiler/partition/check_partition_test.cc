// Has one plan that passes, and one broken copy of it per rule.
#include <functional>

#include "compiler/partition/partition_plan.h"
#include "compiler/partition/split_geometry.h"
#include "test/support/catch.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

const KernelInfo* row_of(OpKind op, Processor processor) {
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.op == op && kernel.processor == processor) return &kernel;
  return nullptr;
}

NodePartition whole(ir::NodeId node, OpKind op) {
  NodePartition node_partition;
  node_partition.node = node;
  node_partition.parts.push_back(
      {Processor::Cpu, row_of(op, Processor::Cpu), kBuffers, {0, 1}, {0, 1}, 1});
  return node_partition;
}

NodePartition split(ir::NodeId node, SplitDim dim, int32_t cut, int32_t extent) {
  NodePartition node_partition;
  node_partition.node = node;
  node_partition.dim = dim;
  node_partition.parts.push_back(
      {Processor::Gpu, row_of(OpKind::Conv2d, Processor::Gpu), kBuffers, {0, cut}, {0, cut}, 1});
  node_partition.parts.push_back({Processor::Cpu,
                                  row_of(OpKind::Conv2d, Processor::Cpu),
                                  kBuffers,
                                  {cut, extent},
                                  {cut, extent},
                                  1});
  return node_partition;
}

// x -> a -> b -> c -> y: a and b are a chain at row 8 of 16 (a computes one row more); c is split
// along output channels at 16 of 32.
struct Fixture {
  ir::Graph graph;
  PartitionPlan plan;
  Fixture() {
    test::GraphBuilder builder(16, 16, 16);
    const ir::ValueId a = builder.conv("a", builder.input(), 16);
    const ir::ValueId b = builder.conv("b", a, 16);
    graph = builder.finish(builder.conv("c", b, 32));
    plan.node_partitions = {whole(0, OpKind::Convert), split(1, SplitDim::Height, 8, 16),
                            split(2, SplitDim::Height, 8, 16),
                            split(3, SplitDim::OutputChannel, 16, 32), whole(4, OpKind::Convert)};
    plan.node_partitions[1].parts[0].computed = {0, 9};
    plan.node_partitions[1].parts[1].computed = {7, 16};
    plan.node_partitions[1].chain = plan.node_partitions[2].chain = 0;
    plan.chains.push_back({{1, 2}});
  }
};

std::string fault_after(const std::function<void(PartitionPlan&)>& change) {
  Fixture fixture;
  change(fixture.plan);
  return llvm::toString(check_partition(fixture.graph, fixture.plan));
}

TEST_CASE("a plan that keeps the rules passes") {
  CHECK(fault_after([](PartitionPlan&) {}).empty());
}

TEST_CASE("check_partition finds each broken rule") {
  using Catch::Contains;
  CHECK_THAT(fault_after([](PartitionPlan& p) { p.node_partitions.pop_back(); }),
             Contains("one node_partition per node"));
  CHECK_THAT(fault_after([](PartitionPlan& p) { p.node_partitions[0].parts.clear(); }),
             Contains("one or two parts"));
  CHECK_THAT(fault_after([](PartitionPlan& p) { p.node_partitions[1].dim = SplitDim::None; }),
             Contains("split dim"));
  CHECK_THAT(fault_after([](PartitionPlan& p) {
               p.node_partitions[3].parts[1].processor = Processor::Gpu;
             }),
             Contains("different processors"));
  CHECK_THAT(fault_after([](PartitionPlan& p) { p.node_partitions[3].parts[0].kernel = nullptr; }),
             Contains("expected a kernel"));
  CHECK_THAT(
      fault_after([](PartitionPlan& p) {
        p.node_partitions[3].parts[0].owned = p.node_partitions[3].parts[0].computed = {0, 0};
      }),
      Contains("owned in computed"));
  CHECK_THAT(
      fault_after([](PartitionPlan& p) {
        p.node_partitions[3].parts[1].computed = p.node_partitions[3].parts[1].owned = {16, 40};
      }),
      Contains("owned in computed"));
  CHECK_THAT(
      fault_after([](PartitionPlan& p) {
        p.node_partitions[3].parts[0].computed = p.node_partitions[3].parts[0].owned = {0, 8};
        p.node_partitions[3].parts[1].computed = p.node_partitions[3].parts[1].owned = {8, 32};
      }),
      Contains("multiples of 16"));
  CHECK_THAT(fault_after([](PartitionPlan& p) {
               p.node_partitions[1].parts[0].owned = {0, 7};
             }),
             Contains("gap or overlap"));
  CHECK_THAT(fault_after([](PartitionPlan& p) {
               p.node_partitions[1].parts[0].owned = {0, 9};
             }),
             Contains("gap or overlap"));
  CHECK_THAT(fault_after([](PartitionPlan& p) {
               p.node_partitions[1].parts[1].owned = {8, 15};
             }),
             Contains("an end at"));
  CHECK_THAT(fault_after([](PartitionPlan& p) {
               p.node_partitions[3].parts[0].computed = {0, 32};
             }),
             Contains("outside a chain"));
  CHECK_THAT(fault_after([](PartitionPlan& p) {
               p.node_partitions[1].parts[0].computed = {0, 8};
             }),
             Contains("computed on the same processor"));
  CHECK_THAT(fault_after([](PartitionPlan& p) { p.chains[0].nodes = {1}; }),
             Contains("two nodes or more"));
  CHECK_THAT(fault_after([](PartitionPlan& p) {
               p.chains[0].nodes = {1, 3};
             }),
             Contains("connected"));
  CHECK_THAT(fault_after([](PartitionPlan& p) { p.node_partitions[2].chain = 1; }),
             Contains("a member of chain"));
}

TEST_CASE("a chain that a path leaves and re-enters is not convex") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId b = builder.conv("b", a, 16);
  const ir::Graph graph = builder.finish(builder.add("sum", b, a));
  PartitionPlan plan;
  plan.node_partitions = {whole(0, OpKind::Convert), split(1, SplitDim::Height, 8, 16),
                          whole(2, OpKind::Conv2d), split(3, SplitDim::Height, 8, 16),
                          whole(4, OpKind::Convert)};
  plan.node_partitions[3].parts[0].kernel = row_of(OpKind::Binary, Processor::Gpu);
  plan.node_partitions[3].parts[1].kernel = row_of(OpKind::Binary, Processor::Cpu);
  plan.node_partitions[1].chain = plan.node_partitions[3].chain = 0;
  plan.chains.push_back({{1, 3}});
  CHECK_THAT(llvm::toString(check_partition(graph, plan)), Catch::Contains("convex"));
}

// In x -> a, b -> sum -> c, one chain cuts a, b and the sum at channel 16 of 32.
TEST_CASE("a node of a chain of channels reads what its own processor makes") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", builder.input(), 32);
  const ir::ValueId sum = builder.add("sum", a, b);
  const ir::Graph graph = builder.finish(builder.conv("c", sum, 32));
  PartitionPlan plan;
  plan.node_partitions = {whole(0, OpKind::Convert)};
  for (ir::NodeId node : {1, 2, 3, 4})
    plan.node_partitions.push_back(split(node, SplitDim::OutputChannel, 16, 32));
  plan.node_partitions.push_back(whole(5, OpKind::Convert));
  plan.node_partitions[3].parts[0].kernel = row_of(OpKind::Binary, Processor::Gpu);
  plan.node_partitions[3].parts[1].kernel = row_of(OpKind::Binary, Processor::Cpu);
  const auto fault_with_chain = [&](std::vector<ir::NodeId> nodes, const PartitionPlan& of) {
    PartitionPlan chained = of;
    for (ir::NodeId node : nodes) chained.node_partitions[node].chain = 0;
    chained.chains.push_back({std::move(nodes)});
    return llvm::toString(check_partition(graph, chained));
  };
  CHECK(fault_with_chain({1, 2, 3}, plan) == "");
  CHECK_THAT(fault_with_chain({1, 2, 3, 4}, plan),
             Catch::Contains("expected channels [0,32) of sum computed on the same processor"));
  PartitionPlan other_dim = plan;
  other_dim.node_partitions[2] = split(2, SplitDim::Height, 8, 16);
  CHECK_THAT(fault_with_chain({1, 2, 3}, other_dim), Catch::Contains("split along its dim"));
}

}  // namespace
}  // namespace codl::compiler
