// Checks which cores the two processors compute on, if OpenCL runs on a processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace codl::profiler {

// True if every core that OpenCL on a processor may use has a thread of the CPU. A processor whose
// cores were not named may use all `core_count` cores of the process.
bool shares_all_cores(const std::vector<int32_t>& cpu_cores, int32_t threads,
                      const std::vector<int32_t>& gpu_cores, int32_t core_count);

// Returns a thread of this process, not the calling one, that may run on other cores than these; -1
// if there is none or the system does not tell.
int64_t thread_off_cores(const std::vector<int32_t>& cores);

}  // namespace codl::profiler
