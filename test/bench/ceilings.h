// What this core can do at most, measured: the roofs that the benchmarks' shares refer to.
//
// The clock of a shared machine moves, so both are measured anew beside each benchmark; a few
// milliseconds each.
#pragma once

#include <cstdint>

namespace codl::test {

// Multiply-adds from registers with the longest vectors of this processor that kernels are compiled
// for, in FLOP/s: two for each lane.
double peak_flops();

// A copy whose two halves are `bytes` together, in bytes per second, read and written counted: the
// faster of a loop of vectors and memcpy (which goes round the caches where that pays). So a step
// is compared with the cache level that its own operands fit in.
double copy_bandwidth(int64_t bytes);

}  // namespace codl::test
