// Bits that look random, the same on every machine.
#pragma once

#include <cstdint>

namespace codl {

// The finaliser of SplitMix64. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014, figure 18.
constexpr uint64_t mix_bits(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace codl
