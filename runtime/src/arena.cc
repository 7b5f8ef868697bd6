#include "runtime/src/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace codl::rt {
namespace {

// A huge page of x86 and of aarch64 with pages of 4 KiB.
constexpr size_t kHugePageBytes = size_t{2} << 20;

// Large blocks ask for huge pages: a five-hundredth of the page faults while a session is created,
// and fewer misses of the TLB in a run. Only whole ones, so that no memory is held in vain; where
// the system has none to give, the pages are the usual ones.
void* allocate_aligned(void*, size_t size, size_t alignment) {
  const bool is_large = size >= kHugePageBytes;
  // posix_memalign wants at least the alignment of a pointer.
  alignment = std::max(alignment, is_large ? kHugePageBytes : sizeof(void*));
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size) != 0) return nullptr;
  if (is_large) madvise(memory, size / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
  return memory;
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
