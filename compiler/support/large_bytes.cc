#include "compiler/support/large_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

#include "tools/files.h"

namespace codl::compiler {
namespace {

// Smaller blocks are ordinary memory and not counted: 16384 nodes with a constant each make 64 MiB.
// Blocks in files have whole pages, so that they can be freed.
constexpr size_t kMinBytes = 4096;
// Several allocations share a file of this size, because the mappings of a process are limited
// (65530 on Linux).
constexpr size_t kFileBytes = size_t{64} << 20;

size_t whole_pages(size_t bytes) {
  static const size_t page = std::max(kMinBytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  return (bytes + page - 1) / page * page;
}

char* map_file(size_t bytes) {
  const int descriptor = tools::open_scratch_file(bytes);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(memory);
}

class LargeMemory {
 public:
  void* allocate(size_t bytes) {
    if (bytes < kMinBytes) return ::operator new(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes <= kBytesInMemory - bytes_in_memory_) {
      void* const memory = ::operator new(bytes);
      bytes_in_memory_ += bytes;
      return memory;
    }
    if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
    bytes = whole_pages(bytes);
    auto file = files_.find(newest_);
    if (file == files_.end() || bytes > file->second.bytes - file->second.taken_bytes) {
      const size_t file_bytes = std::max(bytes, kFileBytes);
      newest_ = map_file(file_bytes);
      file = files_.insert({newest_, File{file_bytes, 0, 0}}).first;
    }
    char* const memory = file->first + file->second.taken_bytes;
    file->second.taken_bytes += bytes;
    ++file->second.users;
    return memory;
  }

  void free(void* memory, size_t bytes) {
    if (bytes < kMinBytes) return ::operator delete(memory);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto behind = files_.upper_bound(static_cast<char*>(memory));
    const auto file = behind == files_.begin() ? files_.end() : std::prev(behind);
    if (file == files_.end() || static_cast<char*>(memory) >= file->first + file->second.bytes) {
      ::operator delete(memory);
      bytes_in_memory_ -= bytes;
      return;
    }
    if (--file->second.users == 0) {
      munmap(file->first, file->second.bytes);
      files_.erase(file);
    } else {
      // Gives the room on the disk back, if the file system can.
      (void)madvise(memory, whole_pages(bytes), MADV_REMOVE);
    }
  }

 private:
  struct File {
    size_t bytes = 0;
    size_t taken_bytes = 0;  // from its begin; freed bytes are not taken again
    size_t users = 0;
  };

  std::mutex mutex_;
  size_t bytes_in_memory_ = 0;
  std::map<char*, File> files_;  // keyed by the address of the mapping
  char* newest_ = nullptr;
};

// This object is never destroyed, because constants of static objects are freed late.
LargeMemory& large_memory() {
  static auto& memory = *new LargeMemory;
  return memory;
}

}  // namespace

void* allocate_large(size_t bytes) { return large_memory().allocate(bytes); }

void free_large(void* memory, size_t bytes) noexcept { large_memory().free(memory, bytes); }

}  // namespace codl::compiler
