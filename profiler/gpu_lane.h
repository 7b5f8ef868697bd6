#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profiler/lane.h"
#include "runtime/src/gpu_queue.h"

namespace codl::profiler {

// What one hand-off between the lanes costs, and its parts (docs/PROFILE_FORMAT.md). Microseconds,
// MB = 1e6 bytes.
struct ExchangeTimes {
  double launch_us = 0;  // per kernel of a full queue; 0 where run_us() counts it already
  double poll_us = 0;    // GPU done -> host sees the event, polling; and host -> GPU start
  double event_us = 0;   // the same with clWaitForEvents
  double map_us = 0;     // map and unmap of a buffer in host memory
  double map_us_per_mb = 0;
  double copy_us_per_mb = 0;
};

class GpuLane : public Lane {
 public:
  // `platform`, `device`: parts of the names, or null; `cores`: rt::GpuQueueOptions. Throws
  // ToolError (Unsupported) if there is none.
  GpuLane(const char* platform, const char* device, const std::vector<int32_t>& cores);
  ~GpuLane() override;

  Processor processor() const override { return Processor::Gpu; }
  std::unique_ptr<PreparedStep> prepare(const KernelRow& row, const StepCase& item) override;
  double probe_us() override;
  void finish() override;

  const rt::GpuDevice& device() const { return device_; }
  std::string info(cl_device_info what) const;  // a string
  uint64_t number(cl_device_info what) const;   // an integer of 4 or 8 bytes, else 0
  ExchangeTimes measure_exchange();
  // What codlc chooses tiles by, as far as OpenCL tells.
  kernels::GpuFacts gpu_facts() const;

 private:
  friend class GpuStep;
  void check(const char* call, cl_int error) const;
  // The program's function `name`, built with `options` unless it has been.
  cl_kernel kernel_of(const char* const* texts, cl_uint text_count, const std::string& options,
                      const std::string& name);
  cl_mem make_buffer(size_t bytes, cl_mem_flags flags, void* data);
  // Enqueues and gives the event; it must be released.
  cl_event enqueue(cl_kernel kernel, const size_t* global, const size_t* local);
  void touch(cl_mem buffer, size_t bytes);
  double wait_and_time_us(cl_event event);
  void wait_polling(cl_event event);
  // From the first of `count` launches to the end of the last.
  double batch_us(cl_kernel kernel, const size_t* global, const size_t* local, int count);
  bool is_processor() const { return (type_ & CL_DEVICE_TYPE_CPU) != 0; }

  rt::ClApi api_;
  rt::GpuDevice device_;
  cl_context context_ = nullptr;
  cl_device_type type_ = 0;
  cl_command_queue queue_ = nullptr;
  cl_command_queue plain_queue_ = nullptr;  // does not keep times, as a plan's does not
  std::map<std::string, cl_program> programs_;
  cl_kernel probe_ = nullptr;
  cl_kernel touch_ = nullptr;
  cl_kernel nothing_ = nullptr;
  cl_mem arena_ = nullptr;  // of all steps that exist
  size_t arena_used_bytes_ = 0;
  int32_t step_count_ = 0;  // that exist
  cl_mem other_memory_ = nullptr;
  cl_mem result_ = nullptr;
};

}  // namespace codl::profiler
