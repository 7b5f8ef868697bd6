// One OpenCL device for kernel tests: runs a launch on host memory, nothing else. The runtime's own
// queue is not used, so that a wrong kernel and a wrong executor are told apart.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kernels/kernel_table.h"

namespace codl::test {

struct ClOperand {
  void* data = nullptr;  // read before the kernel runs, overwritten after it if is_output
  size_t bytes = 0;
  // An RGBA float image of width x height texels, else a buffer. Both have the same bytes in the
  // host's memory: an image row follows the other.
  bool is_image = false;
  size_t width = 0;
  size_t height = 0;
  bool is_output = false;
};

class ClDevice {
 public:
  // The first device of the first platform that has one; null, and why, if there is none. Made once
  // and kept until the program ends: drivers do not like to be unloaded.
  static ClDevice* get(std::string* out_reason);

  // Builds the row's text with the launch's defines (once per set of defines), runs it and waits.
  // Empty if all went well, else the call and its error, or the compiler's messages.
  //
  // Buffers use the host's memory in place where the device can (PoCL), so bytes around `data` show
  // writes outside an operand; more than one of `repeats` runs use the device's own memory.
  // out_micros gets the fastest.
  std::string run(const KernelRow& row, const kernels::ClLaunch& launch,
                  std::span<const ClOperand> operands, int repeats = 1,
                  double* out_micros = nullptr);

  const std::string& name() const { return name_; }

 private:
  struct State;
  explicit ClDevice(State* state) : state_(state) {}

  State* state_;
  std::string name_;
};

}  // namespace codl::test
