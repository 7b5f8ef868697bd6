#include "profiler/measure/confinement.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>

namespace codl::profiler {

bool shares_all_cores(const std::vector<int32_t>& cpu_cores, int32_t threads,
                      const std::vector<int32_t>& gpu_cores, int32_t core_count) {
  const auto busy_cores = cpu_cores.empty() ? core_count : static_cast<int32_t>(cpu_cores.size());
  if (threads < busy_cores) return false;
  if (cpu_cores.empty() || gpu_cores.empty()) return busy_cores >= core_count;
  return std::all_of(gpu_cores.begin(), gpu_cores.end(), [&](int32_t core) {
    return std::find(cpu_cores.begin(), cpu_cores.end(), core) != cpu_cores.end();
  });
}

int64_t thread_off_cores(const std::vector<int32_t>& cores) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  for (int32_t core : cores) CPU_SET(static_cast<size_t>(core), &allowed);
  const int64_t own = syscall(SYS_gettid);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = entry.path().filename().string();
    int32_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    cpu_set_t set;
    cpu_set_t both;
    if (thread == own || sched_getaffinity(thread, sizeof(set), &set) != 0) continue;
    CPU_AND(&both, &set, &allowed);
    if (!CPU_EQUAL(&both, &set)) return thread;
  }
  return -1;
}

}  // namespace codl::profiler
