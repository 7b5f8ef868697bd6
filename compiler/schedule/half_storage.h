// Stores values as halves, for --precision=fp16.
#pragma once

#include "schema/plan_model.h"

namespace codl::compiler {

// Makes every f32 tensor F16 that only GPU kernels touch and that all of them can read and write as
// halves (KernelInfo::takes_halves): images, and Nhwc tensors of the device arena. Tensors that the
// CPU or a copy between queues touches stay f32, and so do weights and arithmetic. The partition
// stays the one that was made for f32.
//
// Results are rounded to 11 bits where they are stored, and infinite beyond 65504: networks must
// keep a relative L2 error of 1e-2 against f32 (docs/guide/testing.md).
void store_halves(Variant& variant);

// Counts the tensors that only the GPU queue has: those stored as halves, and all.
struct GpuTensorCounts {
  size_t halves = 0;
  size_t all = 0;
};
GpuTensorCounts count_gpu_tensors(const Variant& variant);

}  // namespace codl::compiler
