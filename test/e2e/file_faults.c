/* Preloaded by files_test.py: makes a call fail, or ends the process in it, while a tool writes a
 * file under its temporary name. CODL_TEST_FILE_FAULT: "write=ENOSPC", "fsync=EIO",
 * "rename=ENOSPC", or "CALL=KILL"; "pthread_create=EAGAIN": the system grants no thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether `descriptor` is such a file. */
static int is_temporary(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, ".tmp") != NULL;
}

/* 1 if `call` is to fail, with errno set. */
static int is_faulty(const char* call) {
  const char* fault = getenv("CODL_TEST_FILE_FAULT");
  const size_t length = strlen(call);
  if (fault == NULL || strncmp(fault, call, length) != 0 || fault[length] != '=') return 0;
  if (strcmp(fault + length + 1, "KILL") == 0) raise(SIGKILL);
  errno = strcmp(fault + length + 1, "EIO") == 0 ? EIO : ENOSPC;
  return 1;
}

ssize_t write(int descriptor, const void* data, size_t bytes) {
  static ssize_t (*next)(int, const void*, size_t);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "write");
  return is_temporary(descriptor) && is_faulty("write") ? -1 : next(descriptor, data, bytes);
}

int fsync(int descriptor) {
  static int (*next)(int);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "fsync");
  return is_temporary(descriptor) && is_faulty("fsync") ? -1 : next(descriptor);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  static int (*next)(int, const char*, int, const char*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "renameat");
  return is_faulty("rename") ? -1 : next(from_folder, from, to_folder, to);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pthread_create");
  return is_faulty("pthread_create") ? EAGAIN : next(thread, attributes, routine, argument);
}
