#include "runtime/src/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "schema/types.h"

namespace codl::rt {
namespace {

// A huge page of x86 and of aarch64 is this large if pages have 4 KiB.
constexpr size_t kHugePageBytes = size_t{2} << 20;

bool is_mapped(size_t size) { return size >= kHugePageBytes; }

// The last huge page of a block may go beyond it by half: hundreds of small pages take longer to be
// had than all of the others.
size_t mapped_bytes(size_t size) {
  const size_t rest = size % kHugePageBytes;
  return round_up(size, rest >= kHugePageBytes / 2 ? kHugePageBytes : page_bytes());
}

// Blocks up to so many bytes are touched while a session is created. The networks that have them
// run for some milliseconds, to which the pages' zeroing would add a third in the first run; with
// larger ones it is a small share of a run and would be most of the time that a session takes.
constexpr size_t kMaxTouchedBytes = size_t{8} << 20;

// Large blocks come from the system, zeroed when they are first touched. In huge pages, as far as
// there are whole ones and the system has some to give: a five-hundredth of the page faults and
// fewer misses of the TLB in a run.
void* map_zeroed(size_t size, size_t alignment) {
  alignment = std::max(alignment, kHugePageBytes);
  const size_t kept = mapped_bytes(size);
  size_t mapped = 0;  // enough to cut an aligned block out of it
  if (__builtin_add_overflow(kept, alignment, &mapped)) return nullptr;
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* first = static_cast<uint8_t*>(mapping);
  const size_t head = -reinterpret_cast<uintptr_t>(first) & (alignment - 1);
  uint8_t* block = first + head;
  if (head != 0) munmap(first, head);
  if (head + kept != mapped) munmap(block + kept, mapped - head - kept);
  madvise(block, kept / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
  if (size > kMaxTouchedBytes || madvise(block, kept, MADV_POPULATE_WRITE) == 0) return block;
  // Linux before 5.14.
  for (size_t at = 0, page = page_bytes(); at < size; at += page) block[at] = 0;
  return block;
}

void* allocate_aligned(void*, size_t size, size_t alignment) {
  if (is_mapped(size)) return map_zeroed(size, alignment);
  void* memory = nullptr;
  // posix_memalign wants at least the alignment of a pointer.
  return posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) == 0 ? memory : nullptr;
}

void release_aligned(void*, void* memory, size_t size, size_t) {
  if (is_mapped(size))
    munmap(memory, mapped_bytes(size));
  else
    std::free(memory);
}

constexpr codl_allocator_t kDefaultAllocator = {nullptr, allocate_aligned, release_aligned};

bool is_default(const codl_allocator_t& allocator) {
  return AllocationCounter::source_of(allocator).allocate == allocate_aligned;
}

}  // namespace

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

const codl_allocator_t& default_allocator() { return kDefaultAllocator; }

uint64_t taken_bytes(const codl_allocator_t& allocator, uint64_t size_bytes) {
  const auto size = static_cast<size_t>(size_bytes);
  return is_default(allocator) && is_mapped(size) ? mapped_bytes(size) : size;
}

const codl_allocator_t& AllocationCounter::source_of(const codl_allocator_t& allocator) {
  return allocator.allocate == allocate
             ? static_cast<const AllocationCounter*>(allocator.context)->source_
             : allocator;
}

void* AllocationCounter::allocate(void* context, size_t size, size_t alignment) {
  auto& counter = *static_cast<AllocationCounter*>(context);
  void* memory = counter.source_.allocate(counter.source_.context, size, alignment);
  if (memory != nullptr) counter.held_bytes_ += taken_bytes(counter.source_, size);
  return memory;
}

void AllocationCounter::release(void* context, void* memory, size_t size, size_t alignment) {
  auto& counter = *static_cast<AllocationCounter*>(context);
  counter.held_bytes_ -= taken_bytes(counter.source_, size);
  counter.source_.release(counter.source_.context, memory, size, alignment);
}

bool Arena::allocate(const codl_allocator_t& allocator, uint64_t size_bytes, size_t alignment) {
  if (size_bytes == 0) return true;
  if (size_bytes > PTRDIFF_MAX) return false;
  const size_t size = static_cast<size_t>(size_bytes);
  void* memory = allocator.allocate(allocator.context, size, alignment);
  if (memory == nullptr) return false;
  const bool is_zeroed = is_default(allocator) && is_mapped(size);
  if (!is_zeroed) std::memset(memory, 0, size);
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
