#include "compiler/simulate/host_calls.h"

#include <array>

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

constexpr uint8_t kCpu = 0;
constexpr uint8_t kGpu = 1;
constexpr uint8_t kTransfer = 2;

PlannedStep planned(uint8_t lane, double us, std::vector<LaneWait> waits = {}) {
  PlannedStep step;
  step.step.lane = lane;
  step.step.alone_us = us;
  step.step.waits = std::move(waits);
  step.is_copy = lane == kTransfer;
  return step;
}

// Calls of 2 us, 5 into an idle queue; 10 us to a start, 20 to be seen, 40 between queues.
DeviceProfile profile() {
  DeviceProfile profile;
  profile.has_gpu = true;
  HostCosts& host = profile.exchange.host.emplace();
  host.enqueue_us.value = 2;
  host.submit_us.value = 5;
  host.start_us.value = 10;
  host.wake_us.value = 20;
  host.queue_us.value = 40;
  return profile;
}

double wall_us(std::vector<PlannedStep> steps, const DeviceProfile& profile,
               Gate gate = Gate::HostEnqueue) {
  return run_lanes(with_host_calls(std::move(steps), gate, profile), profile, {}, Clock::Wall)
      .total_us;
}

TEST_CASE("the host calls before it computes, and sees the queue done at the end") {
  // 5 + 2 us of calls, then 100 of the CPU; the GPU from 15 to 115, seen at 135.
  CHECK(wall_us({planned(kGpu, 50), planned(kGpu, 50), planned(kCpu, 100)}, profile()) ==
        Approx(5 + 10 + 50 + 50 + 20));
  // The CPU is the slower: 7 + 200.
  CHECK(wall_us({planned(kGpu, 50), planned(kGpu, 50), planned(kCpu, 200)}, profile()) ==
        Approx(7 + 200));
}

TEST_CASE("a step of the GPU behind one of the host is enqueued when that is done") {
  const std::vector<PlannedStep> steps = {planned(kCpu, 100), planned(kGpu, 50, {{0}})};
  CHECK(wall_us(steps, profile()) == Approx(100 + 5 + 10 + 50 + 20));
  // Behind a gate it is enqueued before: the gate opens at 105.
  CHECK(wall_us(steps, profile(), Gate::UserEvent) == Approx(5 + 100 + 10 + 50 + 20));
}

TEST_CASE("a step of the host waits until it sees the GPU's") {
  CHECK(wall_us({planned(kGpu, 50), planned(kCpu, 100, {{0}})}, profile()) ==
        Approx(5 + 10 + 50 + 20 + 100));
}

TEST_CASE("a download starts behind its kernel, and its call may wait for it") {
  DeviceProfile given = profile();
  std::vector<PlannedStep> steps = {planned(kGpu, 500), planned(kTransfer, 30, {{0}}),
                                    planned(kCpu, 300)};
  steps[1].is_download = true;
  steps[1].call_us = 3;
  // The kernel ends at 515; 40 + 30 us later the copy does.
  CHECK(wall_us(steps, given) == Approx(515 + 40 + 30 + 20));
  // The host computes when the call has returned, at 518.
  given.exchange.host->download_call_waits = true;
  CHECK(wall_us(steps, given) == Approx(515 + 3 + 300));
}

TEST_CASE("what the other lane had last takes longer, once") {
  DeviceProfile given = profile();
  given.exchange.host->cpu_resume_us.value = 3;
  given.exchange.host->cpu_cold_us_per_mb.value = 10;
  given.exchange.host->gpu_cold_us_per_mb.value = 100;
  std::vector<PlannedStep> steps = {planned(kGpu, 50), planned(kCpu, 100, {{0}}),
                                    planned(kCpu, 100, {{0}})};
  steps[1].wait_bytes = steps[2].wait_bytes = {2e6};
  CHECK(wall_us(steps, given) == Approx(5 + 10 + 50 + 20 + 3 + 10 * 2 + 100 + 100));
  // The run's inputs are nobody's; with a GPU in the plan the first step finds the workers asleep.
  steps = {planned(kCpu, 100), planned(kGpu, 50, {{0}})};
  steps[0].given_bytes = 1e6;
  steps[1].wait_bytes = {1e6};
  CHECK(wall_us(steps, given) == Approx(3 + 10 + 100 + 5 + 10 + 100 + 50 + 20));
  steps.pop_back();
  CHECK(wall_us(steps, given) == Approx(10 + 100));
}

TEST_CASE("a step is handed the rows that it reads of those that were made") {
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
  CHECK(handed_bytes(maker, reader, 0) == Approx(32 * row_bytes));
  // The other lane's half of the rows, for a reader of all, and of the first half: its halo.
  maker.part_dim = SplitDim::Height;
  maker.part = {16, 32};
  CHECK(handed_bytes(maker, reader, 0) == Approx(16 * row_bytes));
  reader.part_dim = SplitDim::Height;
  reader.part = {0, 16};
  CHECK(handed_bytes(maker, reader, 0) == Approx(2 * row_bytes));
  // A stride of two: 8 rows of the output are 16 of the input.
  read[1].dims[2] = read[1].row_end = 16;
  reader.part = {0, 8};
  CHECK(handed_bytes(maker, reader, 0) == Approx(2 * row_bytes));
  maker.part_dim = SplitDim::OutputChannel;
  maker.part = {0, 4};
  reader.part_dim = SplitDim::None;
  CHECK(handed_bytes(maker, reader, 0) == Approx(32 * row_bytes / 4));
}

TEST_CASE("CoDL's clock has no calls") {
  const DeviceProfile given = profile();
  const std::vector<LaneStep> steps =
      with_host_calls({planned(kGpu, 50)}, Gate::HostEnqueue, given);
  CHECK(run_lanes(steps, given, {}, Clock::Codl).total_us == Approx(10 + 50 + 20));
}

TEST_CASE("a profile that says nothing of the host pays sync_us for each wait") {
  DeviceProfile given;
  given.exchange.sync_us.value = 7;
  CHECK(wall_us({planned(kGpu, 50), planned(kCpu, 100, {{0}})}, given) == Approx(50 + 7 + 100));
}

TEST_CASE("a step that is lost in the rounding of a long time ends all the same") {
  std::vector<LaneStep> steps(3);
  steps[0].alone_us = 1e20;
  steps[1].alone_us = 1;
  steps[2].alone_us = 3;
  CHECK(run_lanes(steps).total_us == 1e20);
}

}  // namespace
}  // namespace codl::compiler
