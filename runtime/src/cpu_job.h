// One CPU kernel on all workers of a pool.
#pragma once

#include <cstdint>

#include "kernels/common/contract/contract.h"
#include "runtime/src/cpu_pool.h"

namespace codl::rt {

// Where a kernel's workers have their scratch memory, by schema/session_memory.h.
struct CpuScratch {
  uint8_t* begin = nullptr;
  size_t stride = 0;  // from worker to worker; behind the last: memory of all
};

// Runs every task of every phase; `args` without what is a worker's.
void run_cpu_kernel(CpuPool& pool, kernels::CpuKernel function, const kernels::KernelArgs& args,
                    int32_t task_count, int32_t phase_count, const CpuScratch& scratch);

}  // namespace codl::rt
