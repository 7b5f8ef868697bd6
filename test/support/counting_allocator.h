// Makes a codl_allocator_t that counts, and that can fail at a chosen call.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <set>

#include "codl/codl.h"

namespace codl::test {

class CountingAllocator {
 public:
  CountingAllocator() = default;
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;

  const codl_allocator_t* get() const { return &allocator_; }

  int64_t allocation_count = 0;  // calls so far, including the failed one
  int64_t live_count = 0;        // blocks not released
  // Uses the size that the owner gives at release, so a wrong size shows.
  int64_t live_bytes = 0;
  int64_t fail_at = -1;  // this call, counted from 0, gets null; -1: none

 private:
  static void* allocate(void* context, size_t size, size_t alignment) {
    auto& self = *static_cast<CountingAllocator*>(context);
    if (self.allocation_count++ == self.fail_at) return nullptr;
    void* memory = nullptr;
    if (alignment < sizeof(void*)) alignment = sizeof(void*);
    if (posix_memalign(&memory, alignment, size) != 0) return nullptr;
    live_blocks().insert(memory);
    ++self.live_count;
    self.live_bytes += static_cast<int64_t>(size);
    return memory;
  }
  static void release(void* context, void* memory, size_t size, size_t) {
    auto& self = *static_cast<CountingAllocator*>(context);
    live_blocks().erase(memory);
    --self.live_count;
    self.live_bytes -= static_cast<int64_t>(size);
    std::free(memory);
  }

  // Returns the blocks of all allocators. They are never destroyed, so that LeakSanitizer does not
  // report them as leaks.
  static std::set<void*>& live_blocks() {
    static auto* const blocks = new std::set<void*>;
    return *blocks;
  }

  codl_allocator_t allocator_ = {this, allocate, release};
};

}  // namespace codl::test
