// Tests recorded GPU steps: which calls a run makes on simulated drivers of either extension, what
// a driver that refuses gets in their place, and that runs on this machine's OpenCL are right.
#include <algorithm>

#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/fake_cl.h"
#include "test/support/machine_opencl.h"

namespace codl::test {
namespace {

using Options = codl_session_options_t;

// The GPU's half is three kernels.
TestPlan recorded_plan(Gate gate = Gate::HostEnqueue, GpuHalf half = GpuHalf::FineSvmImages) {
  TestPlan plan = relu_plan({.half = half, .gate = gate});
  plan.variants[0].is_recorded = true;
  return plan;
}

struct Driver {
  const char* extension;
  const char* begin;    // the call that begins a recording
  const char* enqueue;  // the call that gives it to a queue
};
constexpr Driver kDrivers[] = {
    {"cl_khr_command_buffer", "clCreateCommandBufferKHR", "clEnqueueCommandBufferKHR"},
    {"cl_qcom_recordable_queues", "clNewRecordingQCOM", "clEnqueueRecordingQCOM"}};

FakeDevice device_with(const Driver& driver) {
  FakeDevice device;
  device.extensions = std::string("cl_khr_icd ") + driver.extension;
  return device;
}

TEST_CASE("steps without waits between them are recorded once, and a run gives them in one call") {
  for (const Driver& driver : kDrivers)
    for (const Gate gate : {Gate::HostEnqueue, Gate::UserEvent}) {
      INFO(driver.extension);
      const OpenPlan plan(recorded_plan(gate));
      FakeCl fake(device_with(driver));
      {
        ReluSession session(plan, ReluSession::defaults(), &fake.api());
        INFO(session.diag.message);
        REQUIRE(session.status == CODL_OK);
        CHECK(std::string(session.info().recording_refusal) == "");
        CHECK(fake.count(driver.begin) == 1);
        for (int round = 0; round < 3; ++round) {
          fake.clear_calls();
          REQUIRE(session.run(round) == CODL_OK);
          CHECK(fake.count(driver.enqueue) == 1);
          CHECK(fake.count("clEnqueueNDRangeKernel") == 0);
        }
      }
      CHECK(fake.live_count() == 0);
    }
}

TEST_CASE("steps with times of their own and checked steps are enqueued one by one") {
  const OpenPlan plan(recorded_plan());
  FakeCl fake(device_with(kDrivers[0]));
  Options options = ReluSession::defaults();
  options.record_timeline = 1;
  {
    ReluSession session(plan, options, &fake.api());
    REQUIRE(session.status == CODL_OK);
    REQUIRE(session.run() == CODL_OK);
    CHECK(fake.count(kDrivers[0].begin) == 0);
  }
  options.record_timeline = 0;
  options.check_every = 2;
  ReluSession session(plan, options, &fake.api());
  REQUIRE(session.status == CODL_OK);
  int recorded = 0, alone = 0;
  for (int round = 0; round < 4; ++round) {
    fake.clear_calls();
    // The simulated device computes nothing, so that a check finds a wrong result.
    (void)session.run(round);
    (fake.count(kDrivers[0].enqueue) == 1 ? recorded : alone) += 1;
  }
  CHECK(recorded > 0);
  CHECK(alone > 0);
}

TEST_CASE("a device that takes no recordings, or refuses one, gets the steps one by one") {
  const OpenPlan plan(recorded_plan());
  for (const Driver& driver : kDrivers)
    for (const bool has_extension : {false, true}) {
      FakeDevice device;
      if (has_extension) device = device_with(driver);
      device.recording_end = CL_INVALID_OPERATION;
      FakeCl fake(device);
      Lines said;
      Options options = ReluSession::defaults();
      options.log = &said.log;
      ReluSession session(plan, options, &fake.api());
      REQUIRE(session.status == CODL_OK);
      CHECK_THAT(session.info().recording_refusal,
                 Catch::Contains(has_extension ? "a recording from it on: OpenCL error -59"
                                               : "found neither"));
      REQUIRE(said.lines.size() == 1);
      CHECK_THAT(said.lines[0], Catch::Contains("recorded steps are enqueued one by one"));
      fake.clear_calls();
      REQUIRE(session.run() == CODL_OK);
      CHECK(fake.count("clEnqueueNDRangeKernel") == 3);
    }
}

TEST_CASE("a recording has no more kernels than Qualcomm's driver takes") {
  const OpenPlan plan(recorded_plan());
  FakeDevice device = device_with(kDrivers[1]);
  device.most_recorded = 2;
  FakeCl fake(device);
  ReluSession session(plan, ReluSession::defaults(), &fake.api());
  REQUIRE(session.status == CODL_OK);
  fake.clear_calls();
  REQUIRE(session.run() == CODL_OK);
  CHECK(fake.count("clEnqueueRecordingQCOM") == 1);
  CHECK(fake.count("clEnqueueNDRangeKernel") == 1);
}

TEST_CASE("a plan that asks for no recordings, and a recording that fails in a run") {
  TestPlan test_plan = recorded_plan();
  FakeCl fake(device_with(kDrivers[0]));
  {
    const OpenPlan plan(test_plan);
    ReluSession session(plan, ReluSession::defaults(), &fake.api());
    REQUIRE(session.status == CODL_OK);
    fake.clear_calls();
    REQUIRE(session.run() == CODL_OK);
    const auto& calls = fake.calls();
    const auto call = std::find(calls.begin(), calls.end(), kDrivers[0].enqueue) - calls.begin();
    fake.clear_calls();
    fake.fail_at(static_cast<int>(call), CL_OUT_OF_RESOURCES);
    CHECK(session.run() == CODL_DEVICE_ERROR);
    CHECK_THAT(session.diag.message, Catch::Contains("a recording: OpenCL error -5"));
    fake.fail_at(-1, CL_SUCCESS);
    CHECK(session.run() == CODL_OK);
  }
  test_plan.variants[0].is_recorded = false;
  const OpenPlan plan(test_plan);
  ReluSession session(plan, ReluSession::defaults(), &fake.api());
  REQUIRE(session.status == CODL_OK);
  fake.clear_calls();
  REQUIRE(session.run() == CODL_OK);
  CHECK(fake.count("clEnqueueNDRangeKernel") == 3);
}

TEST_CASE("recorded runs on this machine's OpenCL are right", "[opencl]") {
  for (const GpuHalf half : halves_here())
    for (const Gate gate : {Gate::HostEnqueue, Gate::UserEvent}) {
      INFO(describe(half, gate));
      const OpenPlan plan(recorded_plan(gate, half));
      ReluSession session(plan, ReluSession::defaults());
      REQUIRE(session.status == CODL_OK);
      for (int round = 0; round < 20; ++round) {
        REQUIRE(session.run(round) == CODL_OK);
        CHECK(session.is_right());
      }
    }
}

}  // namespace
}  // namespace codl::test
