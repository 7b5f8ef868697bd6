// Philox 4x32-10 gives four random words for each counter: "Parallel random numbers: as easy as 1,
// 2, 3" (Salmon, Moraes, Dror, Shaw, 2011). A number depends on the key and its own place alone,
// not on who computes it or when.
#pragma once

#include <array>
#include <cstdint>

namespace codl::kernels {

using PhiloxWords = std::array<uint32_t, 4>;

constexpr PhiloxWords philox(PhiloxWords counter, uint64_t key) {
  constexpr int kRounds = 10;
  auto key_0 = static_cast<uint32_t>(key);
  auto key_1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product_0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product_1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product_1 >> 32) ^ counter[1] ^ key_0,
               static_cast<uint32_t>(product_1),
               static_cast<uint32_t>(product_0 >> 32) ^ counter[3] ^ key_1,
               static_cast<uint32_t>(product_0)};
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  return counter;
}

}  // namespace codl::kernels
