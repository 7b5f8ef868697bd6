// Measures the most that this core can do: the roofs that the benchmarks' shares refer to.
//
// The clock of a shared machine moves, so both are measured anew beside each benchmark: one call is
// one try of about a millisecond, and the best of several tries counts.
#pragma once

#include <cstdint>

namespace codl::test {

// Multiply-adds from registers with the longest vectors of this processor that kernels are compiled
// for, in FLOP/s: two for each queue.
double peak_flops();

// The least bytes that a step moves. Its inputs, which lie one after the other, are read in order,
// again and again until `read_bytes` are read; meanwhile its output is written once.
struct Traffic {
  const float* inputs;
  int64_t input_bytes;
  int64_t read_bytes;
  float* output;
  int64_t written_bytes;
};

// Bytes per second, read and written, of a loop of vector loads and stores that does just this, in
// the memory of the step itself: so a step is compared with the cache level that its operands are
// in, with its own mix of reads and writes. Overwrites the output.
//
// Not memcpy, which beyond some size writes past the caches (`rep movsb` or streaming stores): an
// operator's consumer is to find the result in the cache.
double stream_bandwidth(const Traffic& traffic);

}  // namespace codl::test
