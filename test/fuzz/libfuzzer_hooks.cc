// libFuzzer's own mutations work on bytes; half of the time ours work on the model.
#include <algorithm>
#include <cstring>

#include "test/fuzz/model_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {
size_t give(const std::string& mutant, uint8_t* out) {
  std::memcpy(out, mutant.data(), mutant.size());
  return mutant.size();
}
std::string text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  const std::string mutant =
      seed % 8 == 0 ? "" : codl::test::mutate_model(text_of(data, size), seed, max_size);
  return mutant.empty() ? LLVMFuzzerMutate(data, size, max_size) : give(mutant, data);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size,
                                            const uint8_t* second, size_t second_size, uint8_t* out,
                                            size_t max_out_size, unsigned seed) {
  return give(codl::test::splice_models(text_of(first, first_size), text_of(second, second_size),
                                        seed, max_out_size),
              out);
}
