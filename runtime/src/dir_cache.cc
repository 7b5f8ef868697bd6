// Keeps OpenCL programs in files of a folder that only this user can write. The folder is opened
// once and every file by its name in there, so that nobody can put another folder in its place.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "codl/codl.h"
#include "runtime/src/diag.h"

namespace codl::rt {
namespace {

// The descriptor is the context: no memory, and none of it can be freed too early.
int folder_of(const void* context) {
  return static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1;
}
void* context_of(int folder) { return reinterpret_cast<void*>(static_cast<intptr_t>(folder) + 1); }

// Says whether this user owns the file and nobody else may write it.
bool is_private(const struct stat& info) {
  return info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Calls `transfer` (read or write of what is left) until all is done. False: it is not.
template <typename Transfer>
bool transfer_all(size_t count, Transfer transfer) {
  for (size_t done = 0; done < count;) {
    const ssize_t moved = transfer(done, count - done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    done += static_cast<size_t>(moved);
  }
  return true;
}

size_t load(void* context, const char* key, void* data, size_t capacity) {
  const int file = openat(folder_of(context), key, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return 0;
  struct stat info = {};
  size_t size = 0;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && is_private(info) && info.st_size > 0)
    size = static_cast<size_t>(info.st_size);
  if (size <= capacity && !transfer_all(size, [&](size_t done, size_t left) {
        return read(file, static_cast<char*>(data) + done, left);
      }))
    size = 0;
  close(file);
  return size;
}

// Makes a new file. One that is there already was left behind by a process of this number that
// ended while it wrote.
int create_file(int folder, const char* name) {
  const auto create = [&] {
    return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  };
  const int file = create();
  return file < 0 && errno == EEXIST && unlinkat(folder, name, 0) == 0 ? create() : file;
}

// The file takes the place of whatever has the name, but for a folder with something in it.
bool rename_file(int folder, const char* name, const char* key) {
  if (renameat(folder, name, folder, key) == 0) return true;
  return errno == EISDIR && unlinkat(folder, key, AT_REMOVEDIR) == 0 &&
         renameat(folder, name, folder, key) == 0;
}

// A file has its name only when it is whole: another process may load it at any time.
void store(void* context, const char* key, const void* data, size_t size) {
  static std::atomic<unsigned> stored = 0;
  char name[96];
  std::snprintf(name, sizeof(name), "%.63s.%ld-%u.new", key, static_cast<long>(getpid()), stored++);
  const int folder = folder_of(context);
  const int file = create_file(folder, name);
  if (file < 0) return;
  bool is_stored = transfer_all(size, [&](size_t done, size_t left) {
    return write(file, static_cast<const char*>(data) + done, left);
  });
  is_stored = fsync(file) == 0 && is_stored;
  is_stored = close(file) == 0 && is_stored;
  if (!is_stored || !rename_file(folder, name, key)) unlinkat(folder, name, 0);
}

}  // namespace
}  // namespace codl::rt

codl_status_t codl_dir_cache_create(const char* folder, codl_program_cache_t* out_cache,
                                    codl_diag_t* diag) {
  codl::rt::clear_diag(diag);
  if (out_cache != nullptr) *out_cache = {};
  if (folder == nullptr || out_cache == nullptr) {
    codl::rt::set_diag(diag, "expected a folder and out_cache, found null");
    return CODL_INVALID_ARGUMENT;
  }
  if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
    codl::rt::set_diag(diag, "%s: %s", folder, strerror(errno));
    return CODL_IO_ERROR;
  }
  const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) {
    codl::rt::set_diag(diag, "%s: %s", folder, strerror(errno));
    return CODL_IO_ERROR;
  }
  struct stat info = {};
  if (fstat(file, &info) != 0 || !codl::rt::is_private(info)) {
    codl::rt::set_diag(diag, "%s: expected a folder that this user owns and no other can write",
                       folder);
    close(file);
    return CODL_IO_ERROR;
  }
  *out_cache = {codl::rt::context_of(file), codl::rt::load, codl::rt::store};
  return CODL_OK;
}

void codl_dir_cache_destroy(codl_program_cache_t* cache) {
  if (cache == nullptr || cache->context == nullptr) return;
  close(codl::rt::folder_of(cache->context));
  *cache = {};
}
