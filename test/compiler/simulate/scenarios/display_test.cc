// Tests frames beside a plan, worked out by hand.
#include "compiler/simulate/scenarios/display.h"

#include "test/support/catch.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

constexpr auto kCpu = static_cast<uint8_t>(Queue::Cpu);
constexpr auto kGpu = static_cast<uint8_t>(Queue::Gpu);

QueueStep step(uint8_t queue, double us, std::vector<QueueWait> waits = {}) {
  QueueStep step;
  step.queue = queue;
  step.alone_us = us;
  step.waits = std::move(waits);
  return step;
}

FrameCount count(const std::vector<QueueStep>& steps, GpuService service,
                 bool enqueues_all = false) {
  Display display;
  display.service = service;
  return count_frames(steps, test::test_profile(Sharing::FineSvm), display, enqueues_all, 10e6);
}

double lost_share(const FrameCount& count) {
  return static_cast<double>(count.lost) / static_cast<double>(count.frames);
}

TEST_CASE("beside the CPU alone no frame is lost") {
  for (GpuService service : {GpuService::Fifo, GpuService::RoundRobin}) {
    const FrameCount found = count({step(kCpu, 40e3)}, service);
    CHECK(found.frames >= 598);  // in 10 s
    CHECK(found.lost <= 1);      // the one at hand in the end
    CHECK(found.longest_wait_us == Approx(3000));
    CHECK(found.run_us == Approx(40e3));
  }
}

TEST_CASE("what was enqueued before a frame is done before it, or one launch of it") {
  // Ten launches of 10 ms are enqueued at once: a frame requested at a run's begin waits for all.
  const std::vector<QueueStep> ten(10, step(kGpu, 10e3));
  const FrameCount first = count(ten, GpuService::Fifo);
  CHECK(lost_share(first) > 0.8);
  CHECK(first.longest_wait_us > 90e3);
  const FrameCount in_turn = count(ten, GpuService::RoundRobin);
  CHECK(lost_share(in_turn) < 0.01);
  CHECK(in_turn.longest_wait_us <= 13e3 + 1);
}

TEST_CASE("runs that take no time, or for ever, come to an end") {
  Display display;
  const auto of = [&](double us, GpuService service) {
    display.service = service;
    return count_frames({step(kCpu, us), step(kGpu, us)}, test::test_profile(Sharing::FineSvm),
                        display, true, 10e6, 1000);
  };
  for (GpuService service : {GpuService::Fifo, GpuService::RoundRobin}) {
    const FrameCount none = of(0, service);
    CHECK(none.runs <= 1000);
    CHECK(none.frames == 0);
    const FrameCount one = of(1e200, service);
    CHECK(one.lost >= one.frames - 1);
  }
}

TEST_CASE("a call for each launch leaves the display its turn in order, too") {
  std::vector<QueueStep> bounded;
  for (uint32_t i = 0; i < 10; ++i) {
    QueueStep call = step(kCpu, 0);
    call.called_queue = kGpu;
    if (i > 0) call.waits.push_back({2 * i - 1});
    bounded.push_back(call);
    bounded.push_back(step(kGpu, 10e3, {{2 * i}}));
  }
  const FrameCount found = count(bounded, GpuService::Fifo);
  CHECK(lost_share(found) < 0.01);
  CHECK(found.longest_wait_us <= 13e3 + 1);
}

TEST_CASE("behind user events all of a run stands before a frame") {
  const std::vector<QueueStep> steps = {step(kCpu, 50e3), step(kGpu, 1e3, {{0}})};
  CHECK(lost_share(count(steps, GpuService::Fifo)) < 0.01);
  CHECK(lost_share(count(steps, GpuService::Fifo, true)) > 0.5);
}

}  // namespace
}  // namespace codl::compiler
