#include "profiler/measure/confinement.h"

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/src/affinity.h"
#include "test/support/catch.h"

namespace codl::profiler {
namespace {

TEST_CASE("OpenCL shares cores where the CPU has a thread on each that it may use") {
  CHECK(shares_all_cores({}, 4, {}, 4));
  CHECK(shares_all_cores({}, 4, {2}, 4));
  CHECK(shares_all_cores({0, 1, 2, 3}, 4, {}, 4));
  CHECK(shares_all_cores({0, 1}, 2, {1, 0}, 16));
  CHECK(shares_all_cores({0, 1, 2, 3}, 4, {0, 1}, 16));
  CHECK_FALSE(shares_all_cores({0}, 1, {1}, 2));
  CHECK_FALSE(shares_all_cores({0, 1}, 2, {1, 2}, 4));
  // Some cores are free, so the cost of the others is measured.
  CHECK_FALSE(shares_all_cores({}, 4, {}, 16));
  CHECK_FALSE(shares_all_cores({0, 1}, 2, {}, 16));
  CHECK_FALSE(shares_all_cores({0, 1}, 1, {0, 1}, 16));
}

// Runs a check while a thread waits on the caller's cores.
template <typename Check>
void beside_a_thread(Check check) {
  std::atomic<bool> is_over = false;
  std::thread other([&] { is_over.wait(false); });
  check();
  is_over = true;
  is_over.notify_all();
  other.join();
}

TEST_CASE("a thread on other cores than the named is found, the caller's own is not one") {
  cpu_set_t all;
  CPU_ZERO(&all);
  REQUIRE(sched_getaffinity(0, sizeof(all), &all) == 0);
  std::vector<int32_t> allowed;
  for (int32_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<size_t>(core), &all)) allowed.push_back(core);
  CHECK(thread_off_cores({}) == -1);
  beside_a_thread([&] {
    CHECK(thread_off_cores({}) > 0);
    CHECK(thread_off_cores(allowed) == -1);
  });
  // A thread inherits the cores of its creator.
  rt::AffinityScope scope;
  scope.enter(allowed.data(), 1);
  beside_a_thread([&] { CHECK(thread_off_cores({allowed[0]}) == -1); });
}

}  // namespace
}  // namespace codl::profiler
