// Records kernels once, so that each run gives the device all of a recording in one call: by
// cl_khr_command_buffer or by cl_qcom_recordable_queues.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/gpu_programs.h"
#include "runtime/src/gpu_queue.h"

namespace codl::rt {

// The driver's object; it belongs to who has made it.
using GpuRecording = void*;

class GpuRecorder {
 public:
  GpuRecorder() = default;
  GpuRecorder(const GpuRecorder&) = delete;
  GpuRecorder& operator=(const GpuRecorder&) = delete;
  ~GpuRecorder() { close(); }

  // Returns false, and why, if the device has neither extension. `gpu` must be open and outlive
  // this. Call once per object.
  bool open(GpuQueue& gpu, codl_diag_t* out_reason);
  void close();

  // A recording has so many kernels at most; 0: it is not open.
  uint32_t most_kernels() const { return most_kernels_; }

  // Begins a recording, which add() continues, with the arguments that a kernel has then. Each
  // returns an OpenCL error code; after one the recording can only be released.
  cl_int begin(GpuRecording* out_recording);
  cl_int add(GpuRecording recording, const GpuKernel& kernel);
  cl_int end(GpuRecording recording);

  // Gives it to the compute queue, which must not have it from before. `out_event` may be null.
  cl_int enqueue(GpuRecording recording, cl_uint wait_count, const cl_event* waits,
                 cl_event* out_event);
  void release(GpuRecording recording);

 private:
  bool has_command_buffers() const { return recordable_ == nullptr; }

  GpuQueue* gpu_ = nullptr;
  cl_command_queue recordable_ = nullptr;  // Qualcomm's; else there are command buffers
  uint32_t most_kernels_ = 0;
};

}  // namespace codl::rt
