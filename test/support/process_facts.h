// Counts resources that sessions could leave behind in this process: threads and open descriptors.
#pragma once

#include <dirent.h>

#include <chrono>
#include <thread>

namespace codl::test {

// Returns -1 if there is no such folder.
inline int entries_of(const char* folder) {
  DIR* const entries = opendir(folder);
  if (entries == nullptr) return -1;
  int count = -2;  // does not count "." and ".."
  while (readdir(entries) != nullptr) ++count;
  closedir(entries);
  return count;
}

inline int thread_count() { return entries_of("/proc/self/task"); }

// Counts the one that reads the folder, too.
inline int descriptor_count() { return entries_of("/proc/self/fd"); }

// Returns the count of threads once it is at most `count`, or after five seconds: drivers may end
// the threads of released queues later (Rusticl does).
inline int threads_down_to(int count) {
  for (int i = 0; i < 5000 && thread_count() > count; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return thread_count();
}

}  // namespace codl::test
