// Compares the local search with enumeration, on random small graphs with random costs.
#include "compiler/partition/search/polish.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include "compiler/partition/partition.h"
#include "compiler/partition/split_geometry.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/plan_times.h"
#include "compiler/simulate/timing/simulate.h"
#include "llvm/Support/FormatVariadic.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"
#include "test/support/random_profile.h"

namespace codl::compiler {
namespace {

constexpr uint32_t kBudget = 2000;
// Enumeration takes seconds for a graph; with CODL_ALL_CASES set, there are many.
int32_t graph_count() {
#ifdef CODL_SLOW_RUN
  return 3;
#else
  return std::getenv("CODL_ALL_CASES") != nullptr ? 300 : 8;
#endif
}

int64_t time_ns(const ir::Graph& graph, const PartitionPlan& plan,
                const LatencyPredictor& predictor) {
  Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
  CHECK(test::error_of(predict(schedule, predictor.profile())) == "");
  return std::llround(schedule.predicted_us * 1e3);
}

std::string describe(const ir::Graph& graph, const PartitionPlan& plan) {
  std::string text;
  for (const NodePartition& node_partition : plan.node_partitions) {
    text += graph.node(node_partition.node).name + (node_partition.chain >= 0 ? " chained" : "");
    for (const Part& part : node_partition.parts)
      text += llvm::formatv(" {0}[{1},{2})", part.kernel->symbol, part.owned.begin, part.owned.end)
                  .str();
    text += "\n";
  }
  return text;
}

// Enumerates every plan of segments that Search in polish.cc knows: each node whole or split at
// each of its cuts, each run of nodes a chain at each cut of its first node.
class Enumeration {
 public:
  // Consecutive plans differ at their ends. `hands_over`: with all ways to compute the rows at a
  // cut first.
  Enumeration(const CostModel& costs, const LatencyPredictor& predictor, bool hands_over = false)
      : costs_(costs),
        predictor_(predictor),
        hands_over_(hands_over),
        times_(costs.graph(), predictor) {}

  int64_t least_ns() {
    extend({}, 0);
    return least_ns_;
  }
  const PartitionPlan& best() const { return best_; }

 private:
  void extend(const PartitionPlan& plan, ir::NodeId first) {
    const auto node_count = static_cast<ir::NodeId>(costs_.graph().nodes().size());
    if (first == node_count) {
      const int64_t ns = std::llround(test::value_of(times_.time_us(plan)) * 1e3);
      if (ns >= least_ns_) return;
      least_ns_ = ns;
      best_ = plan;
      return;
    }
    const auto go_on = [&](std::optional<Segment> segment) {
      if (!segment) return;
      PartitionPlan longer = plan;
      append_segment(longer, std::move(*segment));
      extend(longer, static_cast<ir::NodeId>(longer.node_partitions.size()));
    };
    go_on(costs_.whole(first, Processor::Cpu));
    for (Form form : forms_of(first)) go_on(costs_.whole(first, Processor::Gpu, form));
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel}) {
      const auto rule = split_rule({costs_.graph(), costs_.graph().node(first)}, dim);
      if (!rule) continue;
      const ir::NodeId most = dim == SplitDim::Height ? node_count : first + 1;
      for (ir::NodeId last = first; last < most; ++last)
        for (int32_t cut = rule->granularity; cut < rule->extent; cut += rule->granularity)
          for (Form form : forms_of(first))
            for (const bool gpu : boundaries_of(dim))
              for (const bool cpu : boundaries_of(dim)) {
                auto segment = costs_.split(
                    first, last, dim, static_cast<double>(cut) / rule->extent, {kBuffers, form});
                if (segment)
                  for (NodePartition& node_partition : segment->node_partitions)
                    for (Part& part : node_partition.parts)
                      part.boundary_first = part.processor == Processor::Gpu ? gpu : cpu;
                go_on(std::move(segment));
              }
    }
  }

  llvm::ArrayRef<bool> boundaries_of(SplitDim dim) const {
    static constexpr bool kBoth[] = {false, true};
    return llvm::makeArrayRef(kBoth, hands_over_ && dim == SplitDim::Height ? 2 : 1);
  }

  // Returns the forms on the GPU that make a difference.
  FormList forms_of(ir::NodeId node) const {
    const ir::NodeView view{costs_.graph(), costs_.graph().node(node)};
    return map_forms(view, Processor::Gpu, predictor_.profile());
  }

  const CostModel& costs_;
  const LatencyPredictor& predictor_;
  const bool hands_over_;
  PlanTimes times_;
  int64_t least_ns_ = INT64_MAX;
  PartitionPlan best_;
};

// Makes maps of 4 rows and 16 or 32 channels, which have up to three cuts of rows and one of
// channels. `most` convolutions and sums; up to two are a line.
ir::Graph random_graph(std::mt19937& random, int32_t most = 3) {
  const auto one_of = [&](std::initializer_list<int32_t> list) {
    return list.begin()[random() % list.size()];
  };
  const int32_t channels = one_of({16, 32});
  test::GraphBuilder builder(channels, 4, one_of({4, 12}));
  std::vector<ir::ValueId> values = {builder.input()};
  const int32_t count = std::min(one_of({1, 2, 3}), most);
  for (int32_t i = 0; i < count; ++i) {
    const ir::ValueId from = most > 2 ? values[random() % values.size()] : values.back();
    values.push_back(random() % 3 == 0 && values.size() > 2
                         ? builder.add("n" + std::to_string(i), values[values.size() - 1],
                                       values[values.size() - 2])
                         : builder.conv("n" + std::to_string(i), from, channels, one_of({1, 3})));
  }
  // Sums up all unread values, which would otherwise be dead.
  ir::ValueId last = most > 2 ? values[1] : values.back();
  for (size_t i = 2; i < values.size() && most > 2; ++i)
    last = builder.add("join" + std::to_string(i), last, values[i]);
  return builder.finish(last);
}

TEST_CASE("plans found for small graphs are the best there are, or nearly so", "[search]") {
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  std::mt19937 random(20261125);
  int32_t best_count = 0;
  // Its best plan alternates between the processors for five nodes, while no change of fewer nodes
  // improves the plan with all on the GPU.
  constexpr int32_t kAlternating = 216;
  const int32_t graphs = graph_count();
  const int32_t drawn = layout == Layout::Nhwc ? std::max(graphs, kAlternating + 1) : graphs;
  for (int32_t i = 0; i < drawn; ++i) {
    // With two layouts, a graph has many more plans.
    const ir::Graph graph = random_graph(random, layout == Layout::Nhwc ? 3 : 2);
    const DeviceProfile profile = test::random_profile(random, layout);
    if (i >= graphs && i != kAlternating) continue;
    const LatencyPredictor predictor(profile, 0);
    const CostModel costs(graph, predictor);
    Enumeration enumeration(costs, predictor);
    const int64_t optimum_ns = enumeration.least_ns();
    CHECK(optimum_ns == time_ns(graph, enumeration.best(), predictor));
    const auto judge = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
      return time_ns(graph, plan, predictor);
    };
    for (const char* strategy : {"cpu", "gpu"}) {
      PartitionOptions options;
      options.strategy = strategy;
      const PartitionPlan seed = test::value_of(partition(graph, predictor, options));
      const Polished polished = test::value_of(polish(costs, options, seed, kBudget, judge));
      CHECK(test::error_of(check_partition(graph, polished.plan)) == "");
      CHECK(polished.predicted_ns == time_ns(graph, polished.plan, predictor));
      CHECK(polished.predicted_ns <= time_ns(graph, seed, predictor));
      CHECK(polished.evaluations <= kBudget);
    }
    const Optimum found = test::value_of(optimal_partition(graph, predictor, {}, judge));
    CHECK(found.evaluations <= kSearchBudget);
    INFO("graph " << i << ": found " << found.predicted_ns << " ns, best " << optimum_ns << " ns");
    INFO(describe(graph, found.plan) << "best:\n" << describe(graph, enumeration.best()));
    CHECK(static_cast<double>(found.predicted_ns) <= 1.02 * static_cast<double>(optimum_ns));
    best_count += found.predicted_ns <= optimum_ns;
  }
  CHECK(best_count >= graphs * 95 / 100);
}

// Lines of convolutions of six rows: a part hands over one row and computes more besides.
TEST_CASE("plans that hand over rows first are found, or nearly the best of them", "[search]") {
  std::mt19937 random(20261128);
  int32_t handing_over = 0, best_count = 0;
  const int32_t graphs = graph_count();
  for (int32_t i = 0; i < graphs; ++i) {
    test::GraphBuilder builder(16, 6, 12);
    ir::ValueId last = builder.input();
    for (uint32_t k = 0; k < (i % 4 == 0 ? 3 : 2); ++k)
      last = builder.conv("n" + std::to_string(k), last, 32);
    const ir::Graph graph = builder.finish(last);
    const DeviceProfile profile = test::random_profile(random);
    const LatencyPredictor predictor(profile, 0);
    const CostModel costs(graph, predictor);
    Enumeration enumeration(costs, predictor, true);
    const int64_t optimum_ns = enumeration.least_ns();
    CHECK(optimum_ns == time_ns(graph, enumeration.best(), predictor));
    const Optimum found = test::value_of(optimal_partition(
        graph, predictor, {}, [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
          return time_ns(graph, plan, predictor);
        }));
    INFO("graph " << i << ": found " << found.predicted_ns << " ns, best " << optimum_ns << " ns");
    INFO(describe(graph, found.plan) << "best:\n" << describe(graph, enumeration.best()));
    CHECK(static_cast<double>(found.predicted_ns) <= 1.02 * static_cast<double>(optimum_ns));
    best_count += found.predicted_ns <= optimum_ns;
    for (const NodePartition& node_partition : enumeration.best().node_partitions)
      if (llvm::any_of(node_partition.parts,
                       [](const Part& part) { return part.boundary_first; })) {
        ++handing_over;
        break;
      }
  }
  CHECK(handing_over >= graphs / 8);
  CHECK(best_count >= graphs * 90 / 100);
}

TEST_CASE(
    "every strategy's plan is sound, and no seed is better than what the search makes of all") {
  std::mt19937 random(7);
  for (int32_t i = 0; i < graph_count() / 2; ++i) {
    const ir::Graph graph = random_graph(random);
    const DeviceProfile profile = test::random_profile(random);
    const LatencyPredictor predictor(profile, 0);
    const auto judge = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
      return time_ns(graph, plan, predictor);
    };
    PartitionOptions options;
    options.search_budget = 200;
    const Optimum best = test::value_of(optimal_partition(graph, predictor, options, judge));
    CHECK(best.evaluations <= options.search_budget);
    CHECK(best.predicted_ns == time_ns(graph, best.plan, predictor));
    for (const NamedStrategy& strategy : named_strategies()) {
      CAPTURE(strategy.name, i);
      options.strategy = strategy.name;
      options.boundary_first = BoundaryFirst::Auto;
      const PartitionPlan plan = test::value_of(partition(graph, predictor, options));
      if (strategy.is_seed()) CHECK(best.predicted_ns <= time_ns(graph, plan, predictor));
      for (const BoundaryFirst boundary_first : {BoundaryFirst::Auto, BoundaryFirst::Always}) {
        options.boundary_first = boundary_first;
        const Schedule schedule = test::value_of(make_schedule(
            graph, test::value_of(partition(graph, predictor, options)), predictor, "test"));
        CHECK(test::error_of(check_races(graph, schedule)) == "");
      }
    }
  }
}

TEST_CASE("a plan that is no better by its floor is judged no further", "[search]") {
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile, 0);
  uint32_t judged = 0;
  const auto judge = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
    ++judged;
    return time_ns(graph, plan, predictor);
  };
  const Optimum without = test::value_of(optimal_partition(graph, predictor, {}, judge));
  const uint32_t judged_without = judged;
  CHECK(judged_without == without.evaluations);
  const auto floor = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
    return time_ns(graph, plan, predictor);
  };
  JudgeHelp help;
  help.floor = floor;
  judged = 0;
  const Optimum with = test::value_of(optimal_partition(graph, predictor, {}, judge, {}, help));
  CHECK(with.predicted_ns == without.predicted_ns);
  CHECK(judged < judged_without / 2);
}

TEST_CASE("where only the CPU can run a network, nothing is searched") {
  const ir::Graph graph = test::three_convs();
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.processor == Processor::Gpu) profile.unused_kernels.push_back(kernel.id);
  const LatencyPredictor predictor(profile, 0);
  const auto judge = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
    return time_ns(graph, plan, predictor);
  };
  const Optimum best = test::value_of(optimal_partition(graph, predictor, {}, judge));
  CHECK(best.evaluations ==
        static_cast<uint32_t>(llvm::count_if(
            named_strategies(), [](const NamedStrategy& strategy) { return strategy.is_seed(); })));
  for (const NodePartition& node_partition : best.plan.node_partitions)
    CHECK(node_partition.part_on(Processor::Gpu) == nullptr);
}

TEST_CASE("the search of a network that cannot be split ends") {
  test::GraphBuilder builder(16, 1, 1);  // one row, one panel: nothing can be split
  const ir::Graph graph = builder.finish(builder.conv("a", builder.input(), 16, 1));
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile, 0);
  PartitionOptions options;
  options.search_budget = 100;
  const Optimum best = test::value_of(optimal_partition(
      graph, predictor, options, [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
        return time_ns(graph, plan, predictor);
      }));
  CHECK(best.evaluations <= options.search_budget);
}

TEST_CASE("strategies keep to what makes them what they are") {
  // Each has 38 million multiply-adds: 38 us on either processor, where a synchronisation takes 5.
  test::GraphBuilder builder(64, 32, 32);
  const ir::ValueId a = builder.conv("a", builder.input(), 64);
  const ir::ValueId b = builder.conv("b", a, 64);
  const ir::Graph graph = builder.finish(builder.conv("c", b, 64));
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile, 0);
  const auto plan_of = [&](const char* strategy) {
    PartitionOptions options;
    options.strategy = strategy;
    return test::value_of(partition(graph, predictor, options));
  };
  for (const NodePartition& node_partition : plan_of("coarse").node_partitions)
    CHECK_FALSE(node_partition.is_split());
  CHECK(plan_of("fine").chains.empty());
  for (const NodePartition& node_partition : plan_of("mulayer").node_partitions)
    if (node_partition.is_split()) CHECK(node_partition.dim == SplitDim::OutputChannel);
  for (const char* strategy : {"fine", "mulayer", "codl", "segments"})
    CHECK(llvm::count_if(
              plan_of(strategy).node_partitions,
              [](const NodePartition& node_partition) { return node_partition.is_split(); }) == 3);
  for (const char* strategy : {"gpu-image", "gpu-buffer"})
    for (const NodePartition& node_partition : plan_of(strategy).node_partitions)
      CHECK_FALSE(node_partition.is_split());
  CHECK_FALSE(plan_of("codl").chains.empty());  // they save a synchronisation for a row of halo
}

}  // namespace
}  // namespace codl::compiler
