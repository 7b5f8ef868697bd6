// Compares tiles with the checkers of schedules and memory plans, on random small networks.
#include "compiler/memory/fit_arena.h"

#include <random>

#include "compiler/memory/memory_plan.h"
#include "compiler/partition/partition.h"
#include "compiler/simulate/timing/figures.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

TEST_CASE("nodes in tiles need less memory, in every kind of sharing") {
  std::mt19937 random(5);
  int fitted = 0;
  constexpr int kGraphs = 40;
  for (int i = 0; i < kGraphs; ++i) {
    test::GraphBuilder builder(16, 16 + static_cast<int32_t>(random() % 48), 32);
    ir::ValueId value = builder.input();
    const int32_t count = 3 + static_cast<int32_t>(random() % 4);
    for (int32_t node = 0; node < count; ++node) {
      const ir::ValueId wide = builder.conv("n" + std::to_string(node), value, 16 << random() % 3,
                                            random() % 2 == 0 ? 3 : 1, random() % 4 == 0 ? 2 : 1);
      value = wide;
    }
    const ir::Graph graph = builder.finish(builder.conv("narrow", value, 16, 3, 2));
    const Sharing sharings[] = {Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate};
    const DeviceProfile profile = test::test_profile(
        sharings[random() % 3], random() % 2 == 0 ? Layout::Nhwc : Layout::Image2d);
    const LatencyPredictor predictor(profile);
    PartitionOptions options;
    const char* strategies[] = {"cpu", "gpu", "codl", "coarse"};
    options.strategy = strategies[random() % 4];
    options.boundary_first = i % 2 == 0 ? BoundaryFirst::Always : BoundaryFirst::Never;
    const PartitionPlan plan = test::value_of(partition(graph, predictor, options));
    Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
    REQUIRE(test::error_of(plan_memory(schedule, profile)) == "");
    const uint64_t whole_bytes = arena_bytes_of(schedule, profile);
    const uint64_t max_bytes = whole_bytes * 8 / 10;
    INFO(options.strategy << " " << print(schedule));
    REQUIRE(test::error_of(fit_arena(graph, schedule, predictor, max_bytes)) == "");
    INFO(print(schedule));
    CHECK(test::error_of(check_races(graph, schedule)) == "");
    CHECK(test::error_of(check_memory_plan(schedule)) == "");
    CHECK(arena_bytes_of(schedule, profile) <= whole_bytes);
    fitted += arena_bytes_of(schedule, profile) <= max_bytes ? 1 : 0;
  }
  CHECK(fitted >= kGraphs / 2);
}

TEST_CASE("what fits is left as it is") {
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  PartitionOptions options;
  options.strategy = "cpu";
  const PartitionPlan plan = test::value_of(partition(graph, predictor, options));
  Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
  const std::string before = print(schedule);
  REQUIRE(test::error_of(fit_arena(graph, schedule, predictor, UINT64_MAX)) == "");
  CHECK(print(schedule) == before);
}

}  // namespace
}  // namespace codl::compiler
