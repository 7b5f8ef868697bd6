#include "runtime/src/arena.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "schema/session_memory.h"
#include "test/support/catch.h"

namespace codl::rt {
namespace {

// Returns all bytes that the process maps. It reads the map, because an emulator's statm counts the
// emulator.
int64_t mapped_bytes() {
  int64_t bytes = 0;
  unsigned long long begin = 0, end = 0;
  std::FILE* file = std::fopen("/proc/self/maps", "r");
  REQUIRE(file != nullptr);
  while (std::fscanf(file, "%llx-%llx %*[^\n]", &begin, &end) == 2)
    bytes += static_cast<int64_t>(end - begin);
  std::fclose(file);
  return bytes;
}

TEST_CASE("the default allocator takes of the system what block_bytes() says") {
  mapped_bytes();  // it now has its buffer
  const uint64_t size = GENERATE(as<uint64_t>{}, kHugePageBytes, 3'200'000, 5'000'001, 40'000'000);
  CAPTURE(size);
  // Other code in the process maps and unmaps, too: a driver's threads, and sanitizers that keep
  // freed memory. But they do not do so each time.
  std::vector<uint64_t> taken;
  for (int i = 0; i < 5; ++i) {
    const int64_t before = mapped_bytes();
    Arena arena;
    REQUIRE(arena.allocate(default_allocator(), size, 64));
    taken.push_back(static_cast<uint64_t>(mapped_bytes() - before));
  }
  CAPTURE(taken);
  CHECK(std::count(taken.begin(), taken.end(),
                   block_bytes(size, page_bytes_of(default_allocator()))) > 0);
}

TEST_CASE("of another allocator no more is known than what it is asked for") {
  CHECK(block_bytes(3'200'000, 0) == 3'200'000);
  CHECK(block_bytes(3'200'000, 4096) == 2 * kHugePageBytes);
  CHECK(block_bytes(100, 4096) == 100);
}

}  // namespace
}  // namespace codl::rt
