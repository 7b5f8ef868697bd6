#include "compiler/support/large_bytes.h"

#include <cstring>
#include <vector>

#include "test/support/catch.h"

namespace codl::compiler {
namespace {

bool is_all(const LargeBytes& bytes, uint8_t element) {
  // Compares each byte with the one before it: a loop over gigabytes takes a minute with
  // sanitizers.
  return *bytes.begin() == element &&
         std::memcmp(&*bytes.begin(), &*bytes.begin() + 1, bytes.size() - 1) == 0;
}

TEST_CASE("large bytes keep what is in them, in memory and beyond") {
  constexpr size_t kEach = (size_t{3} << 20) + 5;
  std::vector<LargeBytes> held;
  for (uint8_t i = 0; held.size() * kEach < 3 * kBytesInMemory; ++i) held.emplace_back(kEach, i);
  // Frees every second neighbour in a file; larger blocks take a file of their own.
  for (size_t i = 0; i < held.size(); i += 2) held[i] = LargeBytes();
  const LargeBytes larger(2 * kBytesInMemory, 0xa5);
  for (size_t i = 1; i < held.size(); i += 2) {
    CHECK(is_all(held[i], static_cast<uint8_t>(i)));
  }
  CHECK(is_all(larger, 0xa5));
}

TEST_CASE("large bytes of no file are refused") {
  LargeVector<uint64_t> elements;
  CHECK_THROWS_AS(elements.reserve(elements.max_size()), std::exception);
}

}  // namespace
}  // namespace codl::compiler
