// Tests objectives, limits and forced places: how plans are judged, that whole compilations keep
// them, and that impossible ones are refused.
#include "compiler/partition/limits.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "compiler/frontend/onnx_import.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/user_places.h"
#include "compiler/pipeline.h"
#include "compiler/schedule/bound_slices.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/figures.h"
#include "compiler/simulate/timing/simulate.h"
#include "llvm/Support/FormatVariadic.h"
#include "schema/ahead_window.h"
#include "test/compiler/support/golden.h"
#include "test/compiler/support/partition_text.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

// Four convolutions: three of them are worth a GPU, and co-execution is predicted to gain.
std::string four_convs() {
  return test::onnx_model(R"(
      g (float[1,8,64,64] x) => (float[1,8,64,64] y)
      <float[64,8,3,3] w1, float[64,64,3,3] w2, float[64,64,3,3] w3, float[8,64,3,3] w4>
      { a = Conv<pads = [1, 1, 1, 1]>(x, w1)
        b = Conv<pads = [1, 1, 1, 1]>(a, w2)
        c = Conv<pads = [1, 1, 1, 1]>(b, w3)
        y = Conv<pads = [1, 1, 1, 1]>(c, w4) })",
                          14);
}

llvm::Expected<CompileResult> compile_with(const PartitionOptions& partition,
                                           const DeviceProfile& profile,
                                           const std::vector<VariantRequest>& variants = {
                                               {}, {VariantRequest::Cpu, "cpu"}}) {
  CompileOptions options;
  options.variants = variants;
  options.partition = partition;
  options.partition.search_budget = 300;
  return compile(four_convs(), "model", profile, options);
}

PlanFigures figures_with(const PartitionOptions& partition, const DeviceProfile& profile) {
  return test::value_of(compile_with(partition, profile)).reports[0].variants[0].figures;
}

DeviceProfile powered_profile() {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const auto watts = [](double value) { return Quantity{value, Origin::Assumed, "test"}; };
  profile.power = PowerFigures{watts(1), watts(8), watts(1)};
  return profile;
}

TEST_CASE("a plan that meets all limits is better than any that does not") {
  PlanLimits limits;
  limits.gpu_share = 0.5;
  limits.max_syncs = 4;
  PlanFigures slow;
  slow.predicted_us = 1e9;
  slow.gpu_share = 0.5;
  slow.syncs = 4;
  PlanFigures fast;
  fast.predicted_us = 1;
  fast.gpu_share = 0.51;
  CHECK(meets(limits, slow));
  CHECK_FALSE(meets(limits, fast));
  CHECK(score_of(slow, Objective::Latency, limits) < score_of(fast, Objective::Latency, limits));
  PlanFigures farther = fast;
  farther.gpu_share = 0.6;
  farther.predicted_us = 0.5;
  CHECK(score_of(fast, Objective::Latency, limits) < score_of(farther, Objective::Latency, limits));
  farther = fast;
  farther.syncs = 5;
  CHECK(score_of(fast, Objective::Latency, limits) < score_of(farther, Objective::Latency, limits));
  // A violation beyond the score's resolution still counts no less.
  farther.syncs = UINT32_MAX;
  CHECK(score_of(fast, Objective::Latency, limits) < score_of(farther, Objective::Latency, limits));
}

TEST_CASE("what is beyond a limit counts by its weight where the limit is not kept") {
  PlanLimits limits;
  limits.max_syncs = 4;
  PlanFigures kept, beyond;
  kept.predicted_us = 100;
  kept.syncs = 4;
  beyond.predicted_us = 80;
  beyond.syncs = 6;  // half the limit
  const auto score = [&](const PlanFigures& figures, double weight) {
    return weighted_score_of(figures, Objective::Latency, limits, weight);
  };
  CHECK(score(kept, 0.4) == 100'000);
  CHECK(score(kept, 4) == 100'000);
  CHECK(score(beyond, 0.4) == 96'000);
  CHECK(score(beyond, 0.6) == 104'000);
}

TEST_CASE("an objective is what is least") {
  PlanFigures a;
  a.predicted_us = 10;
  a.energy_mj = 5;
  PlanFigures b = a;
  b.predicted_us = 20;
  b.energy_mj = 4;
  CHECK(score_of(a, Objective::Latency, {}) < score_of(b, Objective::Latency, {}));
  CHECK(score_of(b, Objective::Energy, {}) < score_of(a, Objective::Energy, {}));
}

TEST_CASE("every limit is kept by a compilation, to any value that can be reached", "[search]") {
  const DeviceProfile profile = powered_profile();
  const PlanFigures free = figures_with({}, profile);
  REQUIRE(free.gpu_share > 0.5);
  for (const double share : {0.6, 0.3, 0.0}) {
    PartitionOptions options;
    options.limits.gpu_share = share;
    const PlanFigures kept = figures_with(options, profile);
    CHECK(kept.gpu_share <= share);
    CHECK(kept.predicted_us >= free.predicted_us);
  }
  for (const uint32_t syncs : {free.syncs, 2U, 0U}) {
    PartitionOptions options;
    options.limits.max_syncs = syncs;
    CHECK(figures_with(options, profile).syncs <= syncs);
  }
  for (const double slice_us : {200.0, 60.0, 20.0}) {
    PartitionOptions options;
    options.limits.max_gpu_slice_us = slice_us;
    CHECK(figures_with(options, profile).longest_slice_us <= slice_us);
    options.limits.gpu_share = 0.5;
    const PlanFigures both = figures_with(options, profile);
    CHECK(both.longest_slice_us <= slice_us);
    CHECK(both.gpu_share <= 0.5);
  }
  PartitionOptions options;
  const uint64_t arena_bytes = free.arena_bytes * 9 / 10;
  options.limits.max_arena_bytes = arena_bytes;
  CHECK(figures_with(options, profile).arena_bytes <= arena_bytes);
  options.limits = {};
  options.objective = Objective::Energy;
  CHECK(*figures_with(options, profile).energy_mj <= *free.energy_mj);
}

TEST_CASE("a plan in a tenth less memory takes little longer", "[search]") {
  // No other test takes as long as that of style, which is left to nightly.sh.
  std::vector<std::string> networks = {"unet"};
  if (std::getenv("CODL_ALL_CASES") != nullptr) networks.push_back("style");
  const std::string network = GENERATE_COPY(from_range(networks));
  CAPTURE(network);
  const DeviceProfile profile = test::value_of(load_device_profile("sd855"));
  const std::string onnx = golden_model(network);
  CompileOptions options;
  // With 25000 plans the search of style ends at one that takes 1.39 times as long.
  options.partition.search_budget = 30000;
  const auto figures = [&] {
    return test::value_of(compile(onnx, "m", profile, options)).reports[0].variants[0].figures;
  };
  const PlanFigures free = figures();
  options.partition.limits.max_arena_bytes = free.arena_bytes / 10 * 9;
  const PlanFigures kept = figures();
  CHECK(kept.arena_bytes <= *options.partition.limits.max_arena_bytes);
  CHECK(kept.predicted_us <= 1.1 * free.predicted_us);
}

TEST_CASE("weights of what is beyond limits rise, and what they lead to is a seed") {
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  // All weighted sums are equal, so the first plan wins.
  std::vector<double> weights;
  int judged = 0;
  const auto judge = [&](const PartitionPlan&) -> llvm::Expected<int64_t> { return ++judged; };
  const auto weighted = [&](const PartitionPlan&, double weight) -> llvm::Expected<int64_t> {
    if (weights.empty() || weights.back() != weight) weights.push_back(weight);
    return 1;
  };
  JudgeHelp help;
  help.weighted = weighted;
  PartitionOptions options;
  options.search_budget = 300;
  options.limits.max_syncs = 4;
  const Optimum found =
      test::value_of(optimal_partition(graph, predictor, options, judge, {}, help));
  CHECK(found.evaluations <= options.search_budget);
  CHECK(weights.size() > 2);
  CHECK(std::is_sorted(weights.begin(), weights.end()));
}

TEST_CASE("a limit that cannot be met is told with the best there is") {
  const DeviceProfile profile = powered_profile();
  PartitionOptions options;
  options.limits.max_arena_bytes = 1000;
  const std::string arena = test::error_of(compile_with(options, profile));
  CHECK(arena.find("test: expected at most 0.001 MB of arenas and images (--max-arena) in variant "
                   "coexec, found ") == 0);
  CHECK(arena.find("MB at best") != std::string::npos);
  options.limits = {};
  options.strategy = "gpu";
  options.limits.gpu_share = 0.1;
  CHECK(test::error_of(compile_with(options, profile))
            .find("expected at most 10.0 % of the predicted time on the GPU (--gpu-limit)") !=
        std::string::npos);
  // One launch of one row takes longer than the limit.
  options.limits = {};
  options.limits.max_gpu_slice_us = 0.5;
  CHECK(test::error_of(compile_with(options, profile)).find("--max-gpu-slice") !=
        std::string::npos);
}

TEST_CASE("limits hold for every variant of a plan") {
  const DeviceProfile profile = powered_profile();
  const std::vector<VariantRequest> variants = {{},
                                                {VariantRequest::Cpu, "cpu"},
                                                {VariantRequest::Gpu, "gpu"},
                                                {VariantRequest::Limited, "gpu40", 0.4},
                                                {VariantRequest::Busy, "busy"}};
  PartitionOptions options;
  options.limits.gpu_share = 0.9;
  const std::string refused = test::error_of(compile_with(options, profile, variants));
  CHECK(refused.find("test: expected at most 90.0 % of the predicted time on the GPU (--gpu-limit) "
                     "in variant gpu, found ") == 0);
  CHECK(refused.find("% at best") != std::string::npos);
  // All variants keep a limit that all can keep.
  options.limits = {};
  options.limits.max_gpu_slice_us = 60;
  options.limits.max_syncs = 50;
  const CompileResult kept = test::value_of(compile_with(options, profile, variants));
  REQUIRE(kept.reports[0].variants.size() == variants.size());
  for (const CompileReport::Variant& variant : kept.reports[0].variants) {
    CAPTURE(variant.name);
    CHECK(meets(options.limits, variant.figures));
    CHECK(variant.figures.gpu_share <= (variant.name == "gpu40" ? 0.4 : 1));
    CHECK(variant.exempt.empty());
  }
  CHECK(kept.reports[0].variants[2].figures.longest_slice_us > 0);
  // The fallback's memory counts, too.
  const uint64_t free = test::value_of(compile_with({}, profile, {{VariantRequest::Cpu, "cpu"}}))
                            .reports[0]
                            .variants[0]
                            .figures.arena_bytes;
  options.limits = {};
  options.limits.max_arena_bytes = free / 100;
  CHECK(test::error_of(compile_with(options, profile, {{VariantRequest::Cpu, "cpu"}}))
            .find("(--max-arena) in variant cpu") != std::string::npos);
}

TEST_CASE("forced places hold for every variant but the one of sessions without a GPU") {
  const DeviceProfile profile = powered_profile();
  PartitionOptions options;
  options.limits.places = {{"c", Processor::Cpu}};
  const std::vector<VariantRequest> variants = {
      {}, {VariantRequest::Cpu, "cpu"}, {VariantRequest::Gpu, "gpu"}};
  const CompileResult on_cpu = test::value_of(compile_with(options, profile, variants));
  CHECK(on_cpu.reports[0].variants[1].exempt.empty());
  CHECK(on_cpu.reports[0].variants[2].gpu_mac_share > 0.3);
  CHECK(on_cpu.reports[0].variants[2].gpu_mac_share < 0.7);
  options.limits.places = {{"c", Processor::Gpu}};
  const CompileResult on_gpu = test::value_of(compile_with(options, profile, variants));
  CHECK(on_gpu.reports[0].variants[0].gpu_mac_share > 0);
  CHECK(on_gpu.reports[0].variants[0].exempt.empty());
  CHECK(on_gpu.reports[0].variants[1].exempt.find("--place: ") == 0);
}

TEST_CASE("energy is not the objective where the profile has no power figures") {
  PartitionOptions options;
  options.objective = Objective::Energy;
  CHECK(test::error_of(compile_with(options, test::test_profile(Sharing::FineSvm))) ==
        "test: expected power figures in the profile for --objective=energy, found none");
}

TEST_CASE("limits give the same plan each time") {
  PartitionOptions options;
  options.limits.gpu_share = 0.5;
  options.limits.max_gpu_slice_us = 60;
  const DeviceProfile profile = powered_profile();
  const CompileResult first = test::value_of(compile_with(options, profile));
  const CompileResult second = test::value_of(compile_with(options, profile));
  CHECK(llvm::ArrayRef<uint8_t>(first.plan.data(), first.plan.size()) ==
        llvm::ArrayRef<uint8_t>(second.plan.data(), second.plan.size()));
}

// ---- slices

TEST_CASE("cut schedules compute what the whole ones do, in slices as short as asked for") {
  std::mt19937 random(7);
  for (int i = 0; i < 30; ++i) {
    test::GraphBuilder builder(16, 8 + static_cast<int32_t>(random() % 40), 32);
    ir::ValueId value = builder.input();
    const int32_t count = 2 + static_cast<int32_t>(random() % 4);
    for (int32_t node = 0; node < count; ++node)
      value = builder.conv("n" + std::to_string(node), value, 16 << random() % 3,
                           random() % 2 == 0 ? 3 : 1);
    const ir::Graph graph = builder.finish(value);
    const Sharing sharings[] = {Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate};
    const DeviceProfile profile = test::test_profile(
        sharings[random() % 3], random() % 2 == 0 ? Layout::Nhwc : Layout::Image2d);
    const LatencyPredictor predictor(profile);
    PartitionOptions options;
    const char* strategies[] = {"gpu", "codl", "segments", "mulayer"};
    options.strategy = strategies[random() % 4];
    const PartitionPlan plan = test::value_of(partition(graph, predictor, options));
    Schedule whole = test::value_of(make_schedule(graph, plan, predictor, "test"));
    const double slice_us = 4 + static_cast<double>(random() % 40);
    Schedule cut = whole;
    bound_gpu_slices(graph, cut, predictor, slice_us);
    INFO(options.strategy << " " << slice_us << " us\n" << print(whole) << print(cut));
    CHECK(test::error_of(check_races(graph, cut)) == "");
    REQUIRE(test::error_of(predict(cut, profile)) == "");
    const auto has_gpu =
        llvm::any_of(cut.steps, [](const Step& step) { return step.queue == Queue::Gpu; });
    CHECK((cut.max_ahead_us > 0) == has_gpu);
    double longest_us = 0;
    for (const Step& step : cut.steps)
      if (step.queue == Queue::Gpu) longest_us = std::max(longest_us, step.predicted_us);
    const PlanFigures figures = test::value_of(figures_of(cut, profile));
    CHECK(figures.longest_slice_us <= std::max(slice_us, longest_us * crowded_factor(profile)));
    // Each node computes the same on each queue.
    const auto computed = [&](const Schedule& schedule) {
      std::map<std::pair<ir::NodeId, Queue>, int64_t> sums;
      for (size_t id = 0; id < schedule.steps.size(); ++id) {
        const Step& step = schedule.steps[id];
        if (schedule.nodes[id] == ir::kNoId) continue;
        const auto& dims = graph.value(graph.node(schedule.nodes[id]).output).type.dims;
        int64_t elements = int64_t{dims[1]} * dims[2];
        if (step.part_dim == SplitDim::Height) elements = int64_t{dims[1]} * step.part.count();
        if (step.part_dim == SplitDim::OutputChannel)
          elements = int64_t{dims[2]} * step.part.count();
        sums[{schedule.nodes[id], step.queue}] += elements;
      }
      return sums;
    };
    CHECK(computed(whole) == computed(cut));
  }
}

TEST_CASE("the window ahead never holds more than its bound, but for one step alone") {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<float> us;  // less than 0: of another queue
    for (int step = 0; step < 60; ++step)
      us.push_back(random() % 4 == 0 ? -1.0F : static_cast<float>(random() % 1000));
    const auto bound = static_cast<float>(1 + random() % 2000);
    AheadWindow window(bound);
    const auto us_of = [&](uint32_t step) { return us[step]; };
    uint32_t first = 0;  // that may be in the queue
    for (uint32_t step = 0; step < us.size(); ++step) {
      if (us[step] < 0) continue;
      const uint32_t wait = window.add(step, us_of);
      if (wait != AheadWindow::kNoWait) {
        REQUIRE(wait < step);
        CHECK(us[wait] >= 0);
        first = wait + 1;
      }
      double sum = 0;
      for (uint32_t other = first; other <= step; ++other) sum += std::max(us[other], 0.0F);
      CHECK((sum <= bound || sum == us[step]));
      CHECK(window.waiting_us() == Approx(sum));
    }
  }
}

TEST_CASE("times that no step takes bound a window, too") {
  const float us[] = {3e38F, -0.0F, 1e30F, 5};
  AheadWindow window(100);
  const auto us_of = [&](uint32_t step) { return us[step]; };
  CHECK(window.add(0, us_of) == AheadWindow::kNoWait);
  CHECK(window.add(1, us_of) == 0);
  CHECK(window.add(2, us_of) == 1);
  CHECK(window.add(3, us_of) == 2);
  AheadWindow unbounded(0);
  for (uint32_t step = 0; step < 4; ++step)
    CHECK(unbounded.add(step, us_of) == AheadWindow::kNoWait);
}

// ---- places

std::string place_text(const PartitionOptions& options, const std::string& name) {
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  const PartitionPlan plan = test::value_of(partition(graph, predictor, options));
  const NodePartition& node_partition = plan.node_partitions[node_named(graph, name)];
  if (!node_partition.is_split())
    return node_partition.part_on(Processor::Gpu) != nullptr ? "gpu" : "cpu";
  return llvm::formatv("{0} {1}", node_partition.dim == SplitDim::Height ? "rows" : "channels",
                       node_partition.part_on(Processor::Gpu)->owned.end);
}

TEST_CASE("nodes are where --place puts them, whatever the strategy") {
  const UserPlace places[] = {{"b", Processor::Cpu},
                              {"b", Processor::Gpu},
                              {"b", {}, SplitDim::Height, 0.25},
                              {"b", {}, SplitDim::OutputChannel, 0.5}};
  const char* expected[] = {"cpu", "gpu", "rows 4", "channels 16"};
  for (const char* strategy : {"cpu", "gpu", "coarse", "fine", "mulayer", "codl", "segments"})
    for (size_t i = 0; i < 4; ++i) {
      PartitionOptions options;
      options.strategy = strategy;
      options.limits.places = {places[i]};
      INFO(strategy << ": " << expected[i]);
      CHECK(place_text(options, "b") == expected[i]);
    }
}

TEST_CASE("the search keeps forced places") {
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  PartitionOptions options;
  options.search_budget = 300;
  options.limits.places = {{"a", Processor::Cpu}, {"c", {}, SplitDim::OutputChannel, 0.5}};
  const auto judge = [&](const PartitionPlan& plan) -> llvm::Expected<int64_t> {
    Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
    REQUIRE(test::error_of(predict(schedule, profile)) == "");
    return std::llround(schedule.predicted_us * 1e3);
  };
  const Optimum found = test::value_of(optimal_partition(graph, predictor, options, judge));
  CHECK(found.evaluations > 20);
  const auto& node_partitions = found.plan.node_partitions;
  CHECK(node_partitions[node_named(graph, "a")].part_on(Processor::Gpu) == nullptr);
  const NodePartition& split = node_partitions[node_named(graph, "c")];
  CHECK(split.dim == SplitDim::OutputChannel);
  REQUIRE(split.is_split());
  CHECK(split.part_on(Processor::Gpu)->owned == Range{0, 16});
}

TEST_CASE("what takes a launch longer than the limit and cannot be cut is not for the GPU") {
  const std::string norm = test::onnx_model(R"(
      g (float[1,8,64,64] x) => (float[1,8,64,64] y)
      <float[8] scale, float[8] bias>
      { a = Relu(x)
        b = InstanceNormalization(a, scale, bias)
        y = Relu(b) })",
                                            14);
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  PlanLimits limits;
  limits.max_gpu_slice_us = 0.001;
  int left_out = 0, kept = 0;
  for (const ir::Graph& graph :
       {test::value_of(import_onnx(norm, "m.onnx")), test::three_convs()}) {
    const CostModel unlimited(graph, predictor), limited(graph, predictor, limits);
    for (ir::NodeId id = 0; id < graph.nodes().size(); ++id) {
      const ir::Node& node = graph.node(id);
      CAPTURE(node.name);
      const bool is_norm = node.op == OpKind::Normalize;
      if (!unlimited.whole(id, Processor::Gpu) || (!is_norm && node.op != OpKind::Conv2d)) continue;
      CHECK(limited.whole(id, Processor::Gpu).has_value() == !is_norm);
      ++(is_norm ? left_out : kept);
      PlanLimits placed = limits;
      placed.places = {{node.name, Processor::Gpu}};
      CHECK(CostModel(graph, predictor, placed).whole(id, Processor::Gpu));
    }
  }
  CHECK(left_out == 1);
  CHECK(kept == 3);
}

TEST_CASE("places that cannot be are refused, with what can") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::Graph graph = builder.finish(builder.conv("first_conv", builder.input(), 32));
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  const CostModel costs(graph, predictor);
  const auto refusal = [&](std::vector<UserPlace> places) {
    return test::error_of(UserPlaces::create(costs, places));
  };
  CHECK(refusal({{"frist_conv", Processor::Cpu}}) ==
        "--place: expected a node of the graph (--dump=graph), found \"frist_conv\" (did you mean "
        "first_conv?)");
  CHECK(refusal({{"first_conv", Processor::Cpu}, {"first_conv", Processor::Gpu}}) ==
        "--place: expected each node once, found \"first_conv\" again");
  DeviceProfile no_gpu = profile;
  no_gpu.has_gpu = false;
  const LatencyPredictor cpu_predictor(no_gpu);
  const CostModel cpu_costs(graph, cpu_predictor);
  const std::vector<UserPlace> on_gpu = {{"first_conv", Processor::Gpu}};
  CHECK(test::error_of(UserPlaces::create(cpu_costs, on_gpu)) ==
        "test: expected a kernel for node \"first_conv\" where --place puts it, found that it can "
        "be: cpu");
}

TEST_CASE("a chain goes on on both sides of a node that leaves it") {
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  const CostModel costs(graph, predictor);
  const std::string convert = graph.node(0).name;
  const std::string last = graph.node(static_cast<ir::NodeId>(graph.nodes().size() - 1)).name;
  PartitionPlan plan = partition_of(graph, profile,
                                    convert +
                                        " cpu\na rows 8 chain=0\nb rows 8 chain=0\n"
                                        "c rows 8 chain=0\n" +
                                        last + " cpu\n");
  const std::vector<UserPlace> asked = {{"c", Processor::Gpu}};
  const UserPlaces places = test::value_of(UserPlaces::create(costs, asked));
  CHECK_FALSE(places.are_kept(plan));
  REQUIRE(test::error_of(places.apply(plan)) == "");
  CHECK(places.are_kept(plan));
  CHECK(test::error_of(check_partition(graph, plan)) == "");
  REQUIRE(plan.chains.size() == 1);
  CHECK(plan.chains[0].nodes.size() == 2);
}

}  // namespace
}  // namespace codl::compiler
