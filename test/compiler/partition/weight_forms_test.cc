// Tests how many bytes of weights plans have, and which forms of weights are chosen.
#include "compiler/partition/weight_forms.h"

#include "compiler/partition/partition.h"
#include "kernels/conv2d/winograd.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

// Winograd's method is the fastest for both convolutions: "early" has 9,216 weights and computes
// 4,096 pixels, "late" has 589,824 and computes 256.
ir::Graph early_and_late() {
  test::GraphBuilder builder(32, 64, 64);
  // "late" comes first, because the graph's order must not decide.
  const ir::ValueId late = builder.conv("late", builder.conv("a", builder.input(), 256, 1, 4), 256);
  const ir::ValueId early = builder.conv("early", builder.input(), 32);
  return builder.finish(builder.add("sum", late, builder.conv("b", early, 256, 1, 4)));
}

DeviceProfile profile_with_winograd() {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  llvm::erase_if(profile.unused_kernels, [](uint16_t id) {
    return kernels::winograd_outputs(kKernelInfos[id - 1].packing) != 0;
  });
  return profile;
}

struct Plans {
  PartitionPlan plan(const std::string& strategy, std::vector<PackingSet> packings = {}) const {
    PartitionOptions options;
    options.strategy = strategy;
    options.packings = std::move(packings);
    return value_of(partition(graph, predictor, options));
  }
  uint64_t bytes_of(llvm::ArrayRef<PartitionPlan> plans) const {
    StoredWeights weights(graph);
    for (const PartitionPlan& plan : plans) weights.add(plan);
    return weights.bytes();
  }
  std::vector<PackingSet> chosen(uint64_t most_bytes,
                                 llvm::ArrayRef<PartitionPlan> made = {}) const {
    StoredWeights stored(graph);
    for (const PartitionPlan& plan : made) stored.add(plan);
    return choose_packings(graph, predictor, {}, plan("cpu"), stored, most_bytes);
  }
  PackingKind packing_in(const PartitionPlan& plan, llvm::StringRef name) const {
    for (const NodePartition& placed : plan.node_partitions)
      if (graph.node(placed.node).name == name) return placed.parts.front().kernel->packing;
    FAIL("no node " << name.str());
    return PackingKind::None;
  }

  const ir::Graph graph = early_and_late();
  const DeviceProfile profile = profile_with_winograd();
  const LatencyPredictor predictor{profile};
};

TEST_CASE("weights that parts, processors and variants read in one packing are stored once") {
  const Plans plans;
  const std::vector<PackingSet> plain(
      plans.graph.nodes().size(),
      kAllPackings & ~bit_of({PackingKind::Winograd2}) & ~bit_of({PackingKind::Winograd4}));
  const PartitionPlan on_cpu = plans.plan("cpu", plain);
  const PartitionPlan on_gpu = plans.plan("gpu", plain);
  const PartitionPlan on_both = plans.plan("mulayer", plain);
  REQUIRE(on_both.node_partitions[1].is_split());
  const uint64_t bytes = plans.bytes_of(on_cpu);
  CHECK(plans.bytes_of({on_cpu, on_gpu, on_both}) == bytes);
  // 4 * 9 * 32 * 32, 4 * 32 * 256 and 4 * 9 * 256 * 256 bytes are whole pages, and each bias takes
  // one.
  CHECK(bytes == 36864 + 2 * 32768 + 2359296 + 4 * 4096);
  // Both packings count if the variants use different ones: "early" 36 of 9, "late" too.
  CHECK(plans.bytes_of({on_cpu, plans.plan("cpu")}) == bytes + 4 * (36864 + 2359296));
}

TEST_CASE("transforms are taken where they save most time per byte, as far as they fit") {
  const Plans plans;
  const PartitionPlan free = plans.plan("cpu");
  REQUIRE(plans.packing_in(free, "early") == PackingKind::Winograd4);
  REQUIRE(plans.packing_in(free, "late") == PackingKind::Winograd4);
  const uint64_t least = plans.bytes_of(plans.plan("cpu", plans.chosen(0)));
  CHECK(least == 36864 + 2 * 32768 + 2359296 + 4 * 4096);

  // There is room for the transform of "early", in place of its plain form, and for no more.
  const uint64_t most_bytes = least + 3 * 36864;
  const PartitionPlan kept = plans.plan("cpu", plans.chosen(most_bytes));
  CHECK(plans.packing_in(kept, "early") == PackingKind::Winograd4);
  CHECK(plans.packing_in(kept, "late") == PackingKind::ConvPanels);
  CHECK(plans.bytes_of(kept) == most_bytes);

  // With a byte less, the smaller transform is chosen.
  const PartitionPlan smaller = plans.plan("cpu", plans.chosen(most_bytes - 1));
  CHECK(plans.packing_in(smaller, "early") == PackingKind::Winograd2);
  CHECK(plans.bytes_of(smaller) < most_bytes);

  // There is room for the smaller transform of "late", but "early" saves more for its bytes.
  const PartitionPlan better = plans.plan("cpu", plans.chosen(least + 2359296 * 7 / 9));
  CHECK(plans.packing_in(better, "early") == PackingKind::Winograd4);
  CHECK(plans.packing_in(better, "late") == PackingKind::ConvPanels);

  // There is room for all, so the plan is the same as without a limit.
  CHECK(plans.bytes_of(plans.plan("cpu", plans.chosen(plans.bytes_of(free)))) ==
        plans.bytes_of(free));
}

TEST_CASE("weights that another entry of the plan has cost nothing, whatever they are called") {
  const Plans plans;
  const PartitionPlan cpu = plans.plan("cpu");
  StoredWeights first(plans.graph);
  first.add(cpu);
  WeightsOfEntries others;
  first.add_to(others);
  CHECK(others.bytes == first.bytes());
  ir::Graph graph = plans.graph;
  for (ir::ValueId id = 0; id < graph.values().size(); ++id) graph.value(id).name += "_2";
  StoredWeights second(graph, others);
  CHECK(second.bytes() == first.bytes());
  second.add(cpu);
  CHECK(second.bytes() == first.bytes());
  for (ir::ValueId id = 0; id < graph.values().size(); ++id)
    CHECK(second.packings_of(id) == first.packings_of(id));

  // Other bytes are stored beside them.
  for (ir::ValueId id = 0; id < graph.values().size(); ++id) {
    ir::Value& value = graph.value(id);
    if (value.name != "late_w_2") continue;
    std::vector<uint8_t> bytes(value.bytes.begin(), value.bytes.end());
    bytes[0] ^= 1;
    value.bytes = std::move(bytes);
  }
  StoredWeights other(graph, others);
  other.add(cpu);
  CHECK(other.bytes() > first.bytes());
}

TEST_CASE("what a plan has already costs a variant nothing") {
  const Plans plans;
  const PartitionPlan free = plans.plan("cpu");
  const uint64_t bytes = plans.bytes_of(free);
  const PartitionPlan next = plans.plan("cpu", plans.chosen(bytes, free));
  CHECK(plans.packing_in(next, "late") == PackingKind::Winograd4);
  CHECK(plans.bytes_of({free, next}) == bytes);
}

}  // namespace
}  // namespace codl::compiler
