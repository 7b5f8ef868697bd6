// Tests sessions that cannot be made: each OpenCL call and each allocation fails in turn, in every
// kind of sharing, while kernels that ran for the first time are still in the queues.
//
// With this machine's OpenCL only some of them fail, and with CODL_FAULT_ROUNDS=N (nightly.sh) all
// of them, N times.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

constexpr int kOne = 1;
constexpr int kAllFromThere = 1 << 20;

// On a real device kernels take a millisecond, so that creation ends before they do. A lost
// device's memory stays allocated, so there is less of it.
TestPlan plan_for(const rt::ClApi* real, GpuHalf half, int count) {
  // A session probes the driver for these gates.
  ReluPlanOptions options = {.half = half, .gate = Gate::UserEvent};
  if (real != nullptr && count == kOne) options.dims = {1, 64, 128, 128};
  return relu_plan(options);
}

// Returns options that use everything a session can have.
codl_session_options_t full_options(const CountingAllocator& allocator) {
  codl_session_options_t options = ReluSession::defaults();
  options.allocator = allocator.get();
  options.check_every = 1;
  options.fallback = CODL_FALLBACK_PER_RUN;
  options.record_timeline = 1;
  return options;
}

// Lists the faults that a test goes through, `step` apart, until it learns that there are no more.
struct Faults {
  int first = 0;
  int step = 1;
  int rounds = 1;
};

// `turn` differs from test to test, so that each has another part of the faults.
Faults faults_on_machine(int turn) {
  const char* rounds = std::getenv("CODL_FAULT_ROUNDS");
  if (rounds != nullptr) return {.rounds = std::max(1, std::atoi(rounds))};
  constexpr int kStep = 61;
  return {.first = turn * 17 % kStep, .step = kStep};
}

// Wraps the machine's OpenCL; null: a simulated device.
std::unique_ptr<FakeCl> make_cl(const rt::ClApi* real) {
  return real != nullptr ? std::make_unique<FakeCl>(*real) : std::make_unique<FakeCl>();
}

// Makes `count` calls of one creation fail, from `fail_at` on. Returns false if it has fewer calls.
bool fail_calls(const rt::ClApi* real, const OpenPlan& plan, int fail_at, int count) {
  const std::unique_ptr<FakeCl> made = make_cl(real);
  FakeCl& cl = *made;
  CountingAllocator allocator;
  cl.fail_at(fail_at, CL_OUT_OF_RESOURCES, count);
  INFO("call " << fail_at << " of " << count);
  {
    ReluSession session(plan, full_options(allocator), &cl.api());
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    const codl_session_info_t info = session.info();
    if (info.variant == std::string("cpu")) CHECK(info.fallback_reason != std::string());
    if (info.variant == std::string("cpu") && real == nullptr) {
      REQUIRE(session.run() == CODL_OK);
      CHECK(session.is_right());
    }
  }
  CHECK(cl.frees_in_use() == 0);
  // Memory that a device may still write to is kept if nobody knows that it is done.
  const bool is_lost = count > 1 && cl.has_failed();
  if (!is_lost) CHECK(cl.svm_count() == 0);
  CHECK(cl.live_count() == cl.svm_count());
  constexpr int kArenas = 2;  // the host's, and the one that checks read into
  CHECK(allocator.live_count <= (is_lost ? kArenas : 0));
  return static_cast<int>(cl.calls().size()) > fail_at;
}

void fail_each_call(const rt::ClApi* real, GpuHalf half, const Faults& faults, int count) {
  INFO(describe(half, Gate::UserEvent));
  const OpenPlan plan(plan_for(real, half, count));
  for (int round = 0; round < faults.rounds; ++round)
    for (int at = faults.first; fail_calls(real, plan, at, count);) at += faults.step;
}

void fail_each_allocation(const rt::ClApi* real, GpuHalf half, const Faults& faults) {
  INFO(describe(half, Gate::UserEvent));
  const OpenPlan plan(plan_for(real, half, kOne));
  const std::unique_ptr<FakeCl> made = make_cl(real);
  FakeCl& cl = *made;
  for (int round = 0; round < faults.rounds; ++round)
    for (int64_t fail_at = faults.first;; fail_at += faults.step) {
      CountingAllocator allocator;
      allocator.fail_at = fail_at;
      INFO("allocation " << fail_at);
      codl_status_t status = CODL_OK;
      {
        const ReluSession session(plan, full_options(allocator), &cl.api());
        status = session.status;
        if (status != CODL_OK) CHECK_THAT(session.diag.message, Catch::StartsWith("no memory"));
      }
      CHECK(cl.frees_in_use() == 0);
      CHECK(cl.live_count() == 0);
      CHECK(allocator.live_count == 0);
      CHECK(allocator.live_bytes == 0);
      if (status == CODL_OK) break;
      CHECK(status == CODL_OUT_OF_MEMORY);
    }
}

TEST_CASE("whichever call fails while a session is made, the CPU variant runs and nothing leaks") {
  const int count = GENERATE(kOne, kAllFromThere);
  for (GpuHalf half : kHalves) fail_each_call(nullptr, half, {}, count);
}

TEST_CASE("whichever allocation fails while a session is made, nothing leaks") {
  for (GpuHalf half : kHalves) fail_each_allocation(nullptr, half, {});
}

TEST_CASE("no memory goes before a real queue is empty, whatever fails while a session is made",
          "[driver]") {
  const rt::ClApi* real = machine_opencl();
  if (real == nullptr) return;
  int turn = 0;
  for (GpuHalf half : halves_here()) {
    fail_each_call(real, half, faults_on_machine(turn++), kOne);
    fail_each_call(real, half, faults_on_machine(turn++), kAllFromThere);
    fail_each_allocation(real, half, faults_on_machine(turn++));
  }
}

}  // namespace
}  // namespace codl::test
