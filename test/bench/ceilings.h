// Measures the most that this core can do: the roofs that the benchmarks' shares refer to.
//
// The clock of a shared machine moves, so both are measured anew beside each benchmark: one call is
// one try of about a millisecond, and the best of several tries counts.
#pragma once

#include <cstdint>

namespace codl::test {

// Returns the FLOP/s of multiply-adds from registers with the longest vectors that kernels are
// compiled for and this processor has: two operations each.
double peak_flops();

// Says which bytes a step moves at least. Its inputs, which lie one after the other, are read in
// order, again and again until `read_bytes` are read; meanwhile its output is written once.
struct Traffic {
  const float* inputs;
  int64_t input_bytes;
  int64_t read_bytes;
  float* output;
  int64_t written_bytes;
};

// Returns the bytes per second, read and written, of a loop of vector loads and stores that does
// only this, in the memory of the step itself. So a step is compared with the cache level that
// holds its operands, with its own mix of reads and writes. Overwrites the output.
//
// It is not memcpy, which beyond some size bypasses the caches (`rep movsb` or streaming stores):
// an operator's consumer should find the result in the cache.
double stream_bandwidth(const Traffic& traffic);

}  // namespace codl::test
