// One OpenCL device for kernel tests, which only runs launches on host memory. It does not use the
// runtime's queue, so that a wrong kernel and a wrong executor are told apart.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_table.h"

namespace codl::test {

struct ClOperand {
  void* data = nullptr;  // read before the kernel runs, overwritten after it if is_output
  size_t bytes = 0;
  // True for an RGBA image of width x height texels of F32, F16 or I8, else it is a buffer. Both
  // have the same bytes in the host's memory.
  bool is_image = false;
  DType dtype = DType::F32;
  size_t width = 0;
  size_t height = 0;
  bool is_output = false;
};

// Runs a launch with its operands in memory objects.
class ClStep {
 public:
  ~ClStep();
  ClStep(const ClStep&) = delete;
  ClStep& operator=(const ClStep&) = delete;

  // Runs it `repeats` times and waits; adds the time of each run. Returns "" if all went well, else
  // the call and its error.
  std::string run(int repeats, std::vector<double>* out_micros);
  // Overwrites the output operands with the kernel's results.
  std::string read();

 private:
  friend class ClDevice;
  struct State;
  explicit ClStep(State* state) : state_(state) {}
  State* state_;
};

class ClDevice {
 public:
  // Returns the first device of the first platform that has one; null, with the reason, if there is
  // none. It is made once and kept until the program ends, because some drivers cannot be unloaded.
  static ClDevice* get(std::string* out_reason);

  // Builds the kernel's text with the launch's defines (once per set of defines). Borrows the
  // operands. Buffers use the host's memory in place if the device can (PoCL), so bytes around
  // `data` show writes outside an operand; with `is_timed` they are the device's own. Returns "" if
  // all went well, else the call and its error, or the compiler's messages.
  std::string make_step(const KernelInfo& kernel, const kernels::ClLaunch& launch,
                        std::span<const ClOperand> operands, bool is_timed,
                        std::unique_ptr<ClStep>* out_step);

  // Makes the step, runs it and reads the results. If `repeats` is more than 1, the runs are timed,
  // and out_micros gets each.
  std::string run(const KernelInfo& kernel, const kernels::ClLaunch& launch,
                  std::span<const ClOperand> operands, int repeats = 1,
                  std::vector<double>* out_micros = nullptr);

  const std::string& name() const { return name_; }
  // Returns whether kernels compute in halves: cl_khr_fp16.
  bool has_halves() const;
  // Returns false for a define that every program loses here, so that it makes no other program:
  // kernels/common/launch/products.cl takes those of half arithmetic out where there is none.
  bool uses_define(std::string_view name) const;

 private:
  friend class ClStep;
  struct State;
  explicit ClDevice(State* state) : state_(state) {}

  State* state_;
  std::string name_;
};

}  // namespace codl::test
