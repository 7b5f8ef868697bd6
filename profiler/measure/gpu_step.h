// Prepares a step of the GPU with its operands in memory.
#pragma once

#include <utility>
#include <vector>

#include "profiler/measure/measured_gpu.h"

namespace codl::profiler {

class GpuStep : public PreparedStep {
 public:
  GpuStep(MeasuredGpu* processor, const KernelInfo& kernel, const StepCase& item,
          const std::vector<int32_t>& tile);
  ~GpuStep() override {
    for (cl_mem memory : memory_) processor_->api_.clReleaseMemObject(memory);
    if (kernel_ != nullptr) processor_->api_.clReleaseKernel(kernel_);
    if (--processor_->step_count_ == 0) processor_->arena_used_bytes_ = 0;
  }
  double run_us() override;
  void start() override;
  bool is_possible() const {
    return processor_->takes_groups(kernel_, has_local_ ? local_[0] * local_[1] * local_[2] : 1);
  }

 private:
  cl_event enqueue() {
    return processor_->enqueue(kernel_, global_, has_local_ ? local_ : nullptr);
  }
  void set_weights(cl_uint argument, cl_mem memory);
  // Uses other weights, like a CPU's step that runs before the timed one.
  void warm();
  // Returns the time from the first of `count` launches to the end of the last, each with other
  // weights, after work of about `busy_us`.
  double batch_us(int count, double busy_us);
  void touch(cl_mem buffer, size_t bytes) {
    processor_->api_.clReleaseEvent(processor_->touch(buffer, bytes));
  }
  // Takes memory from the processor's arena, or its own if the arena is full.
  cl_mem take(size_t bytes);

  MeasuredGpu* processor_;
  cl_kernel kernel_ = nullptr;
  size_t global_[3] = {1, 1, 1};
  size_t local_[3] = {1, 1, 1};
  bool has_local_ = false;
  std::vector<cl_mem> memory_;
  std::vector<std::pair<cl_mem, size_t>> activations_;  // they are in buffers, the output last
  int batch_count_ = 0;                                 // 0: not known yet
  double last_us_ = 0;
  double call_us_ = 0;          // the host's time per launch of the last batch
  double longest_call_us_ = 0;  // the step's or the processor's: some have tens of arguments
  bool has_warm_weights_ = false;
  struct Weights {
    cl_uint argument;
    cl_mem memory;
    size_t bytes;
  };
  std::vector<Weights> weights_;
};

}  // namespace codl::profiler
