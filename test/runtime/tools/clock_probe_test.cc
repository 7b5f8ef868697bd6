#include "runtime/tools/clock_probe.h"

#include <sched.h>

#include "test/support/catch.h"

namespace codl::tools {
namespace {

TEST_CASE("a probe says what a chain takes on any number of cores, again and again") {
  for (const std::vector<int32_t>& cores : {std::vector<int32_t>{0}, {0, 1, 0}}) {
    CoreProbes probes(cores);
    for (int i = 0; i < 3; ++i) {
      const double us = probes.mean_us();
      CHECK(us > 1);  // 12,000 products that wait for each other
      CHECK(us < 1e6);
    }
  }
}

TEST_CASE("a core that there is none of, and probes that were never asked, stop nothing") {
  CoreProbes unused({0});
  CoreProbes nowhere({CPU_SETSIZE - 1, -1, CPU_SETSIZE});
  CHECK(nowhere.mean_us() > 1);
}

}  // namespace
}  // namespace codl::tools
