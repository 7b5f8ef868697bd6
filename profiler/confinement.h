// Which cores the two lanes compute on, where OpenCL runs on a processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace codl::profiler {

// Whether an OpenCL device of `units` that computes on the CPU has the very cores of a CPU lane of
// so many threads. Of cores that were not named each may use any.
bool shares_all_cores(const std::vector<int32_t>& cpu_cores, int32_t threads,
                      const std::vector<int32_t>& gpu_cores, int32_t units);

// A thread of this process, not the calling one, that may run on other cores than these; -1: there
// is none, or the system does not tell.
int64_t thread_off_cores(const std::vector<int32_t>& cores);

}  // namespace codl::profiler
