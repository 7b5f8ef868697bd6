#include "runtime/src/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "runtime/src/arena.h"
#include "runtime/src/diag.h"
#include "schema/plan_layout.h"
#include "schema/types.h"
#include "schema/verify_plan.h"

namespace codl::rt {
namespace {

// Where a page is asked for, Linux maps those of the file that are in memory for so much around it
// (its fault_around_bytes; aligned), in a quarter of the time that asking for each takes.
constexpr uintptr_t kMappedTogetherBytes = 64 << 10;

// Returns how many bytes from the start of the file are structure, not weights. The head is not
// verified yet: a nonsensical one makes the whole file private.
size_t structure_bytes(const PlanHead& head, size_t file_bytes) {
  uint64_t end = 0;
  if (__builtin_add_overflow(head.table_offset, head.table_bytes, &end)) return file_bytes;
  return std::min<uint64_t>(std::max<uint64_t>(end, sizeof(PlanHead)), file_bytes);
}

// Replaces the first pages of the mapping, those of the structure that `head` tells of, by a copy:
// of `head`, which is not read again, and of what the file has behind it.
bool make_private(const MappedFile::Source& source, const PlanHead& head, void* mapping,
                  size_t mapping_bytes, size_t private_bytes) {
  if (mmap(mapping, private_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
           -1, 0) == MAP_FAILED)
    return false;
  memcpy(mapping, &head, sizeof(head));
  return source.read(static_cast<uint8_t*>(mapping) + sizeof(head),
                     std::min(private_bytes, mapping_bytes) - sizeof(head), sizeof(head)) &&
         mprotect(mapping, private_bytes, PROT_READ) == 0;
}

}  // namespace

codl_status_t check_may_be_plan(const char* name, const void* begin, uint64_t size,
                                codl_diag_t* diag) {
  char fault[128];
  if (may_be_plan({static_cast<const char*>(begin), std::min<uint64_t>(size, sizeof(PlanHead))},
                  size, fault))
    return CODL_OK;
  set_diag(diag, "%s: %s", name, fault);
  return CODL_CORRUPT_PLAN;
}

bool MappedFile::Source::read(void* bytes, size_t count, off_t offset) const {
  auto* target = static_cast<uint8_t*>(bytes);
  while (count != 0) {
    const ssize_t got = read_at(file, target, count, begin + offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    target += got;
    count -= static_cast<size_t>(got);
    offset += got;
  }
  return true;
}

codl_status_t MappedFile::open(const char* path, codl_diag_t* diag, ReadAt read_at) {
  // Not to wait for the other end of a pipe; of a regular file it means nothing.
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    set_diag(diag, "%s: %s", path, strerror(errno));
    return errno == ENOENT || errno == ENOTDIR ? CODL_NOT_FOUND : CODL_IO_ERROR;
  }
  const codl_status_t status = open_part(file, path, 0, kToTheEnd, diag, read_at);
  close(file);
  return status;
}

codl_status_t MappedFile::open_part(int file, const char* name, uint64_t offset, uint64_t size,
                                    codl_diag_t* diag, ReadAt read_at) {
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    set_diag(diag, "%s: expected a regular file", name);
    return CODL_IO_ERROR;
  }
  const auto file_bytes = static_cast<uint64_t>(info.st_size);
  if (size == kToTheEnd) size = file_bytes - std::min(offset, file_bytes);
  if (offset > file_bytes || size > file_bytes - offset) {
    set_diag(diag, "%s: expected %llu bytes from %llu on, found a file of %llu", name,
             static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
             static_cast<unsigned long long>(file_bytes));
    return CODL_CORRUPT_PLAN;
  }
  return map({read_at == nullptr ? pread : read_at, file, static_cast<off_t>(offset)}, name,
             static_cast<size_t>(size), diag);
}

codl_status_t MappedFile::map(const Source& source, const char* name, size_t size,
                              codl_diag_t* diag) {
  PlanHead head = {};
  if (size > PTRDIFF_MAX || !source.read(&head, std::min(size, sizeof(head)), 0)) {
    set_diag(diag, "%s: expected a readable file, found %s", name, strerror(errno));
    return CODL_IO_ERROR;
  }
  const codl_status_t status = check_may_be_plan(name, &head, size, diag);
  if (status != CODL_OK) return status;
  const bool is_whole_pages = static_cast<size_t>(source.begin) % page_bytes() == 0;
  void* mapping = is_whole_pages
                      ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, source.file, source.begin)
                      : mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    set_diag(diag, "%s: mmap of %zu bytes: %s", name, size, strerror(errno));
    return errno == ENOMEM ? CODL_OUT_OF_MEMORY : CODL_IO_ERROR;
  }
  bytes_ = mapping;
  size_bytes_ = size;
  private_bytes_ = round_up(is_whole_pages ? structure_bytes(head, size) : size, page_bytes());
  if (make_private(source, head, mapping, size, private_bytes_)) return CODL_OK;
  set_diag(diag, "%s: reading the plan's structure: %s", name, strerror(errno));
  return errno == ENOMEM ? CODL_OUT_OF_MEMORY : CODL_IO_ERROR;
}

void MappedFile::prefetch(const uint8_t* first, size_t count) const {
  const auto begin = reinterpret_cast<uintptr_t>(first);
  const auto file_begin = reinterpret_cast<uintptr_t>(bytes_);
  if (count == 0 || begin < file_begin || begin - file_begin >= size_bytes_) return;
  const uintptr_t first_page = begin / page_bytes() * page_bytes();
  const uintptr_t end = begin + std::min(count, file_begin + size_bytes_ - begin);
  // Linux before 5.14 reads ahead and maps later.
  for (uintptr_t page = first_page; page < end;
       page = (page / kMappedTogetherBytes + 1) * kMappedTogetherBytes)
    if (madvise(reinterpret_cast<void*>(page), 1, MADV_POPULATE_READ) != 0) {
      madvise(reinterpret_cast<void*>(first_page), end - first_page, MADV_WILLNEED);
      return;
    }
}

MappedFile::~MappedFile() {
  if (bytes_ != nullptr) munmap(bytes_, size_bytes_);
}

}  // namespace codl::rt
