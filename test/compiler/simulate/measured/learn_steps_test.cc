#include "compiler/simulate/measured/learn_steps.h"

#include <algorithm>

#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/measured/uncertainty.h"
#include "compiler/simulate/timing/simulate.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::error_of;
using test::value_of;

Schedule split_in_halves(const ir::Graph& graph, const DeviceProfile& profile) {
  PartitionOptions forced;
  forced.split_dim = SplitDim::Height;
  forced.ratio = 0.5;
  const LatencyPredictor predictor(profile);
  Schedule schedule = value_of(
      make_schedule(graph, value_of(partition(graph, predictor, forced)), predictor, "coexec"));
  REQUIRE(error_of(predict(schedule, profile)) == "");
  return schedule;
}

// Returns measurements of a device whose steps take so many times as long as the profile predicts
// of them, with the other queue beside them.
MeasuredSteps measured_of(const Variant& variant, const DeviceProfile& profile, double cpu,
                          double gpu) {
  const auto steps = value_of(queue_steps_of(variant, profile));
  const Timeline timeline = run_queues(steps, profile, {}, Clock::Codl);
  MeasuredSteps measured{"", variant.name, 0, {}};
  for (size_t i = 0; i < steps.size() && measured.steps.size() < variant.steps.size(); ++i) {
    if (steps[i].called_queue != kNoQueue) continue;
    const Step& step = variant.steps[measured.steps.size()];
    const double us = (timeline.spans[i].end_us - timeline.spans[i].start_us) *
                      (step.queue == Queue::Gpu ? gpu : cpu);
    measured.steps.push_back({step.name,
                              step.kernel != nullptr
                                  ? step.kernel->symbol
                                  : kStepKindNames[static_cast<size_t>(step.kind)],
                              step.predicted_us, 0, 0, us});
  }
  return measured;
}

struct Learned {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  ir::Graph graph = test::three_convs();
  PlanModel plan;

  Learned() {
    for (Calibration& known : profile.kernels)
      for (double& share : known.shares.of)
        share *= 100;  // all steps are long enough to be measured
    plan.entries.emplace_back().variants.push_back(split_in_halves(graph, profile));
  }

  std::string learn(const std::vector<MeasuredSteps>& measured, LearnedSteps& learned) const {
    return error_of(learn_steps(plan, measured, "b.json", profile, learned));
  }
};

TEST_CASE("steps are predicted as they were measured, beside the other queue") {
  Learned example;
  for (Quantity& percent : example.profile.transfer.contention_percent) percent.value = 30;
  const Variant& variant = example.plan.entries[0].variants[0];
  const MeasuredSteps measured = measured_of(variant, example.profile, 1.25, 0.8);
  LearnedSteps learned;
  REQUIRE(example.learn({measured}, learned) == "");
  CHECK(learned.factor_of(Processor::Cpu) == Approx(1.25).epsilon(1e-3));
  CHECK(learned.factor_of(Processor::Gpu) == Approx(0.8).epsilon(1e-3));
  const LatencyPredictor before(example.profile);
  DeviceProfile taught = example.profile;
  taught.learned = learned;
  const LatencyPredictor after(taught);
  for (const Step& step : variant.steps) {
    if (step.kernel == nullptr) continue;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    const kernels::StepShape shape = variant.shape_of(step, shapes);
    const double factor = step.queue == Queue::Gpu ? 0.8 : 1.25;
    CHECK(after.predict_us(shape, false) ==
          Approx(factor * before.predict_us(shape, false)).epsilon(1e-3));
  }
}

TEST_CASE("what shares a memory is predicted as it was measured, too") {
  Learned example;
  Variant& variant = example.plan.entries[0].variants[0];
  const auto spans = [&](const DeviceProfile& profile) {
    const auto steps = value_of(queue_steps_of(variant, profile));
    return run_queues(steps, profile, {}, Clock::Codl).spans;
  };
  const auto taken_us = [](const Timeline::Span& span) { return span.end_us - span.start_us; };
  const std::vector<Timeline::Span> without = spans(example.profile);
  // It is more than one step asks for, and less than two do, so their demands decide.
  double most = 0;
  for (const QueueStep& step : value_of(queue_steps_of(variant, example.profile)))
    if (step.alone_us > 0) most = std::max(most, memory_demand(step.memory_bytes, step.alone_us));
  example.profile.transfer.memory_gb_per_s.value = 1.1 * most;
  const std::vector<Timeline::Span> before = spans(example.profile);
  LearnedSteps learned;
  REQUIRE(example.learn({measured_of(variant, example.profile, 2, 2)}, learned) == "");
  DeviceProfile taught = example.profile;
  taught.learned = learned;
  const std::vector<Timeline::Span> after = spans(taught);
  bool is_slowed_down = false;
  for (StepId id = 0; id < variant.steps.size(); ++id) {
    if (variant.steps[id].kernel == nullptr) continue;
    is_slowed_down |= taken_us(before[id]) > 1.01 * taken_us(without[id]);
    CHECK(taken_us(after[id]) == Approx(2 * taken_us(before[id])).epsilon(1e-2));
  }
  CHECK(is_slowed_down);
}

TEST_CASE("a plan moves work to the processor that was faster than predicted") {
  Learned example;
  const auto gpu_rows = [&](const DeviceProfile& profile) {
    PartitionOptions options;
    options.split_dim = SplitDim::Height;
    const LatencyPredictor predictor(profile);
    const PartitionPlan plan = value_of(partition(example.graph, predictor, options));
    int32_t rows = 0;
    for (const NodePartition& node : plan.node_partitions)
      for (const Part& part : node.parts)
        if (part.processor == Processor::Gpu && node.dim == SplitDim::Height)
          rows += part.owned.count();
    return rows;
  };
  LearnedSteps learned;
  REQUIRE(
      example.learn({measured_of(example.plan.entries[0].variants[0], example.profile, 1.5, 0.7)},
                    learned) == "");
  DeviceProfile taught = example.profile;
  taught.learned = learned;
  CHECK(gpu_rows(taught) > gpu_rows(example.profile));
}

TEST_CASE("a plan of steps that were measured is surer") {
  Learned example;
  for (Calibration& known : example.profile.kernels) {
    known.interval_low = 0.5;
    known.interval_high = 2;
  }
  const Variant& variant = example.plan.entries[0].variants[0];
  LearnedSteps learned;
  REQUIRE(example.learn({measured_of(variant, example.profile, 1, 1)}, learned) == "");
  DeviceProfile taught = example.profile;
  taught.learned = learned;
  const Uncertainty before = value_of(uncertainty_of(variant, example.profile));
  const Uncertainty after = value_of(uncertainty_of(variant, taught));
  CHECK(after.high_us - after.low_us < (before.high_us - before.low_us) / 3);
  CHECK(after.high_us > after.low_us);
}

TEST_CASE("measurements that are not of the plan are refused") {
  Learned example;
  const MeasuredSteps right =
      measured_of(example.plan.entries[0].variants[0], example.profile, 1, 1);
  LearnedSteps learned;
  CHECK(example.learn({}, learned) ==
        "b.json: expected steps of a variant of the plan, found none");
  MeasuredSteps other = right;
  other.variant = "gpu";
  CHECK(example.learn({other}, learned) ==
        "b.json: expected steps of a variant of the plan, found \"gpu\"");
  other = right;
  other.steps.pop_back();
  CHECK(example.learn({other}, learned).find("b.json: expected ") == 0);
  other = right;
  other.steps[1].node = "elsewhere";
  CHECK(example.learn({other}, learned).find("b.json: expected step 1 of variant coexec to be ") ==
        0);
  CHECK(learned.empty());
  other = right;
  other.steps[1].predicted_us *= 1.1;
  CHECK(example.learn({other}, learned).find(": of another plan of that name") !=
        std::string::npos);
  other = right;
  for (MeasuredStep& step : other.steps) step.median_us *= 2000;
  CHECK(example.learn({other}, learned).find("b.json: expected a time of \"") == 0);
  for (const Step& step : example.plan.entries[0].variants[0].steps)
    if (step.kernel != nullptr && step.kernel->processor == Processor::Gpu)
      example.profile.unused_kernels.push_back(step.kernel->id);
  CHECK(example.learn({right}, learned)
            .find("b.json: expected steps of a plan that the device of profile ") == 0);
}

}  // namespace
}  // namespace codl::compiler
