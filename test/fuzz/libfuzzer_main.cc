// libFuzzer's own mutations work on bytes; seven of eight times ours run, which keep the structure.
#include <cstring>

#include "test/fuzz/target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string mutant = seed % 8 == 0 ? "" : codl::test::mutate(bytes, seed, max_size);
  if (mutant.empty()) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, mutant.data(), mutant.size());
  return mutant.size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size,
                                            const uint8_t* second, size_t second_size, uint8_t* out,
                                            size_t max_out_size, unsigned seed) {
  const std::string joined =
      codl::test::splice({reinterpret_cast<const char*>(first), first_size},
                         {reinterpret_cast<const char*>(second), second_size}, seed, max_out_size);
  std::memcpy(out, joined.data(), joined.size());
  return joined.size();
}
