#include "compiler/simulate/simulate_plan.h"

#include <algorithm>
#include <set>

#include "compiler/emit/dump_plan.h"
#include "compiler/emit/pack_weights.h"
#include "compiler/emit/plan_builder.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/partition/partition.h"
#include "compiler/simulate/simulate.h"
#include "nlohmann/json.hpp"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

// Two convolutions in a row, each split in halves along the rows.
struct Example {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  double predicted_us = 0;
  std::vector<uint8_t> file;
  const plan::VariantDef* variant = nullptr;

  explicit Example(double launch_us = 0) {
    profile.launch_us.value = launch_us;
    test::GraphBuilder builder(16, 256, 256);
    const ir::Graph graph =
        builder.finish(builder.conv("b", builder.conv("a", builder.input(), 32), 32));
    PartitionOptions forced;
    forced.split_dim = SplitDim::Height;
    forced.ratio = 0.5;
    const PartitionPlan division = value_of(partition(graph, profile, forced));
    std::vector<Schedule> schedules;
    schedules.push_back(value_of(make_schedule(graph, division, profile, "coexec")));
    std::vector<MemoryPlan> memory;
    memory.push_back(value_of(plan_memory(schedules[0], profile)));
    predicted_us = simulate(schedules[0], profile).total_us;
    file = value_of(build_plan(graph, schedules, memory, value_of(pack_weights(graph, schedules)),
                               {"box", "00000000000000aa", "00000000000000bb", 3}));
    variant = value_of(open_plan(file.data(), file.size(), "x.codl"))->variants()->Get(0);
  }

  std::vector<LaneStep> steps() const { return value_of(lane_steps_of(*variant, profile)); }
  Timeline run(const SimulatedLoad& load = {}, Clock clock = Clock::Wall) const {
    return run_lanes(steps(), profile, load, clock);
  }
};

TEST_CASE("a plan takes as long as the compiler said, if nothing contends") {
  for (double launch_us : {0.0, 20.0}) {
    const Example example(launch_us);
    CHECK(example.run().total_us == Approx(example.predicted_us).epsilon(1e-4));
  }
}

TEST_CASE("a lane is never in two steps, and a step starts after what it waits for") {
  const Example example;
  const Timeline simulated = example.run();
  double free_us[3] = {};
  const auto& steps = *example.variant->steps();
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const Timeline::Span& step = simulated.spans[i];
    double& lane_free_us = free_us[static_cast<size_t>(lane_of(*steps[i]))];
    CHECK(step.start_us >= lane_free_us - 1e-6);
    CHECK(step.end_us >= step.start_us);
    lane_free_us = step.end_us;
    for (uint32_t wait : *steps[i]->waits())
      CHECK(step.start_us >=
            simulated.spans[wait].end_us + example.profile.exchange.sync_us.value - 1e-6);
  }
  CHECK(simulated.overlap_us > 0);
}

TEST_CASE("launches take wall time, by step of the GPU, and none of CoDL's") {
  Example example;
  const double without_us = example.run().total_us;
  CHECK(example.run({}, Clock::Codl).total_us == Approx(without_us));
  example.profile.launch_us.value = 1000;
  CHECK(example.run({}, Clock::Codl).total_us == Approx(without_us));
  const auto enqueued = [](const LaneStep& step) { return step.is_enqueued; };
  const std::vector<LaneStep> steps = example.steps();
  const auto count = std::count_if(steps.begin(), steps.end(), enqueued);
  CHECK(count == 2);
  CHECK(example.run().busy_us[1] - example.run({}, Clock::Codl).busy_us[1] ==
        Approx(1000.0 * static_cast<double>(count)));
}

TEST_CASE("energy is base power over the run, and each lane's while it is busy") {
  Timeline timeline;
  timeline.total_us = 2e6;
  timeline.busy_us[0] = 1e6;
  timeline.busy_us[1] = 0.5e6;
  PowerFigures power;
  power.base_w.value = 1;
  power.cpu_w.value = 4;
  power.gpu_w.value = 2;
  // 2 s x 1 W + 1 s x 4 W + 0.5 s x 2 W
  CHECK(timeline.energy_j(power) == Approx(7));
}

TEST_CASE("contention and other work make a plan slower, never faster") {
  Example example;
  const double alone_us = example.run().total_us;
  CHECK(example.run({.cpu_percent = 50}).total_us > alone_us);
  CHECK(example.run({.gpu_frame_percent = 50}).total_us > alone_us);
  // Both lanes 100 % slower while both are busy: at most twice the time.
  example.profile.exchange.contention_percent[0].value = 100;
  example.profile.exchange.contention_percent[1].value = 100;
  const double contended_us = example.run().total_us;
  CHECK(contended_us > alone_us);
  CHECK(contended_us <= 2 * alone_us + 1e-6);
}

TEST_CASE("a lane takes what it usually is disturbed by longer, and what the other one is") {
  Example example;
  const Timeline undisturbed = example.run();
  example.profile.disturbance_percent[0].value = 10;
  const Timeline disturbed = example.run();
  CHECK(disturbed.busy_us[0] == Approx(1.1 * undisturbed.busy_us[0]));
  // Beside the CPU's steps the GPU's are held up, alone they are not.
  CHECK(disturbed.busy_us[1] > 1.01 * undisturbed.busy_us[1]);
  CHECK(disturbed.busy_us[1] < 1.1 * undisturbed.busy_us[1]);
  CHECK(disturbed.total_us > undisturbed.total_us);
  CHECK(disturbed.total_us <= Approx(1.1 * undisturbed.total_us));
}

TEST_CASE("a variant's weights count once, however many steps have them") {
  const Example example;
  uint64_t bytes = 0;
  std::set<uint32_t> seen;
  for (const plan::TensorDef* tensor : *example.variant->tensors())
    if (storage_of(*tensor) == Storage::Weights && seen.insert(tensor->index()).second)
      bytes += tensor->bytes();
  CHECK(bytes > 0);
  CHECK(weight_mbytes(*example.variant) == Approx(1e-6 * static_cast<double>(bytes)));
}

TEST_CASE("the trace has a name per lane and an event per step") {
  const Example example;
  const auto trace = nlohmann::json::parse(chrome_trace("coexec", example.steps(), example.run()));
  size_t events = 0;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X") ++events;
  CHECK(events == example.variant->steps()->size());
  CHECK(trace["traceEvents"][0]["args"]["name"] == "coexec");
}

TEST_CASE("a profile without a model of a kernel is refused") {
  Example example;
  example.profile.models.clear();
  CHECK(test::error_of(lane_steps_of(*example.variant, example.profile))
            .find("expected a kernel that profile") != std::string::npos);
}

}  // namespace
}  // namespace codl::compiler
