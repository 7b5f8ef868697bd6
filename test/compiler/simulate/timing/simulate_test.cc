#include "compiler/simulate/timing/simulate.h"

#include <algorithm>

#include "compiler/emit/dump_plan.h"
#include "compiler/partition/partition.h"
#include "compiler/pipeline.h"
#include "compiler/schedule/schedule.h"
#include "nlohmann/json.hpp"
#include "test/compiler/support/golden.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::value_of;

// Has two convolutions, one after the other, each split in halves along the rows.
struct Example {
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  Schedule schedule;

  explicit Example() {
    test::GraphBuilder builder(16, 256, 256);
    const ir::Graph graph =
        builder.finish(builder.conv("b", builder.conv("a", builder.input(), 32), 32));
    PartitionOptions forced;
    forced.split_dim = SplitDim::Height;
    forced.ratio = 0.5;
    const LatencyPredictor predictor(profile);
    const PartitionPlan plan = value_of(partition(graph, predictor, forced));
    schedule = value_of(make_schedule(graph, plan, predictor, "coexec"));
  }

  std::vector<QueueStep> steps() const { return value_of(queue_steps_of(schedule, profile)); }
  Timeline run(const SimulatedLoad& load = {}, Clock clock = Clock::Wall) const {
    return run_queues(steps(), profile, load, clock);
  }
};

TEST_CASE("a network that takes longer than a plan can say is refused") {
  Example example;
  for (Calibration& kernel : example.profile.kernels)
    for (double& share : kernel.shares.of) share = 1e30;
  const std::string error = test::error_of(predict(example.schedule, example.profile));
  CHECK(error.find("profile test: expected a network that takes ") == 0);
}

// Tries six networks, split in halves and on the CPU, on devices with each kind of sharing, where
// queues slow each other down and are disturbed.
TEST_CASE("a plan has the time that the simulator has of it when it is read, to the last bit") {
  const std::string network =
      GENERATE("residual", "mobile", "unet", "detector", "attention", "style");
  const std::string device = GENERATE("host-2core-zen4-pocl", "sd855", "h200-nvidia");
  CAPTURE(network, device);
  DeviceProfile profile = value_of(load_device_profile(device));
  const auto set = [&](double contention_percent, double interference_percent) {
    for (size_t queue : {0, 1}) {
      profile.transfer.contention_percent[queue].value = contention_percent * (1 + queue);
      profile.interference_percent[queue].value = interference_percent * (1 + queue);
    }
  };
  set(20, 5);
  CompileOptions options;
  options.partition.ratio = 0.5;
  const LargeBytes file = value_of(compile(golden_model(network), "golden", profile, options)).plan;
  const PlanModel opened = value_of(open_plan(file.data(), file.size(), "x.codl"));
  const PlanEntry& plan = opened.entries.front();
  REQUIRE(plan.variants.size() == 2);
  const auto run = [&](const Variant& variant) {
    return run_queues(value_of(queue_steps_of(variant, profile)), profile, {}, Clock::Wall);
  };
  const auto wall_us = [&](const Variant& variant) { return run(variant).total_us; };
  for (const Variant& variant : plan.variants) {
    CHECK(variant.predicted_us > 0);
    CHECK(static_cast<float>(wall_us(variant)) == static_cast<float>(variant.predicted_us));
  }
  // Both count; there is contention while both queues work.
  const Timeline both = run(plan.variants[0]);
  const double both_us = both.total_us;
  set(0, 5);
  CHECK((wall_us(plan.variants[0]) < both_us) == (both.overlap_us > 0));
  set(20, 0);
  CHECK(wall_us(plan.variants[0]) < both_us);
}

TEST_CASE("a step's time is without the other queue, with its launch") {
  Example example;
  example.profile.launch_us.value = 20;
  example.profile.transfer.contention_percent[0].value = 100;
  REQUIRE(test::error_of(predict(example.schedule, example.profile)) == "");
  const LatencyPredictor predictor(example.profile);
  for (const Step& step : example.schedule.steps) {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    CHECK(step.predicted_us ==
          predictor.predict_us(example.schedule.shape_of(step, shapes), false) +
              (step.queue == Queue::Gpu ? 20 : 0));
  }
}

TEST_CASE("a queue is never in two steps, and a step starts after what it waits for") {
  const Example example;
  const Timeline simulated = example.run();
  double free_us[3] = {};
  const std::vector<Step>& steps = example.schedule.steps;
  for (StepId i = 0; i < steps.size(); ++i) {
    const Timeline::Span& step = simulated.spans[i];
    double& queue_free_us = free_us[static_cast<size_t>(steps[i].queue)];
    CHECK(step.start_us >= queue_free_us - 1e-6);
    CHECK(step.end_us >= step.start_us);
    queue_free_us = step.end_us;
    for (StepId wait : steps[i].waits)
      CHECK(step.start_us >=
            simulated.spans[wait].end_us + example.profile.transfer.sync_us.value - 1e-6);
  }
  CHECK(simulated.overlap_us > 0);
}

TEST_CASE("launches take wall time, by step of the GPU, and none of CoDL's") {
  Example example;
  const double without_us = example.run().total_us;
  CHECK(example.run({}, Clock::Codl).total_us == Approx(without_us));
  example.profile.launch_us.value = 1000;
  CHECK(example.run({}, Clock::Codl).total_us == Approx(without_us));
  const auto enqueued = [](const QueueStep& step) { return step.launch_us > 0; };
  const std::vector<QueueStep> steps = example.steps();
  const auto count = std::count_if(steps.begin(), steps.end(), enqueued);
  CHECK(count == 2);
  CHECK(example.run().busy_us[1] - example.run({}, Clock::Codl).busy_us[1] ==
        Approx(1000.0 * static_cast<double>(count)));
}

TEST_CASE("energy is base power over the run, and each queue's while it is busy") {
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
  // Both queues are 100 % slower while both are busy: at most twice the time.
  example.profile.transfer.contention_percent[0].value = 100;
  example.profile.transfer.contention_percent[1].value = 100;
  const double contended_us = example.run().total_us;
  CHECK(contended_us > alone_us);
  CHECK(contended_us <= 2 * alone_us + 1e-6);
}

// Simulates two steps side by side that ask for so many bytes each: 100 us on the CPU, `gpu_us` on
// the GPU.
Timeline stream(double memory_gb_per_s, double cpu_bytes, double gpu_us, double gpu_bytes) {
  std::vector<QueueStep> steps(2);
  steps[0].alone_us = 100;
  steps[0].memory_bytes = cpu_bytes;
  steps[1].queue = static_cast<uint8_t>(Queue::Gpu);
  steps[1].alone_us = gpu_us;
  steps[1].memory_bytes = gpu_bytes;
  DeviceProfile profile;
  profile.has_gpu = true;
  profile.transfer.memory_gb_per_s.value = memory_gb_per_s;
  return run_queues(steps, profile, {}, Clock::Wall);
}

TEST_CASE("both processors share what the memory gives, while both ask for it") {
  // Each gets 10 GB/s.
  CHECK(stream(0, 1e6, 100, 1e6).total_us == Approx(100));
  CHECK(stream(20, 1e6, 100, 1e6).total_us == Approx(100));
  CHECK(stream(16, 1e6, 100, 1e6).total_us == Approx(125));
  // A step that asks for nothing takes nothing; a step that is alone has all.
  CHECK(stream(10, 0, 100, 1e6).total_us == Approx(100));
  const Timeline uneven = stream(15, 1e6, 200, 2e6);
  CHECK(uneven.spans[0].end_us == Approx(100 * 20. / 15));
  CHECK(uneven.spans[1].end_us == Approx(100 * 20. / 15 + 100));
  // Together they get no less bandwidth than one has alone.
  CHECK(stream(1, 1e6, 100, 1e6).total_us == Approx(200));
  CHECK(stream(1e-300, 1e6, 100, 1e6).total_us == Approx(200));
  CHECK(stream(10, 1e6, 1e-300, 1e12).total_us == Approx(100));
}

TEST_CASE("a queue takes what it usually is disturbed by longer, and what the other one is") {
  Example example;
  const Timeline undisturbed = example.run();
  example.profile.interference_percent[0].value = 10;
  const Timeline disturbed = example.run();
  CHECK(disturbed.busy_us[0] == Approx(1.1 * undisturbed.busy_us[0]));
  // Beside the CPU's steps, the GPU's are held up; alone, they are not.
  CHECK(disturbed.busy_us[1] > 1.01 * undisturbed.busy_us[1]);
  CHECK(disturbed.busy_us[1] < 1.1 * undisturbed.busy_us[1]);
  CHECK(disturbed.total_us > undisturbed.total_us);
  CHECK(disturbed.total_us <= Approx(1.1 * undisturbed.total_us));
}

TEST_CASE("a variant's weights count once, however many steps have them") {
  const Example example;
  // Packed weights: 3 x 3 filters and a bias; both queues' steps read all of them.
  CHECK(weight_mbytes(example.schedule) == Approx(4e-6 * (9 * 16 * 32 + 32 + 9 * 32 * 32 + 32)));
}

TEST_CASE("the trace has a name per queue and an event per step") {
  const Example example;
  const auto trace = nlohmann::json::parse(chrome_trace("coexec", example.steps(), example.run()));
  size_t events = 0;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X") ++events;
  CHECK(events == example.schedule.steps.size());
  CHECK(trace["traceEvents"][0]["args"]["name"] == "coexec");
}

TEST_CASE("a plan with a kernel that the device cannot run is refused") {
  Example example;
  example.profile.has_gpu = false;
  CHECK(test::error_of(queue_steps_of(example.schedule, example.profile))
            .find("expected a kernel that the device of profile") != std::string::npos);
}

}  // namespace
}  // namespace codl::compiler
