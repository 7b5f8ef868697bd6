// Makes bits that look random, and hashes, the same on every machine.
#pragma once

#include <cstdint>

namespace codl {

// Applies the finaliser of SplitMix64. Source: Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014, figure 18.
constexpr uint64_t mix_bits(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

// SplitMix64's states go up by it: mix_bits(seed + kSplitMixStep) is the first number of a seed.
inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mix_bits(state_ += kSplitMixStep); }

 private:
  uint64_t state_;
};

// Adds a byte to an FNV-1a hash of 64 bits, which starts as kFnvStart. Files are named by it, so it
// has to be the same in every version. Source: RFC 9923.
inline constexpr uint64_t kFnvStart = 0xcbf29ce484222325;
constexpr uint64_t add_to_fnv(uint64_t hash, char byte) {
  return (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
}

// The same of a text, with the zero at its end: "a", "bc" is not "ab", "c".
constexpr uint64_t add_to_fnv(uint64_t hash, const char* text) {
  for (;; ++text) {
    hash = add_to_fnv(hash, *text);
    if (*text == 0) return hash;
  }
}

}  // namespace codl
