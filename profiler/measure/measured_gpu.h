#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/common/work/gpu_facts.h"
#include "profiler/measure/measured_processor.h"
#include "runtime/src/gpu_queue.h"

namespace codl::profiler {

class MeasuredGpu : public MeasuredProcessor {
 public:
  // `platform` and `device` are parts of the names, or null; rt::GpuQueueOptions explains `cores`.
  // Throws ToolError (Unsupported) if there is no such device.
  MeasuredGpu(const char* platform, const char* device, const std::vector<int32_t>& cores);
  ~MeasuredGpu() override;

  Processor processor() const override { return Processor::Gpu; }
  std::unique_ptr<PreparedStep> prepare(const KernelInfo& info, const StepCase& item) override;
  // Prepares the step with this tile. Null also if the device has no such work-groups for the
  // kernel.
  std::unique_ptr<PreparedStep> prepare(const KernelInfo& info, const StepCase& item,
                                        const std::vector<int32_t>& tile);
  double probe_us() override;
  double crowding() override;
  void finish() override;

  const rt::GpuDevice& device() const { return device_; }
  std::string info(cl_device_info what) const;  // a string
  uint64_t number(cl_device_info what) const;   // reads an integer of 4 or 8 bytes, else gives 0
  // Returns the padding of rows in an image of floats; 0 if the driver does not say. Needs images.
  uint64_t image_row_texels() const;
  // codlc chooses tiles by these facts: OpenCL's, until others were set.
  const kernels::GpuFacts& gpu_facts() const { return facts_; }
  void set_facts(const kernels::GpuFacts& facts) { facts_ = facts; }
  // Says why the device computes on other cores than it was told to; empty if it does not, or was
  // told none.
  std::string unconfined() const;
  // True if OpenCL runs on a CPU: clocks of its commands are exact, and a launch adds to them.
  bool is_cpu_device() const { return (type_ & CL_DEVICE_TYPE_CPU) != 0; }

  // Serves code that times more than steps (profiler/measure/transfer.h, measure_machine.h). Throws
  // ToolError if a call failed.
  const rt::ClApi& api() const { return api_; }
  void check(const char* call, cl_int error) const;
  cl_command_queue make_queue(cl_command_queue_properties properties);
  cl_mem make_buffer(size_t bytes, cl_mem_flags flags, void* data);
  // Returns the text's function `name`. The processor keeps the program; the caller releases the
  // kernel.
  cl_kernel make_kernel(const char* text, const std::string& name) {
    return kernel_of(&text, 1, "", name);
  }
  // Returns the time of `groups` groups of so many work-items, by the device's clock. Waits.
  double kernel_us(cl_kernel kernel, size_t groups, size_t group_items);
  size_t preferred_group_items(cl_kernel kernel) const;  // a multiple of these fills waves
  cl_kernel nothing_kernel() const { return nothing_; }
  cl_kernel write_kernel() const { return write_; }  // takes a buffer and the number of its floats
  cl_kernel probe_kernel() const { return probe_; }  // runs in groups of 64
  // Gives the queue work of at least so many microseconds.
  void keep_busy(cl_command_queue queue, double us);
  // Waits as a plan does (rt::poll_event); the second waits so for everything in a queue.
  void wait(cl_event event);
  void finish(cl_command_queue queue);
  // Returns the time of a kernel that reads the buffer. Waits.
  double read_us(cl_mem buffer, size_t bytes);
  size_t probe_items() const { return 64 * kProbeGroups * static_cast<size_t>(facts_.units); }

 private:
  friend class GpuStep;
  static constexpr size_t kProbeGroups = 8;
  // Returns the program's function `name`, built with `options` unless it has been.
  cl_kernel kernel_of(const char* const* texts, cl_uint text_count, const std::string& options,
                      const std::string& name);
  // Enqueues the kernel and returns its event, which must be released.
  cl_event enqueue(cl_kernel kernel, const size_t* global, const size_t* local);
  // Returns the event of a kernel that reads the buffer; it must be released.
  cl_event touch(cl_mem buffer, size_t bytes);
  double wait_and_time_us(cl_event event);
  // Returns the time of kProbeGroups groups for every unit.
  double units_us(cl_kernel kernel, size_t group_items);
  // Returns the host's time for a launch while the device is busy.
  double time_call();
  bool takes_groups(cl_kernel kernel, size_t items) const;
  bool has_room_for_weights() const;
  // Returns buffers of at least so many bytes, one per launch.
  const std::vector<cl_mem>& weight_buffers(size_t bytes);

  rt::ClApi api_;
  rt::GpuDevice device_;
  cl_context context_ = nullptr;
  cl_device_type type_ = 0;
  std::vector<int32_t> cores_;
  kernels::GpuFacts facts_;
  cl_command_queue queue_ = nullptr;
  cl_command_queue plain_queue_ = nullptr;  // takes no times, as a plan's queue
  std::map<std::string, cl_program> programs_;
  cl_kernel probe_ = nullptr;
  cl_kernel chain_ = nullptr;
  cl_kernel chains_ = nullptr;
  cl_kernel touch_ = nullptr;
  cl_kernel write_ = nullptr;
  cl_kernel nothing_ = nullptr;
  double busy_us_ = 0;                                    // time of the probe kernel
  double call_us_ = 0;                                    // a GPU's: the host's time for a launch
  cl_mem arena_ = nullptr;                                // used by all steps that exist
  std::map<size_t, std::vector<cl_mem>> weight_buffers_;  // keyed by size
  // Shared by all steps: one must not find in the cache what another has just read.
  size_t next_weights_ = 0;
  size_t arena_used_bytes_ = 0;
  int32_t step_count_ = 0;  // that exist
  cl_mem other_memory_ = nullptr;
  cl_mem result_ = nullptr;
};

}  // namespace codl::profiler
