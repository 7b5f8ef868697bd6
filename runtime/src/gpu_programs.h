// Makes OpenCL programs and kernel objects, and sets all arguments, when a session is created.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "kernels/common/contract/contract.h"
#include "kernels/kernel_table.h"
#include "runtime/src/arena.h"
#include "runtime/src/gpu_memory.h"
#include "runtime/src/gpu_queue.h"

namespace codl::rt {

// Holds a step's kernel with its arguments, ready to enqueue.
struct GpuKernel {
  cl_kernel kernel = nullptr;  // borrowed from GpuPrograms
  size_t global[3] = {1, 1, 1};
  size_t local[3] = {1, 1, 1};
  bool has_local = false;  // else the driver chooses

  // Submits the kernel to the compute queue. `out_event` may be null.
  cl_int enqueue(GpuQueue& gpu, cl_uint wait_count, const cl_event* waits,
                 cl_event* out_event) const;
};

class GpuPrograms {
 public:
  // A cache keeps a program under this key; zeros to the end.
  using Key = char[64];

  GpuPrograms() = default;
  GpuPrograms(const GpuPrograms&) = delete;
  GpuPrograms& operator=(const GpuPrograms&) = delete;
  ~GpuPrograms() { release(); }

  // Makes room for `step_count` kernels. `gpu` must be open and outlive this; `cache` may be null.
  // Call once per object.
  codl_status_t create(const codl_allocator_t& allocator, GpuQueue& gpu,
                       const codl_program_cache_t* cache, size_t step_count, codl_diag_t* diag);
  void release();

  // Makes the kernel of one step whose operands are `tensors`; builds its program unless a step
  // before had the same text and defines.
  //
  // A kernel with a work-group size that its program has not run yet is also enqueued once, on
  // memory that nothing has been written to: PoCL, and some phones' drivers, compile for the
  // work-group size at first use (50 to 500 ms), and a run shall compile nothing.
  codl_status_t add(const kernels::StepShape& step, const uint32_t* tensors,
                    const GpuTensors& memory, GpuKernel* out_kernel, codl_diag_t* diag);

  // Releases the kernels' texts, which only add() needs.
  void finish_adding() { texts_.release(); }

  double build_us() const { return build_us_; }

 private:
  struct Program {
    const KernelInfo* kernel = nullptr;
    kernels::ClLaunch launch;  // the defines
    cl_program program = nullptr;
    GpuKernel warmed_up;  // the last step enqueued by add()
  };

  codl_status_t find_or_build(const KernelInfo& info, const kernels::ClLaunch& launch,
                              Program** out_program, codl_diag_t* diag);
  codl_status_t build(Program& program, codl_diag_t* diag);
  codl_status_t build_text(Program& program, const kernels::ClText& text, const char* options,
                           codl_diag_t* diag);
  // False: the cache has no such program, has it damaged or under another's key, or the driver no
  // longer takes it. Then it is built from its text and stored anew.
  bool load_binary(Program& program, const Key& key, const char* options);
  // A program that cannot be stored is built again next time.
  void store_binary(const Program& program, const Key& key);
  codl_status_t report_build_log(const Program& program, cl_int error, codl_diag_t* diag);
  codl_status_t explain_refusal(const Program& program, const GpuKernel& kernel, cl_int error,
                                codl_diag_t* diag);
  codl_status_t set_arguments(cl_kernel kernel, const kernels::StepShape& step,
                              const kernels::ClLaunch& launch, const uint32_t* tensors,
                              const GpuTensors& memory, codl_diag_t* diag);
  codl_status_t warm_up(Program& program, const GpuKernel& kernel, codl_diag_t* diag);

  codl_allocator_t allocator_ = {};
  GpuQueue* gpu_ = nullptr;
  const codl_program_cache_t* cache_ = nullptr;
  Arena texts_;  // the first program fills it: kernels::unpack_cl_texts()
  Array<Program> programs_;
  size_t program_count_ = 0;
  Array<cl_kernel> kernels_;
  size_t kernel_count_ = 0;
  double build_us_ = 0;
};

}  // namespace codl::rt
