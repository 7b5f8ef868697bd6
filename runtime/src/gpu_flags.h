// Synchronises the CPU and the compute queue by numbers in memory that both see: nobody calls the
// driver, so that it takes microseconds.
//
// A kernel of one work-item in the queue stores a number, which the host reads until it is there;
// another reads the host's number, for so many reads at most. All of a run is enqueued ahead. A
// kernel that has read in vain says so for good: every later one then lets its queue go on, and the
// host ends the run.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/gpu_programs.h"
#include "runtime/src/gpu_queue.h"

namespace codl::rt {

class GpuFlags {
 public:
  // A kernel waits for so long before it gives up: longer than a step of the CPU takes, and less
  // than the seconds after which drivers take a GPU for hung.
  static constexpr int64_t kPatienceNs = 2'000'000'000;

  GpuFlags() = default;
  GpuFlags(const GpuFlags&) = delete;
  GpuFlags& operator=(const GpuFlags&) = delete;
  ~GpuFlags() { release(); }

  // Makes flags, unless the device has none or its driver fails with them: exchange() tries. What
  // came of that is kept in `cache`, which may be null, by driver; a driver that failed is not
  // tried again. Returns false, and why, if there are none. `gpu` must be open and outlive this;
  // `cpu_cores` are the workers'. Call once per object.
  bool open(GpuQueue& gpu, const codl_program_cache_t* cache, const int32_t* cpu_cores,
            size_t cpu_core_count, codl_diag_t* out_reason);
  void release();

  // Begins a run; the queue is empty. Numbers begin anew, and grow in each direction.
  void begin_run();
  // Tells the GPU, which sees all that this thread did before.
  void set(uint32_t number);
  // Returns true once the GPU has come to `number`; false if it has not in `most_ns`.
  bool wait(uint32_t number, int64_t most_ns) const;
  // Lets everything pass that waits in the queue.
  void open_all();
  // Returns the number that a kernel has waited for in vain; 0: none has.
  uint32_t failed_number() const;

  // Return an OpenCL error code.
  cl_int enqueue_set(uint32_t number);
  cl_int enqueue_wait(uint32_t number);

  // Make a kernel of its own, for a recording; the caller releases it.
  cl_int make_set(uint32_t number, GpuKernel* out_kernel) const;
  cl_int make_wait(uint32_t number, GpuKernel* out_kernel) const;

  // Returns the kernels' text: codl_set and codl_wait, and codl_echo of exchange().
  static const char* text();

  // Synchronises `count` times each way, with a word of data each time and delays drawn from
  // `seed`, enqueued ahead as a run is. Returns false, and what went wrong.
  bool exchange(uint32_t count, uint64_t seed, codl_diag_t* out_reason);

 private:
  struct Words;
  struct Kept;

  bool make(codl_diag_t* out_reason);
  cl_program build() const;
  bool test(codl_diag_t* out_reason);
  bool run_out(uint32_t reads, int64_t* out_ns);
  cl_int make_kernel(const char* name, uint32_t number, GpuKernel* out_kernel) const;
  cl_int enqueue(cl_kernel kernel, uint32_t number);
  bool set_most_reads(uint32_t reads);

  GpuQueue* gpu_ = nullptr;
  Words* words_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel set_ = nullptr;
  cl_kernel wait_ = nullptr;
  cl_kernel echo_ = nullptr;
  uint32_t most_reads_ = 0;  // a kernel reads a number so often before it gives up
};

}  // namespace codl::rt
