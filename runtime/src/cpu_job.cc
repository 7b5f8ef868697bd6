#include "runtime/src/cpu_job.h"

#include "schema/plan_layout.h"

namespace codl::rt {
namespace {

// Holds the data that the workers of one phase share.
struct CpuJob {
  kernels::CpuKernel function;
  const kernels::KernelArgs* args;
  CpuScratch scratch;
  uint8_t* shared;
  int32_t phase;
};

void run_tasks(void* context, const CpuPool::Piece& piece) {
  const CpuJob& job = *static_cast<const CpuJob*>(context);
  kernels::KernelArgs args = *job.args;
  args.scratch = job.scratch.begin + static_cast<size_t>(piece.worker) * job.scratch.stride;
  args.shared = job.shared;
  args.phase = job.phase;
  args.task_begin = piece.task_begin;
  args.task_end = piece.task_end;
  args.continues = !piece.is_first;
  job.function(args);
}

}  // namespace

bool scratch_sizes(uint64_t bytes_per_worker, uint64_t bytes_of_all, uint64_t worker_count,
                   ScratchSizes* out_sizes) {
  out_sizes->stride_bytes = (bytes_per_worker + kHostAlignment - 1) & ~(kHostAlignment - 1);
  return out_sizes->stride_bytes >= bytes_per_worker &&
         !__builtin_mul_overflow(out_sizes->stride_bytes, worker_count, &out_sizes->total_bytes) &&
         !__builtin_add_overflow(out_sizes->total_bytes, bytes_of_all, &out_sizes->total_bytes);
}

void run_cpu_kernel(CpuPool& pool, kernels::CpuKernel function, const kernels::KernelArgs& args,
                    int32_t task_count, int32_t phase_count, const CpuScratch& scratch) {
  uint8_t* const shared = scratch.begin + static_cast<size_t>(pool.worker_count()) * scratch.stride;
  for (int32_t phase = 0; phase < phase_count; ++phase) {
    CpuJob job = {function, &args, scratch, shared, phase};
    pool.run(task_count, run_tasks, &job);
  }
}

}  // namespace codl::rt
