// Sessions created and destroyed over and over: what they leave behind. test/soak has more of it.
#include <dirent.h>

#include <chrono>
#include <thread>

#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

int entries_of(const char* folder) {
  DIR* const entries = opendir(folder);
  REQUIRE(entries != nullptr);
  int count = 0;
  while (readdir(entries) != nullptr) ++count;
  closedir(entries);
  return count;
}

// Threads of queues that are released end in their own time (Rusticl's do).
bool come_down_to(int threads) {
  for (int i = 0; i < 5000 && entries_of("/proc/self/task") > threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return entries_of("/proc/self/task") <= threads;
}

// Creates, runs and destroys; what is left is counted after a few, in which the driver and the C
// library make what they keep.
void check_lives(const OpenPlan& plan, codl_session_options_t options, int count) {
  CountingAllocator allocator;
  FakeCl cl(*machine_opencl());
  options.allocator = allocator.get();
  int threads = 0;
  int descriptors = 0;
  for (int life = 0; life < count; ++life) {
    if (life == 4) {
      threads = entries_of("/proc/self/task");
      descriptors = entries_of("/proc/self/fd");
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
  CHECK(come_down_to(threads));
  CHECK(entries_of("/proc/self/fd") == descriptors);
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
    check_lives(plan, options, 30);
    options.variant = "cpu";
    check_lives(plan, options, 30);
  }
}

}  // namespace
}  // namespace codl::test
