#include "runtime/tools/clock_probe.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <string>
#include <system_error>

#include "tools/tool_error.h"

namespace codl::tools {

CoreProbes::CoreProbes(const std::vector<int32_t>& cores)
    : barrier_(static_cast<std::ptrdiff_t>(cores.size()) + 1), chains_us_(cores.size()) {
  try {
    for (size_t i = 0; i < cores.size(); ++i)
      threads_.emplace_back(
          [this, core = cores[i], chain_us = &chains_us_[i]] { work(core, chain_us); });
  } catch (const std::system_error&) {
    for (size_t i = threads_.size(); i < cores.size(); ++i) barrier_.arrive_and_drop();
    stop();
    throw ToolError(ExitCode::Internal, "--probe-cores: expected " + std::to_string(cores.size()) +
                                            " threads, found " + std::to_string(threads_.size()) +
                                            ": the system grants no more");
  }
}

CoreProbes::~CoreProbes() { stop(); }

void CoreProbes::stop() {
  is_over_ = true;
  barrier_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

double CoreProbes::mean_us() {
  barrier_.arrive_and_wait();
  barrier_.arrive_and_wait();
  return std::reduce(chains_us_.begin(), chains_us_.end()) / static_cast<double>(threads_.size());
}

void CoreProbes::work(int32_t core, double* chain_us) {
  constexpr int kTries = 3;  // because an interrupt lengthens one of them
  if (core >= 0 && core < CPU_SETSIZE) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof(set), &set);
  }
  using Clock = std::chrono::steady_clock;
  while (true) {
    barrier_.arrive_and_wait();
    if (is_over_) return;
    *chain_us = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries; ++i) {
      const Clock::time_point start = Clock::now();
      multiply_and_add<1>();
      const std::chrono::duration<double, std::micro> us = Clock::now() - start;
      *chain_us = std::min(*chain_us, us.count());
    }
    barrier_.arrive_and_wait();
  }
}

}  // namespace codl::tools
