// Tests which plan the first variant is, and the forecast of it before it is made.
#include "compiler/variants/variants.h"

#include <algorithm>
#include <utility>

#include "kernels/conv2d/winograd.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

// Each has 38 million multiply-adds, 38 us on either processor.
ir::Graph line_of_convs() {
  test::GraphBuilder builder(64, 32, 32);
  const ir::ValueId a = builder.conv("a", builder.input(), 64);
  const ir::ValueId b = builder.conv("b", a, 64);
  return builder.finish(builder.conv("c", b, 64));
}

// Has `count` layers, each after one of those before.
ir::Graph branches_of_convs(uint32_t seed) {
  test::GraphBuilder builder(32, 16, 16);
  std::vector<ir::ValueId> values = {builder.input()};
  std::mt19937 random(seed);
  for (int i = 0; i < 8; ++i) {
    const ir::ValueId from =
        values[values.size() - 1 - random() % std::min<size_t>(values.size(), 2)];
    const ir::ValueId made =
        builder.conv("c" + std::to_string(i), from, random() % 2 == 0 ? 32 : 64);
    values.push_back(made);
  }
  return builder.finish(values.back());
}

// A tenth of a kernel's times are so many times as long or longer, a tenth as short or shorter.
DeviceProfile profile_of(double factor) {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  for (Calibration& known : profile.kernels) {
    known.interval_low = 1 / factor;
    known.interval_high = factor;
  }
  return profile;
}

// Winograd's kernels compute a quarter of the multiply-adds with weights of four times the bytes.
DeviceProfile profile_with_winograd() {
  DeviceProfile profile = profile_of(1);
  llvm::erase_if(profile.unused_kernels, [](uint16_t id) {
    return kernels::winograd_outputs(kKernelInfos[id - 1].packing) != 0;
  });
  return profile;
}

struct Maker {
  explicit Maker(const DeviceProfile& of_profile, const std::string& strategy = "optimal")
      : profile(of_profile) {
    options.strategy = strategy;
    options.search_budget = 300;
  }
  double estimated_us() {
    return value_of(VariantMaker(graph, predictor, options).estimate()).predicted_us;
  }
  MadeVariant made() { return value_of(VariantMaker(graph, predictor, options).make({})); }
  double made_us() { return made().candidate.schedule.predicted_us; }

  const ir::Graph graph = line_of_convs();
  const DeviceProfile profile;
  const LatencyPredictor predictor{profile};
  PartitionOptions options;
};

TEST_CASE(
    "what is estimated of co-execution that is not sure is one processor alone, as it is made") {
  const double alone_us = std::min(Maker(profile_of(1), "cpu").made_us(),  //
                                   Maker(profile_of(1), "gpu").made_us());
  const double segments_us = Maker(profile_of(1), "segments").made_us();
  REQUIRE(segments_us < 0.8 * alone_us);

  Maker sure(profile_of(1));
  CHECK(sure.estimated_us() == segments_us);
  CHECK(sure.made().one_processor_reason == "");
  CHECK(sure.made_us() <= segments_us);

  Maker unsure(profile_of(10));
  CHECK(unsure.made().one_processor_reason != "");
  CHECK(unsure.made_us() == alone_us);
  CHECK(unsure.estimated_us() == alone_us);
}

TEST_CASE("a choice between floats and halves is never worse than either", "[search]") {
  // On images there are more forms, and a small budget does not find the best plan.
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm, Layout::Image2d);
  const LatencyPredictor predictor(profile);
  PartitionOptions options;
  for (const uint32_t seed : {1, 2, 3, 4})
    for (const uint32_t budget : {40, 120, 600}) {
      CAPTURE(seed, budget);
      options.search_budget = budget;
      ir::Graph graph = branches_of_convs(seed);
      const auto us_in = [&](Precision precision) {
        graph.set_precision(precision);
        return value_of(VariantMaker(graph, predictor, options).make({}))
            .candidate.schedule.predicted_us;
      };
      const double least_us = std::min(us_in(Precision::Fp32), us_in(Precision::Fp16));
      CHECK(us_in(Precision::Auto) <= least_us);
    }
}

TEST_CASE("what computes on one processor has its name, and says why") {
  const auto made = [](Maker& maker) {
    MadeVariant variant = maker.made();
    return std::pair(variant.candidate.schedule.name, variant.one_processor_reason);
  };
  Maker both(profile_of(1));
  CHECK(made(both) == std::pair<std::string, std::string>("coexec", ""));

  Maker unsure(profile_of(10));
  CHECK(made(unsure).first != "coexec");
  CHECK(made(unsure).second.find(" ms, but is faster only in ") != std::string::npos);
  CHECK(made(unsure).second.find(" % of what the profile leaves open (90 % needed); a measured "
                                 "profile decides") != std::string::npos);

  Maker limited(profile_of(1));
  limited.options.limits.gpu_share = 0;
  CHECK(made(limited).first == "cpu");
  CHECK(made(limited).second.find("because of --gpu-limit: ") == 0);
  CHECK(made(limited).second.find(" a short search without found ") != std::string::npos);

  Maker placed(profile_of(1));
  for (const char* node : {"a", "b", "c"})
    placed.options.limits.places.push_back({node, Processor::Cpu, SplitDim::None, 0});
  CHECK(made(placed).second.find("because of --place: ") == 0);

  // The same with a slow GPU: no limit is to blame.
  DeviceProfile slow = profile_of(1);
  for (const KernelInfo& info : kKernelInfos)
    if (info.processor == Processor::Gpu) slow.kernels[info.id - 1].shares[Term::Compute] = 1000;
  Maker useless(slow);
  useless.options.limits.max_syncs = 0;
  CHECK(made(useless).first == "cpu");
  CHECK(made(useless).second.find("of the plans that were judged none on both is better: ") == 0);
  useless.options.strategy = "coarse";
  CHECK(made(useless) ==
        std::pair<std::string, std::string>("coarse", "--strategy=coarse gives the GPU nothing"));

  DeviceProfile avoiding = profile_of(1);
  for (const KernelInfo& info : kKernelInfos)
    if (info.processor == Processor::Gpu) avoiding.unused_kernels.push_back(info.id);
  Maker avoids(avoiding);
  CHECK(made(avoids).second.find(
            "the GPU has no kernel for any node of this network, without the ") == 0);

  // The least energy, with a CPU that takes a thousand times the power of the GPU.
  DeviceProfile thirsty = profile_of(1);
  const auto watts = [](double value) { return Quantity{value, Origin::Assumed, ""}; };
  thirsty.power = PowerFigures{watts(0), watts(100), watts(0.1)};
  Maker saving(thirsty);
  saving.options.objective = Objective::Energy;
  CHECK(made(saving).first == "gpu");
  CHECK(made(saving).second.find(" mJ on the GPU alone, by --objective=energy") !=
        std::string::npos);
  CHECK(made(saving).second.find(" ms") == std::string::npos);
  saving.options.limits.places.push_back({"b", Processor::Cpu, SplitDim::None, 0});
  CHECK(made(saving).first == "coexec");

  DeviceProfile alone = profile_of(1);
  alone.has_gpu = false;
  Maker cpu(alone);
  CHECK(made(cpu).second == "the profile of " + alone.name + " has no GPU that can be used");
}

TEST_CASE("a limit is blamed with the figures that the objective makes least") {
  DeviceProfile powered = profile_of(1);
  const auto watts = [](double value) { return Quantity{value, Origin::Assumed, "test"}; };
  // The GPU takes three times as long and a tenth of the energy.
  powered.power = PowerFigures{watts(0), watts(10), watts(0.3)};
  for (const KernelInfo& info : kKernelInfos)
    if (info.processor == Processor::Gpu) powered.kernels[info.id - 1].shares[Term::Compute] = 3;
  Maker limited(powered);
  limited.options.objective = Objective::Energy;
  limited.options.limits.gpu_share = 0;
  const std::string reason = limited.made().one_processor_reason;
  CAPTURE(reason);
  CHECK(reason.find("because of --gpu-limit: ") == 0);
  CHECK(reason.find(" mJ are predicted, a short search without found ") != std::string::npos);
  CHECK(reason.find(" ms") == std::string::npos);
}

TEST_CASE("of several limits those are named that a better plan is beyond") {
  Maker limited(profile_of(1));
  limited.options.limits.gpu_share = 0.99;
  limited.options.limits.max_arena_bytes = 1 << 30;
  limited.options.limits.max_syncs = 0;
  limited.options.limits.places.push_back({"b", Processor::Cpu, SplitDim::None, 0});
  const auto reason = [&] { return limited.made().one_processor_reason; };
  CHECK(reason().find("because of --place, --max-syncs: ") == 0);
  limited.options.limits.places.clear();
  CHECK(reason().find("because of --max-syncs: ") == 0);
}

TEST_CASE("all that is judged for a variant is within the budget", "[search]") {
  const auto check = [](Maker maker) {
    for (const uint32_t budget : {0, 1, 2, 5, 13, 30, 100, 300}) {
      CAPTURE(budget);
      maker.options.search_budget = budget;
      CHECK(maker.made().candidate.evaluations <= budget);
    }
  };
  check(Maker(profile_of(1)));
  check(Maker(profile_of(3)));  // a plan that is surely faster is looked for
  Maker limited(profile_of(3));
  limited.options.limits.max_syncs = 1;
  limited.options.limits.max_arena_bytes = 700'000;
  check(limited);
  Maker with_slices(profile_of(1));
  with_slices.options.limits.max_gpu_slice_us = 20;
  check(with_slices);
  Maker with_few_weights(profile_with_winograd());
  with_few_weights.options.limits.max_weights = {std::nullopt,
                                                 constant_bytes(with_few_weights.graph) * 5 / 2};
  check(with_few_weights);
}

TEST_CASE("weights that are halves in the model count as such if they may be in the plan") {
  ir::Graph graph = line_of_convs();
  const uint64_t as_floats = constant_bytes(graph);
  graph.file_float_bytes = 2;
  CHECK(constant_bytes(graph) == as_floats);
  graph.value(graph.inputs()[0]).precision = ir::Precision::Fp16;
  CHECK(constant_bytes(graph) == as_floats / 2);
}

TEST_CASE("a plan of halves has at most 0.575 of the weights' bytes as floats") {
  test::GraphBuilder builder(512, 8, 8);
  ir::Graph graph = builder.finish(builder.conv("a", builder.input(), 512));
  const auto as_floats = static_cast<double>(constant_bytes(graph));
  const auto limit = [&] {
    return static_cast<double>(*most_weight_bytes(graph, WeightLimit())) / as_floats;
  };
  CHECK(limit() == Approx(1.25));
  graph.value(graph.inputs()[0]).precision = ir::Precision::Auto;
  CHECK(limit() == Approx(1.25));
  graph.value(graph.inputs()[0]).precision = ir::Precision::Fp16;
  CHECK(limit() == Approx(0.575));
  graph.file_float_bytes = 2;
  CHECK(limit() == Approx(0.575));
  graph.value(graph.inputs()[0]).precision = ir::Precision::Auto;
  CHECK(limit() == Approx(0.625));
  WeightLimit asked;
  asked.is_asked = true;
  graph.value(graph.inputs()[0]).precision = ir::Precision::Fp16;
  CHECK(*most_weight_bytes(graph, asked) == constant_bytes(graph) * 5 / 4);
}

TEST_CASE("where both processors are the same cores, the CPU alone is estimated, as it is made") {
  DeviceProfile profile = profile_of(1);
  profile.shares_cores = true;
  for (const KernelInfo& info : kKernelInfos)
    if (info.processor == Processor::Gpu) profile.kernels[info.id - 1].shares[Term::Compute] = 0.25;
  Maker maker(profile);
  CHECK(maker.estimated_us() == maker.made_us());
  CHECK(maker.estimated_us() == Maker(profile, "cpu").made_us());
  CHECK(Maker(profile, "gpu").made_us() < 0.5 * maker.estimated_us());
}

TEST_CASE("what is not searched for is estimated as it is made") {
  const DeviceProfile profile = profile_of(10);
  for (const char* strategy : {"cpu", "gpu", "coarse", "segments"}) {
    CAPTURE(strategy);
    Maker maker(profile, strategy);
    CHECK(maker.estimated_us() == maker.made_us());
  }
  Maker split(profile);
  split.options.split_dim = SplitDim::Height;
  split.options.ratio = 0.5;
  CHECK(split.estimated_us() == split.made_us());
}

TEST_CASE("all variants together keep to the limit on weights, and it is known what that costs") {
  Maker maker(profile_with_winograd());
  const auto make = [&](WeightLimit limit, std::optional<FreePlan>* free) {
    maker.options.limits.max_weights = limit;
    VariantMaker variants(maker.graph, maker.predictor, maker.options);
    StoredWeights weights(maker.graph);
    double us = 0;
    for (const VariantRequest::Kind kind :
         {VariantRequest::Coexec, VariantRequest::Cpu, VariantRequest::Gpu}) {
      const MadeVariant made = value_of(variants.make({kind, "any"}));
      weights.add(made.candidate.partition);
      if (kind == VariantRequest::Coexec) us = made.candidate.schedule.predicted_us;
    }
    *free = variants.without_weight_limit();
    return std::pair(weights.bytes(), us);
  };
  std::optional<FreePlan> of_any_size, of_limited, of_least;
  const auto [free_bytes, free_us] = make({std::nullopt, std::nullopt}, &of_any_size);
  CHECK_FALSE(of_any_size.has_value());

  const uint64_t limit = constant_bytes(maker.graph) * 5 / 2;
  REQUIRE(free_bytes > limit);
  const auto [bytes, us] = make({std::nullopt, limit}, &of_limited);
  CHECK(bytes <= limit);
  CHECK(us >= free_us);
  REQUIRE(of_limited.has_value());
  CHECK(of_limited->weight_bytes > limit);
  CHECK(of_limited->figures.predicted_us < us);

  // No plan has so few, so the one with the fewest is made.
  const auto [least_bytes, least_us] = make({std::nullopt, 1}, &of_least);
  CHECK(least_bytes < bytes);
  CHECK(least_us > us);
}

}  // namespace
}  // namespace codl::compiler
