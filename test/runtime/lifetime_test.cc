// Tests what sessions leave behind when they are created and destroyed over and over. test/soak
// does more.
#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"
#include "test/support/process_facts.h"

namespace codl::test {
namespace {

// Creates, runs and destroys. The count starts after a few rounds, in which the driver and the C
// library fill their caches.
void check_lives(const OpenPlan& plan, codl_session_options_t options) {
  constexpr int kFirst = 4, kLives = 7;
  CountingAllocator allocator;
  FakeCl cl(*machine_opencl());
  options.allocator = allocator.get();
  int threads = 0;
  int descriptors = 0;
  for (int life = 0; life < kLives; ++life) {
    if (life == kFirst) {
      threads = thread_count();
      descriptors = descriptor_count();
    }
    {
      ReluSession session(plan, options, &cl.api());
      INFO(session.diag.message);
      REQUIRE(session.status == CODL_OK);
      REQUIRE(session.run(life) == CODL_OK);
      CHECK(session.is_right());
    }
    cl.clear_calls();
    REQUIRE(allocator.live_count == 0);
    REQUIRE(allocator.live_bytes == 0);
    REQUIRE(cl.live_count() == 0);
  }
  CHECK(threads_down_to(threads) <= threads);
  CHECK(descriptor_count() == descriptors);
}

TEST_CASE("sessions that come and go leave no memory, thread or descriptor") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here()) {
    INFO(describe(half, Gate::UserEvent));
    const OpenPlan plan(relu_plan({.half = half, .gate = Gate::UserEvent}));
    codl_session_options_t options = ReluSession::defaults();
    options.require_variant = 1;
    options.thread_count = 4;
    options.check_every = 1;
    options.fallback = CODL_FALLBACK_PER_RUN;
    check_lives(plan, options);
    options.variant = "cpu";
    check_lives(plan, options);
  }
}

}  // namespace
}  // namespace codl::test
