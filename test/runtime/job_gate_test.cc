#include "runtime/src/job_gate.h"

#include <atomic>
#include <thread>

#include "test/support/catch.h"

namespace codl::rt {
namespace {

TEST_CASE("a worker that is late finds the gate of the next job, whichever it missed") {
  JobGate gate;
  uint64_t seen = 0;
  for (int missed = 0; missed < 1000; ++missed) {
    gate.open();
    gate.close();
  }
  gate.open();
  seen = gate.enter(seen);
  CHECK(seen == 1001);
  gate.leave();
  gate.close();
}

TEST_CASE("the gate closes when a worker finds nothing left: nobody enters for nothing") {
  JobGate gate;
  gate.open();
  CHECK(gate.enter(0) == 1);
  gate.leave();
  gate.close();
  gate.open();
  CHECK(gate.enter(1) == 2);
  gate.leave();
  // It does not wait for job 2, whose tasks are all taken.
  gate.close();
  gate.open();
  CHECK(gate.enter(0) == 3);
  gate.leave();
  gate.close();
}

TEST_CASE("the caller waits for all who are checked in, awake or asleep") {
  JobGate gate;
  gate.open();
  CHECK(gate.enter(0) == 1);
  CHECK(gate.enter(0) == 1);
  std::atomic<int> left{0};
  std::thread others([&] {
    // It takes longer than the caller spins.
    const int64_t start_ns = now_ns();
    while (now_ns() - start_ns < 1'000'000) pause_core();
    ++left;
    gate.leave();
    ++left;
    gate.leave();
  });
  gate.close();
  CHECK(left == 2);
  others.join();
}

}  // namespace
}  // namespace codl::rt
