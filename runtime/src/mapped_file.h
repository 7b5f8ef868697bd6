// Maps a plan file, or a plan inside another file, into memory, read-only.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "codl/codl.h"

namespace codl::rt {

// Says what a file of `size` bytes is if it cannot be a plan; reads no more than a plan's head.
codl_status_t check_may_be_plan(const char* name, const void* begin, uint64_t size,
                                codl_diag_t* diag);

// Head and table are a private copy, each byte read once, so that a file that changes meanwhile or
// later cannot undo their verification; the weights behind them stay mapped. Truncating the file
// while it is mapped is a SIGBUS.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // This is pread, or what a test puts in its place.
  using ReadAt = ssize_t (*)(int file, void* bytes, size_t count, off_t offset);

  // Names some bytes of an open file.
  struct Source {
    ReadAt read_at = nullptr;
    int file = -1;
    off_t begin = 0;

    // Reads all of them; returns false with errno set if it cannot.
    bool read(void* bytes, size_t count, off_t offset) const;
  };

  static constexpr uint64_t kToTheEnd = UINT64_MAX;

  // Opens the file; call one of these once per object.
  codl_status_t open(const char* path, codl_diag_t* diag, ReadAt read_at = nullptr);
  // Opens `size` bytes from `offset` on of a file that stays the caller's. Where they do not begin
  // on a page all of them are copied: there is no mapping that is aligned for kernels then.
  codl_status_t open_part(int file, const char* name, uint64_t offset, uint64_t size,
                          codl_diag_t* diag, ReadAt read_at = nullptr);

  // Has the pages of [first, first + count) read and mapped, so that nobody meets a page fault for
  // every sixteen of them later: 8 us each on a virtual machine, a tenth of that here. If the
  // system cannot (Linux before 5.14) it reads ahead. Does nothing if the bytes are not in the
  // file.
  void prefetch(const uint8_t* first, size_t count) const;

  const void* bytes() const { return bytes_; }
  size_t size_bytes() const { return size_bytes_; }
  size_t private_bytes() const { return private_bytes_; }  // bytes of the copy, whole pages

 private:
  codl_status_t map(const Source& source, const char* name, size_t size, codl_diag_t* diag);

  void* bytes_ = nullptr;
  size_t size_bytes_ = 0;
  size_t private_bytes_ = 0;
};

}  // namespace codl::rt
