// Gives plans and sessions memory: all of it comes from a codl_allocator_t, while they are created.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "codl/codl.h"

namespace codl::rt {

// Returns the bytes of a page of the system's memory.
size_t page_bytes();

// Returns an allocator of posix_memalign and free, and of mmap for large blocks.
const codl_allocator_t& default_allocator();

// Returns the bytes that the default allocator takes of the system for a block. Another allocator
// is taken to need no more than it is asked for.
uint64_t taken_bytes(const codl_allocator_t& allocator, uint64_t size_bytes);

// Has another allocator give memory, and counts what that takes.
class AllocationCounter {
 public:
  // Called once, before the first block.
  void set_source(const codl_allocator_t& source) { source_ = source; }
  const codl_allocator_t& source() const { return source_; }
  // The allocator is valid for as long as this object stays where it is.
  codl_allocator_t allocator() { return {this, allocate, release}; }

  // Returns the bytes of the blocks that have not been released.
  uint64_t held_bytes() const { return held_bytes_; }

  // Returns the allocator that gives the memory of `allocator`.
  static const codl_allocator_t& source_of(const codl_allocator_t& allocator);

 private:
  static void* allocate(void* context, size_t size, size_t alignment);
  static void release(void* context, void* memory, size_t size, size_t alignment);

  codl_allocator_t source_ = {};
  uint64_t held_bytes_ = 0;
};

// Owns one block of zeroed memory. The pages of a large block are touched by the first run that
// uses them; later runs meet no page fault.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { release(); }

  // Returns false if the allocator has no memory; zero bytes always succeed. Call once per object.
  bool allocate(const codl_allocator_t& allocator, uint64_t size_bytes, size_t alignment);
  void release();
  // Forgets the block without giving it back: a device may still write to it.
  void leave() { data_ = nullptr; }

  uint8_t* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  codl_allocator_t allocator_ = {};
  uint8_t* data_ = nullptr;
  size_t size_bytes_ = 0;
  size_t alignment_ = 0;
};

// Owns a fixed number of value-initialised items.
template <typename T>
class Array {
 public:
  // Returns false if the allocator has no memory. Call once per object.
  bool allocate(const codl_allocator_t& allocator, size_t count) {
    uint64_t size_bytes = 0;
    if (__builtin_mul_overflow(uint64_t{count}, uint64_t{sizeof(T)}, &size_bytes)) return false;
    if (!memory_.allocate(allocator, size_bytes, alignof(T))) return false;
    for (size_t i = 0; i < count; ++i) new (memory_.data() + i * sizeof(T)) T();
    count_ = count;
    return true;
  }

  size_t count() const { return count_; }
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  T& operator[](size_t index) const { return data()[index]; }
  T* begin() const { return data(); }
  T* end() const { return data() + count_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  Arena memory_;
  size_t count_ = 0;
};

// Makes and unmakes the objects behind the C API's handles.
template <typename T>
T* create_object(const codl_allocator_t& allocator) {
  void* memory = allocator.allocate(allocator.context, sizeof(T), alignof(T));
  return memory == nullptr ? nullptr : new (memory) T();
}
template <typename T>
void destroy_object(const codl_allocator_t& allocator, T* object) {
  object->~T();
  allocator.release(allocator.context, object, sizeof(T), alignof(T));
}

}  // namespace codl::rt
