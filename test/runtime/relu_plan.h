// Makes a plan of one relu, x[n, c, h, w] -> y, cut into two halves in every way the queues can
// share memory. The application's buffers are Plain, so each variant converts at both ends.
#pragma once

#include <cstdint>
#include <vector>

#include "test/support/plan_builder_for_tests.h"

namespace codl::test {

// How the GPU half of the relu reads and writes.
enum class GpuHalf {
  FineSvm,           // rows, one allocation
  FineSvmChannels,   // channels, one allocation
  FineSvmImages,     // rows, converted to images and back
  SubBuffer,         // rows, a sub-buffer mapped and unmapped
  SubBufferImages,   // rows, the same, converted to images and back
  Separate,          // rows, uploaded and downloaded
  SeparateImages,    // rows, the same, converted to images and back
  SeparateChannels,  // channels, the same
};

struct ReluPlanOptions {
  GpuHalf half = GpuHalf::FineSvm;
  Gate gate = Gate::HostEnqueue;
  // A batch has two images, so that a part of the rows is two pieces of memory.
  std::vector<int32_t> dims = {2, 37, 9, 5};
  int32_t cut_row = 4;       // the CPU has rows [0, cut_row)
  int32_t cut_channel = 16;  // the CPU has channels [0, cut_channel)
  uint32_t cpu_threads = 2;
};

// Makes variants "coexec" and "cpu".
TestPlan relu_plan(const ReluPlanOptions& options);

// Appends two Reshapes in the device's memory, each in the place of its operand, to the first
// variant of a plan with a GPU. Nothing reads them.
void add_reshapes_in_place(TestPlan& plan);

// Makes only "cpu".
TestPlan relu_cpu_plan(const std::vector<int32_t>& dims, uint32_t cpu_threads);

}  // namespace codl::test
