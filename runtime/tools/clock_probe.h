// Measures how high the clock of a core is, by multiplications that wait for each other.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

namespace codl::tools {

// Runs chains of integer operations, so that one chain's time depends on the clock alone: some ten
// microseconds. Vector instructions would not do: their time depends on those that ran before (on a
// Zen 4 the same loop of SSE took 3.3 or 3.85 us, whatever the clock).
template <int kChains>
void multiply_and_add() {
  constexpr int kProducts = 12000;
  uint64_t sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = static_cast<uint64_t>(i);
  for (int step = 0; step < kProducts / kChains; ++step) {
    for (uint64_t& sum : sums) {
      sum = sum * 0x9E3779B97F4A7C15 + 1;
      asm volatile("" : "+r"(sum));
    }
  }
}

// Keeps a thread on each core, which sleeps between probes.
class CoreProbes {
 public:
  // A core that the kernel does not let a thread move to is probed wherever the thread runs.
  // ToolError if the system does not grant a thread for each.
  explicit CoreProbes(const std::vector<int32_t>& cores);
  ~CoreProbes();

  // Measures how long one chain takes: the mean over the cores, all at once. Microseconds.
  double mean_us();

 private:
  void stop();
  void work(int32_t core, double* chain_us);

  std::barrier<> barrier_;
  std::atomic<bool> is_over_ = false;
  std::vector<double> chains_us_;
  std::vector<std::thread> threads_;
};

}  // namespace codl::tools
