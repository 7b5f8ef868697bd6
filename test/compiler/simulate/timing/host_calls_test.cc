#include "compiler/simulate/timing/host_calls.h"

#include <array>

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

// Steps of a variant with given times; their operands are values of f32 without rows.
struct PlannedSteps {
  Variant variant;
  std::vector<QueueStep> steps;

  TensorId value(double bytes, Storage storage = Storage::Host) {
    Tensor tensor;
    tensor.storage = storage;
    tensor.shape.rank = 1;
    tensor.shape.dims[0] = static_cast<int32_t>(bytes / 4);
    tensor.shape.bytes = static_cast<uint64_t>(bytes);
    variant.tensors.push_back(tensor);
    return static_cast<TensorId>(variant.tensors.size() - 1);
  }

  PlannedSteps& add(Queue queue, double us, std::vector<StepId> waits = {},
                    std::vector<TensorId> operands = {}) {
    if (operands.empty()) operands.push_back(value(0));
    Step step;
    step.queue = queue;
    if (queue == Queue::Transfer) step.kind = StepKind::Download;
    step.operands = std::move(operands);
    step.waits = waits;
    variant.steps.push_back(std::move(step));
    QueueStep& timed = steps.emplace_back();
    timed.queue = static_cast<uint8_t>(queue);
    timed.alone_us = us;
    for (StepId wait : waits) timed.waits.push_back({wait});
    return *this;
  }
};

// Calls take 2 us, 5 into an idle queue; a start takes 10 us, being seen 20, and changing queues
// 40.
DeviceProfile profile() {
  DeviceProfile profile;
  profile.has_gpu = true;
  HostCosts& host = profile.transfer.host.emplace();
  host.enqueue_us.value = 2;
  host.submit_us.value = 5;
  host.start_us.value = 10;
  host.wake_us.value = 20;
  host.queue_us.value = 40;
  return profile;
}

double wall_us(PlannedSteps planned, const DeviceProfile& profile, Gate gate = Gate::HostEnqueue) {
  planned.variant.gate = gate;
  const LatencyPredictor predictor(profile);
  return run_queues(with_host_calls(planned.variant, std::move(planned.steps), predictor), profile,
                    {}, Clock::Wall)
      .total_us;
}

TEST_CASE("the host calls before it computes, and sees the queue done at the end") {
  // Calls take 5 + 2 us, then the CPU 100; the GPU works from 15 to 115 and is seen at 135.
  CHECK(wall_us(PlannedSteps().add(Queue::Gpu, 50).add(Queue::Gpu, 50).add(Queue::Cpu, 100),
                profile()) == Approx(5 + 10 + 50 + 50 + 20));
  // The CPU is slower: 7 + 200.
  CHECK(wall_us(PlannedSteps().add(Queue::Gpu, 50).add(Queue::Gpu, 50).add(Queue::Cpu, 200),
                profile()) == Approx(7 + 200));
}

TEST_CASE("a step of the GPU behind one of the host is enqueued when that is done") {
  const PlannedSteps steps = PlannedSteps().add(Queue::Cpu, 100).add(Queue::Gpu, 50, {0});
  CHECK(wall_us(steps, profile()) == Approx(100 + 5 + 10 + 50 + 20));
  // With a gate it is enqueued before: the gate opens at 105.
  CHECK(wall_us(steps, profile(), Gate::UserEvent) == Approx(5 + 100 + 10 + 50 + 20));
}

TEST_CASE("what waits by flag is enqueued ahead, and no call comes between") {
  PlannedSteps steps =
      PlannedSteps().add(Queue::Cpu, 100).add(Queue::Gpu, 50, {0}).add(Queue::Cpu, 30, {1});
  steps.variant.steps[1].wait_kinds = steps.variant.steps[2].wait_kinds = {WaitKind::Flag};
  // A device without flags takes events.
  CHECK(wall_us(steps, profile()) == Approx(100 + 5 + 10 + 50 + 20 + 30));
  DeviceProfile given = profile();
  given.transfer.flags = {{3, Origin::Assumed, ""}, {4, Origin::Assumed, ""}};
  // The first call finds the queue idle, whatever it enqueues.
  CHECK(wall_us(steps, given) == Approx(5 + 100 + 4 + 50 + 3 + 30));
  // The next one takes 2 us for each of its kernels: a wait, the step and a flag.
  PlannedSteps more =
      PlannedSteps().add(Queue::Gpu, 1).add(Queue::Cpu, 100).add(Queue::Gpu, 50, {1});
  more.add(Queue::Cpu, 30, {2});
  more.variant.steps[2].wait_kinds = more.variant.steps[3].wait_kinds = {WaitKind::Flag};
  CHECK(wall_us(more, given) == Approx(5 + 3 * 2 + 100 + 4 + 50 + 3 + 30));
  // One that waits by event is called when the host is done.
  more.variant.steps[2].wait_kinds = {WaitKind::Event};
  CHECK(wall_us(more, given) == Approx(5 + 100 + 2 * 2 + 10 + 50 + 3 + 30));
}

TEST_CASE("recorded steps are given in the call of the first, up to a wait") {
  DeviceProfile given = profile();
  given.transfer.host->recorded_us = {0.5, Origin::Assumed, ""};
  PlannedSteps steps = PlannedSteps().add(Queue::Gpu, 1).add(Queue::Gpu, 1).add(Queue::Gpu, 1);
  steps.add(Queue::Cpu, 100, {2}).add(Queue::Gpu, 1, {3}).add(Queue::Cpu, 100);
  // The GPU waits for the third call.
  CHECK(wall_us(steps, given) == Approx(5 + 2 * 2 + 10 + 1 + 20 + 100 + 5 + 100));
  steps.variant.is_recorded = true;
  // It has all three at once, unless the device takes no recordings.
  CHECK(wall_us(steps, given) == Approx(5 + 10 + 3 * 1 + 20 + 100 + 5 + 100));
  CHECK(wall_us(steps, profile()) == Approx(5 + 2 * 2 + 10 + 1 + 20 + 100 + 5 + 100));
  // With flags their kernels are recorded, too.
  given.transfer.flags = {{3, Origin::Assumed, ""}, {4, Origin::Assumed, ""}};
  for (Step& step : steps.variant.steps) step.wait_kinds.assign(step.waits.size(), WaitKind::Flag);
  const double by_flag = 5 + 2 * 0.5 + 0.5 + (2 + 0.5);
  CHECK(wall_us(steps, given) == Approx(std::max(by_flag, 5 + 10 + 3.0) + 3 + 100 + 100));
}

TEST_CASE("a step of the host waits until it sees the GPU's") {
  CHECK(wall_us(PlannedSteps().add(Queue::Gpu, 50).add(Queue::Cpu, 100, {0}), profile()) ==
        Approx(5 + 10 + 50 + 20 + 100));
}

TEST_CASE("a download starts behind its kernel, and its call may wait for it") {
  DeviceProfile given = profile();
  given.transfer.host->download.call_us.value = 3;
  const PlannedSteps steps =
      PlannedSteps().add(Queue::Gpu, 500).add(Queue::Transfer, 30, {0}).add(Queue::Cpu, 300);
  // The kernel ends at 515; the copy ends 40 + 30 us later.
  CHECK(wall_us(steps, given) == Approx(515 + 40 + 30 + 20));
  // The host computes after the call has returned, at 518.
  given.transfer.host->download_call_waits = true;
  CHECK(wall_us(steps, given) == Approx(515 + 3 + 300));
}

TEST_CASE("a step in its place is no call, unless it waits or is waited for") {
  const auto with_reshape = [](std::vector<StepId> waits, std::vector<StepId> of_next) {
    PlannedSteps steps;
    const TensorId x = steps.value(400, Storage::Device);
    const TensorId y = steps.value(400, Storage::Device);
    for (const TensorId tensor : {x, y}) steps.variant.tensors[tensor].shape.layout = Layout::Plain;
    steps.add(Queue::Cpu, 100).add(Queue::Gpu, 0, std::move(waits), {x, y});
    steps.variant.steps.back().kernel = find_kernel(24);  // reshape_f32_cl_buffer
    return steps.add(Queue::Cpu, 50, std::move(of_next));
  };
  CHECK(wall_us(with_reshape({}, {}), profile()) == Approx(100 + 50));
  // The marker is called and starts, and the host sees it at the end.
  CHECK(wall_us(with_reshape({0}, {}), profile()) == Approx(100 + 5 + 50));
  CHECK(wall_us(with_reshape({}, {1}), profile()) == Approx(100 + 5 + 10 + 20 + 50));
}

TEST_CASE("what the other queue had last takes longer, once") {
  DeviceProfile given = profile();
  given.transfer.host->cpu_resume_us.value = 3;
  given.transfer.host->cpu_cold_us_per_mb.value = 10;
  given.transfer.host->gpu_cold_us_per_mb.value = 100;
  PlannedSteps steps;
  const TensorId made = steps.value(2e6);
  const TensorId none = steps.value(0);
  steps.add(Queue::Gpu, 50, {}, {none, made});
  steps.add(Queue::Cpu, 100, {0}, {made, none});
  steps.add(Queue::Cpu, 100, {0}, {made, none});
  CHECK(wall_us(steps, given) == Approx(5 + 10 + 50 + 20 + 3 + 10 * 2 + 100 + 100));
  // No step makes the run's inputs; with a GPU in the plan the first step finds the workers asleep.
  const auto with_input = [](bool has_gpu) {
    PlannedSteps some;
    const TensorId input = some.value(1e6, Storage::Input);
    const TensorId output = some.value(1e6);
    some.add(Queue::Cpu, 100, {}, {input, output});
    if (has_gpu) some.add(Queue::Gpu, 50, {0}, {output, some.value(0)});
    return some;
  };
  CHECK(wall_us(with_input(true), given) == Approx(3 + 10 + 100 + 5 + 10 + 100 + 50 + 20));
  CHECK(wall_us(with_input(false), given) == Approx(10 + 100));
}

TEST_CASE("of what another step made a step reads the rows of its window") {
  kernels::OperandShape made[2];
  kernels::OperandShape read[2];
  for (kernels::OperandShape* shape : {&made[0], &made[1], &read[0], &read[1]}) {
    shape->rank = 4;
    shape->layout = Layout::Nhwc;
    for (int i = 0; i < 4; ++i) shape->dims[i] = std::array{1, 16, 32, 10}[i];
    shape->row_end = 32;
  }
  kernels::StepShape maker;
  maker.operands = made;
  maker.operand_count = 2;
  kernels::StepShape reader = maker;
  reader.operands = read;
  const double row_bytes = 16 * 10 * 4;
  CHECK(bytes_read_of(maker, reader, 0) == Approx(32 * row_bytes));
  // A reader of all reads the other queue's half of the rows; one of the first half reads its halo.
  maker.part_dim = SplitDim::Height;
  maker.part = {16, 32};
  CHECK(bytes_read_of(maker, reader, 0) == Approx(16 * row_bytes));
  reader.part_dim = SplitDim::Height;
  reader.part = {0, 16};
  CHECK(bytes_read_of(maker, reader, 0) == Approx(2 * row_bytes));
  // With a stride of two, 8 rows of the output are 16 of the input.
  read[1].dims[2] = read[1].row_end = 16;
  reader.part = {0, 8};
  CHECK(bytes_read_of(maker, reader, 0) == Approx(2 * row_bytes));
  maker.part_dim = SplitDim::OutputChannel;
  maker.part = {0, 4};
  reader.part_dim = SplitDim::None;
  CHECK(bytes_read_of(maker, reader, 0) == Approx(32 * row_bytes / 4));
}

TEST_CASE("CoDL's clock has no calls") {
  const DeviceProfile given = profile();
  const PlannedSteps planned = PlannedSteps().add(Queue::Gpu, 50);
  const std::vector<QueueStep> steps =
      with_host_calls(planned.variant, planned.steps, LatencyPredictor(given));
  CHECK(run_queues(steps, given, {}, Clock::Codl).total_us == Approx(10 + 50 + 20));
}

TEST_CASE("a profile that says nothing of the host pays for each wait what its kind takes") {
  PlannedSteps steps =
      PlannedSteps().add(Queue::Cpu, 100).add(Queue::Gpu, 50, {0}).add(Queue::Cpu, 30, {1});
  steps.variant.steps[1].wait_kinds = steps.variant.steps[2].wait_kinds = {WaitKind::Flag};
  DeviceProfile given;
  given.has_gpu = true;
  given.transfer.sync_us.value = 300;
  CHECK(wall_us(steps, given) == Approx(100 + 300 + 50 + 300 + 30));
  given.transfer.flags = {{3, Origin::Assumed, ""}, {4, Origin::Assumed, ""}};
  CHECK(wall_us(steps, given) == Approx(100 + 4 + 50 + 3 + 30));
  steps.variant.steps[2].wait_kinds = {};
  CHECK(wall_us(steps, given) == Approx(100 + 4 + 50 + 300 + 30));
}

TEST_CASE("a profile that says nothing of the host pays sync_us for each wait") {
  DeviceProfile given;
  given.transfer.sync_us.value = 7;
  CHECK(wall_us(PlannedSteps().add(Queue::Gpu, 50).add(Queue::Cpu, 100, {0}), given) ==
        Approx(50 + 7 + 100));
}

TEST_CASE("a step that is lost in the rounding of a long time ends all the same") {
  std::vector<QueueStep> steps(3);
  steps[0].alone_us = 1e20;
  steps[1].alone_us = 1;
  steps[2].alone_us = 3;
  CHECK(run_queues(steps, DeviceProfile{}, {}, Clock::Wall).total_us == 1e20);
}

}  // namespace
}  // namespace codl::compiler
