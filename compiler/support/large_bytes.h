// Holds bytes that may be many times a model's own: constants that were computed or converted (int8
// weights become floats) and the plan.
//
// The first kBytesInMemory of the process are ordinary memory. The rest lies in mapped files
// without a name: the system writes such pages to the disk when memory is short, and reads them
// back. The files are in the folder TMPDIR, or /var/tmp, which usually is no file system in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace codl::compiler {

constexpr size_t kBytesInMemory = size_t{64} << 20;

// Aligns memory as operator new does. Throws std::bad_alloc, or tools::ToolError (input) if no file
// has room.
void* allocate_large(size_t bytes);
void free_large(void* memory, size_t bytes) noexcept;

template <typename T>
struct LargeAllocator {
  using value_type = T;
  static_assert(alignof(T) <= alignof(std::max_align_t));
  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(size_t count) {
    return static_cast<T*>(
        allocate_large(count > SIZE_MAX / sizeof(T) ? SIZE_MAX : count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) noexcept { free_large(memory, count * sizeof(T)); }
  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }
  friend bool operator!=(const LargeAllocator&, const LargeAllocator&) { return false; }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;
using LargeBytes = LargeVector<uint8_t>;

}  // namespace codl::compiler
