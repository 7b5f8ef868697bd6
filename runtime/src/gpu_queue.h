// Owns the GPU queue's context and queues, and has this thread wait for them.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/affinity.h"
#include "runtime/src/cl_api.h"
#include "runtime/src/gpu_device.h"
#include "runtime/src/plan.h"

namespace codl::rt {

// Both queues are in order. Transfer exists only where a variant copies between two memories, so
// that copies and kernels overlap.
enum QueueIndex : uint32_t { kComputeQueue = 0, kTransferQueue = 1, kQueueCount = 2 };

struct GpuQueueOptions {
  const char* platform_part = nullptr;  // see choose_device
  const char* device_part = nullptr;
  // An OpenCL implementation that computes on the CPU runs its threads on these cores. They inherit
  // the cores of the thread that first calls OpenCL, so this works once per process, on its first
  // use of OpenCL, and only for implementations that start their threads then (PoCL does).
  const int32_t* cores = nullptr;
  size_t core_count = 0;
  bool record_times = false;
  int32_t deadline_ms = 0;  // the longest wait for the device; 0: as long as it takes
};

// Loads OpenCL. The process's first call keeps the calling thread on `cores` (none: where it is)
// until `scope` ends, see GpuQueueOptions::cores: first use of the device belongs inside the scope.
codl_status_t start_opencl(const int32_t* cores, size_t core_count, AffinityScope* scope,
                           ClApi* out_api, codl_diag_t* diag);

// Polls until the command is complete or ended abnormally (*out_state below 0), for at most
// `most_ns`; after `busy_ns` it sleeps between polls. Returns an OpenCL error code.
//
// OpenCL's own waits are not used: Intel's CPU runtime lets a thread that waits compute work-groups
// meanwhile, on its own cores.
cl_int poll_event(const ClApi& api, cl_event event, int64_t busy_ns, int64_t most_ns,
                  cl_int* out_state);

// A wait polls for so long before the thread sleeps. On PoCL a polled synchronisation takes about
// 20 us, one through clFinish 80, nearly all of it waking up. After some milliseconds that
// difference is below a percent and the core is better used by others.
inline constexpr int64_t kPollNs = 3'000'000;
inline constexpr int64_t kPollForever = INT64_MAX;

class GpuQueue {
 public:
  GpuQueue() = default;
  GpuQueue(const GpuQueue&) = delete;
  GpuQueue& operator=(const GpuQueue&) = delete;
  ~GpuQueue() { close(); }

  // Finds OpenCL (or takes `api`, if given: tests), chooses a device that can hold the variants'
  // memory and makes context and queues. Call once per object.
  codl_status_t open(const ClApi* api, const VariantList& variants, const GpuQueueOptions& options,
                     codl_diag_t* diag);
  void close();

  const ClApi& api() const { return api_; }
  const GpuDevice& device() const { return device_; }
  cl_context context() const { return context_; }
  cl_command_queue queue(uint32_t index) const { return queues_[index]; }

  // An enqueue that is not flushed may never start. Tells that something was enqueued; submits what
  // was since the last flush.
  void note_enqueue(uint32_t index) { is_dirty_[index] = true; }
  codl_status_t flush(uint32_t index, codl_diag_t* diag);
  codl_status_t flush_all(codl_diag_t* diag);

  // Returns when the command is complete; DEVICE_ERROR if it ended abnormally, or did not within
  // the deadline. Its queue and those it depends on must have been flushed.
  codl_status_t wait(cl_event event, codl_diag_t* diag);

  // Returns false if the driver refuses to end a mapping whose Map command is not complete, which
  // user events ask for. OpenCL allows it: the pointer "returned by clEnqueueMapBuffer" is valid
  // for clEnqueueUnmapMemObject from then on. Rusticl of Mesa 22.3 knows a mapping only when its
  // command is complete. A driver whose mappings are copies is not asked: NVIDIA's (580) says yes,
  // frees the memory that a large mapping is copied to, and crashes when it copies.
  bool takes_early_unmap();

  // Waits for everything in one queue.
  codl_status_t finish(uint32_t index, codl_diag_t* diag);

  // Waits for everything enqueued, whatever becomes of it. False if the driver does not say that
  // it is done, or not within the deadline. Owners of what the device reads or writes call it
  // before they release any of that.
  bool drain();

  // A driver that did not let a run be taken back: what it still does is not known, and no variant
  // can use its queues or the memory that it has.
  void set_lost() { is_lost_ = true; }
  bool is_lost() const { return is_lost_; }
  // The longest wait for the device; 0: as long as it takes.
  int64_t deadline_ns() const { return deadline_ns_; }
  void set_deadline_ns(int64_t deadline_ns) { deadline_ns_ = deadline_ns; }
  // A wait has been as long as the deadline: nothing more is asked of the driver.
  bool is_late() const { return is_late_; }

  // Returns true if the device computes on the CPU.
  bool is_processor() const;
  // Returns true if the device computes on the CPU and is not known to leave these cores alone;
  // none: any.
  bool may_use_cores(const int32_t* cores, size_t core_count) const;

 private:
  codl_status_t open_context(const VariantList& variants, const GpuQueueOptions& options,
                             codl_diag_t* diag);
  cl_int wait_until_empty(uint32_t index);
  cl_int poll(cl_event event, cl_int* out_state);
  codl_status_t report_late(codl_diag_t* diag) const;

  ClApi api_;
  GpuDevice device_;
  cl_context context_ = nullptr;
  cl_command_queue queues_[kQueueCount] = {};
  bool is_dirty_[kQueueCount] = {};
  bool is_lost_ = false;
  bool is_late_ = false;
  int64_t deadline_ns_ = 0;   // 0: none
  bool is_confined_ = false;  // it computes on the cores it was told to, and no thread helps it
};

}  // namespace codl::rt
