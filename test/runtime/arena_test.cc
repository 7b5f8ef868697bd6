#include "runtime/src/arena.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "test/support/catch.h"
#include "test/support/counting_allocator.h"

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

TEST_CASE("the default allocator takes of the system what taken_bytes() says") {
  mapped_bytes();  // it now has its buffer
  const uint64_t size = GENERATE(as<uint64_t>{}, 2'097'152, 3'200'000, 5'000'001, 40'000'000);
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
  CHECK(std::count(taken.begin(), taken.end(), taken_bytes(default_allocator(), size)) > 0);
}

TEST_CASE("of another allocator no more is known than what it is asked for") {
  test::CountingAllocator other;
  CHECK(taken_bytes(*other.get(), 3'200'000) == 3'200'000);
  CHECK(taken_bytes(default_allocator(), 3'200'000) == 4'194'304);
  CHECK(taken_bytes(default_allocator(), 100) == 100);
}

TEST_CASE("a counter knows what its blocks take, and hands them out as its source does") {
  AllocationCounter counter;
  counter.set_source(default_allocator());
  {
    Arena small, large;
    REQUIRE(small.allocate(counter.allocator(), 100, 64));
    REQUIRE(large.allocate(counter.allocator(), 3'200'000, 64));
    CHECK(counter.held_bytes() == 100 + 4'194'304);
    CHECK(taken_bytes(counter.allocator(), 3'200'000) == 4'194'304);
    CHECK(std::count(large.data(), large.data() + 3'200'000, 0) == 3'200'000);
  }
  CHECK(counter.held_bytes() == 0);
}

}  // namespace
}  // namespace codl::rt
