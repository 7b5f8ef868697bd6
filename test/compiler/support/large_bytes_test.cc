#include "compiler/support/large_bytes.h"

#include <cstring>
#include <vector>

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

// A vector makes its elements one by one, which takes half a minute of bytes with sanitizers.
using Words = LargeVector<uint64_t>;

// Compares each word with the one before it, because a loop takes as long.
bool is_all(const Words& words, uint64_t word) {
  return words[0] == word &&
         std::memcmp(&words[0], &words[1], (words.size() - 1) * sizeof(word)) == 0;
}

TEST_CASE("large bytes keep what is in them, in memory and beyond") {
  constexpr size_t kWordsInMemory = kBytesInMemory / sizeof(uint64_t);
  constexpr size_t kEach = (kWordsInMemory >> 5) * 3 / 2 + 1;
  std::vector<Words> held;
  for (uint64_t i = 0; held.size() * kEach < 3 * kWordsInMemory; ++i) held.emplace_back(kEach, i);
  // Frees every second neighbour in a file; larger blocks take a file of their own.
  for (size_t i = 0; i < held.size(); i += 2) held[i] = Words();
  const Words larger(2 * kWordsInMemory, 0xa5);
  for (size_t i = 1; i < held.size(); i += 2) {
    CHECK(is_all(held[i], i));
  }
  CHECK(is_all(larger, 0xa5));
}

TEST_CASE("large bytes of no file are refused") {
  LargeVector<uint64_t> elements;
  CHECK_THROWS_AS(elements.reserve(elements.max_size()), std::exception);
}

}  // namespace
}  // namespace codl::compiler
