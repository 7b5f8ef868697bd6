#include "runtime/src/arena.h"

#include <cstdlib>
#include <cstring>

namespace codl::rt {
namespace {

void* allocate_aligned(void*, size_t size, size_t alignment) {
  void* memory = nullptr;
  // posix_memalign wants at least the alignment of a pointer.
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void release_aligned(void*, void* memory, size_t, size_t) { std::free(memory); }

constexpr codl_allocator_t kDefaultAllocator = {nullptr, allocate_aligned, release_aligned};

}  // namespace

const codl_allocator_t& default_allocator() { return kDefaultAllocator; }

bool Arena::allocate(const codl_allocator_t& allocator, uint64_t size_bytes, size_t alignment) {
  if (size_bytes == 0) return true;
  if (size_bytes > PTRDIFF_MAX) return false;
  const size_t size = static_cast<size_t>(size_bytes);
  void* memory = allocator.allocate(allocator.context, size, alignment);
  if (memory == nullptr) return false;
  std::memset(memory, 0, size);
  allocator_ = allocator;
  data_ = static_cast<uint8_t*>(memory);
  size_bytes_ = size;
  alignment_ = alignment;
  return true;
}

void Arena::release() {
  if (data_ != nullptr) allocator_.release(allocator_.context, data_, size_bytes_, alignment_);
  data_ = nullptr;
  size_bytes_ = 0;
}

}  // namespace codl::rt
