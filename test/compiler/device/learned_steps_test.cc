#include "compiler/device/learned_steps.h"

#include <cmath>
#include <utility>

#include "compiler/device/busy_profile.h"
#include "compiler/device/latency_predictor.h"
#include "test/compiler/support/sample_steps.h"
#include "test/support/catch.h"

namespace codl::compiler {
namespace {

constexpr uint16_t kTaughtConv = 1;

SampleStep conv_step(int32_t channels, SplitDim dim = SplitDim::None, Range part = {}) {
  return {kTaughtConv, {.in_channels = channels, .kernel = 3, .part_dim = dim, .part = part}};
}

TEST_CASE("nothing learned changes nothing") {
  const LearnedSteps none;
  CHECK(none.empty());
  CHECK(none.correction(conv_step(32).shape(), 100).factor == 1);
  CHECK(none.correction(conv_step(32).shape(), 100).open == 1);
  CHECK(none.factor_of(Processor::Gpu) == 1);
}

TEST_CASE("a step that was measured is as it was, and little is left open") {
  LearnedSteps learned;
  learned.add(conv_step(32).shape(), 100, 130);
  learned.add(conv_step(32).shape(), 100, 110);
  const auto same = learned.correction(conv_step(32).shape(), 100);
  CHECK(same.factor == Approx(1.2));
  CHECK(same.open > 0);
  CHECK(same.open < 0.2);
  CHECK(learned.step_count() == 2);
}

TEST_CASE("parts of one node teach each other, the less the further they are") {
  LearnedSteps learned;
  const SampleStep whole = conv_step(32), half = conv_step(32, SplitDim::Height, {0, 4});
  learned.add(whole.shape(), 100, 150);
  const auto at_half = learned.correction(half.shape(), 50);
  CHECK(at_half.factor == Approx(1.5));
  CHECK(at_half.open == Approx(0.5));
  CHECK(learned.correction(half.shape(), 25).open == 1);
  CHECK(learned.correction(half.shape(), 400).open == 1);
  learned.add(half.shape(), 50, 50);
  CHECK(learned.correction(half.shape(), 50).factor == Approx(1));
  CHECK(learned.correction(whole.shape(), 100).factor == Approx(1.5));
  // The result lies between them, in the middle of both logarithms.
  const double middle_us = std::sqrt(50.0 * 100);
  CHECK(learned.correction(half.shape(), middle_us).factor * middle_us ==
        Approx(std::sqrt(50.0 * 150)));
}

TEST_CASE("what is predicted to take longer never takes less") {
  LearnedSteps learned;
  const SampleStep step = conv_step(32);
  for (const auto& [predicted_us, measured_us] :
       {std::pair(100.0, 200.0), {110.0, 90.0}, {50.0, 120.0}, {400.0, 100.0}, {55.0, 60.0}})
    learned.add(step.shape(), predicted_us, measured_us);
  double last_us = 0;
  for (double us = 3; us < 2000; us *= 1.01) {
    const double now_us = us * learned.correction(step.shape(), us).factor;
    CHECK(now_us >= last_us * (1 - 1e-12));
    last_us = now_us;
  }
}

TEST_CASE("other nodes are as the kernel's, other kernels as the processor's") {
  LearnedSteps learned;
  learned.add(conv_step(32).shape(), 100, 120);
  learned.add(conv_step(64).shape(), 300, 400);
  const auto of_kernel = learned.correction(conv_step(96).shape(), 700);
  CHECK(of_kernel.factor == Approx(520.0 / 400));
  CHECK(of_kernel.open == 1);
  const uint16_t other_kernel = [] {
    for (const KernelInfo& info : kKernelInfos)
      if (info.processor == Processor::Cpu && info.op == OpKind::Pool2d) return info.id;
    return uint16_t{0};
  }();
  CHECK(learned.correction(SampleStep(other_kernel, {}).shape(), 700).factor == Approx(1.3));
  REQUIRE(find_kernel(2)->processor == Processor::Gpu);
  CHECK(learned.correction(SampleStep(2, {}).shape(), 700).factor == 1);
}

TEST_CASE("parameters and whole maps tell nodes apart") {
  LearnedSteps learned;
  learned.add(conv_step(32).shape(), 100, 200);
  learned.add(conv_step(64).shape(), 100, 100);
  const auto factor = [&](const SampleStep& step) {
    return learned.correction(step.shape(), 100).factor;
  };
  CHECK(factor(conv_step(32)) == 2);
  CHECK(factor(conv_step(64)) == 1);
  for (const SampleStep::Options& other :
       {SampleStep::Options{.kernel = 1}, {.stride = 2}, {.rows = 16}, {.out_channels = 64}})
    CHECK(factor(SampleStep(kTaughtConv, other)) == 1.5);
}

TEST_CASE("what is too short to be measured teaches nothing") {
  LearnedSteps learned;
  learned.add(conv_step(32).shape(), LearnedSteps::kMinUs / 2, 1000);
  learned.add(conv_step(32).shape(), 1000, 0);
  CHECK(learned.empty());
}

TEST_CASE("a predictor knows what was learned") {
  DeviceProfile profile;
  profile.kernels[kTaughtConv - 1].shares[Term::Step] = 100;
  const SampleStep step = conv_step(32);
  profile.learned.add(step.shape(), 100, 250);
  const LatencyPredictor predictor(profile);
  CHECK(predictor.predict_us(step.shape(), false) == 250);
  CHECK(predictor.demand(step.shape()).open < 1);
  CHECK(predictor.correction(step.shape()).factor == 2.5);
  kernels::StepShape in_place = step.shape();
  in_place.is_in_place = true;
  CHECK(predictor.demand(in_place).open == 1);
}

TEST_CASE("beside a busy CPU a learned step takes as many times as long as any other") {
  DeviceProfile profile;
  profile.kernels[kTaughtConv - 1].shares[Term::Step] = 100;
  const SampleStep half = conv_step(32, SplitDim::Height, {0, 4}), whole = conv_step(32);
  profile.learned.add(half.shape(), 100, 80);
  profile.learned.add(whole.shape(), 200, 360);
  const DeviceProfile busy = busy_profile(profile);
  const LatencyPredictor idle_predictor(profile), busy_predictor(busy);
  CHECK(idle_predictor.predict_us(half.shape(), false) == 80);
  CHECK(busy_predictor.predict_us(half.shape(), false) == 80 * kBusySlowdown);
  CHECK(busy_predictor.demand(half.shape()).open == idle_predictor.demand(half.shape()).open);
}

}  // namespace
}  // namespace codl::compiler
