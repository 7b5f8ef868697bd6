// Runs one CPU kernel on all workers of a pool.
#pragma once

#include <cstdint>

#include "kernels/common/contract/contract.h"
#include "runtime/src/cpu_pool.h"

namespace codl::rt {

// Kernels get scratch memory: an area for each worker, then one that all workers share.
struct ScratchSizes {
  uint64_t stride_bytes = 0;  // from worker to worker
  uint64_t total_bytes = 0;
};
// Returns false if the sizes need more than 64 bits.
bool scratch_sizes(uint64_t bytes_per_worker, uint64_t bytes_of_all, uint64_t worker_count,
                   ScratchSizes* out_sizes);

// Says where that memory is.
struct CpuScratch {
  uint8_t* begin = nullptr;
  size_t stride = 0;  // bytes from worker to worker; the shared memory is behind the last
};

// Runs every task of every phase; `args` without what is a worker's.
void run_cpu_kernel(CpuPool& pool, kernels::CpuKernel function, const kernels::KernelArgs& args,
                    int32_t task_count, int32_t phase_count, const CpuScratch& scratch);

}  // namespace codl::rt
