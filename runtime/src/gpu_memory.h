// The memory that GPU steps use: arenas, images and weights, one OpenCL object per place.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/plan.h"

namespace codl::rt {

class GpuMemory {
 public:
  GpuMemory() = default;
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() { release(); }

  // `gpu` must be open and outlive this. Once per object.
  codl_status_t create(const codl_allocator_t& allocator, const GpuQueue& gpu,
                       const codl_plan& plan, const plan::VariantDef& variant, codl_diag_t* diag);
  void release();

  // What a kernel takes for a tensor of the variant: exactly one of the two.
  cl_mem buffer_of(uint32_t tensor) const { return buffers_[tensor]; }
  void* pointer_of(uint32_t tensor) const;  // FineSvm: the tensor's bytes, for both lanes

  uint64_t shared_bytes() const { return shared_bytes_; }
  uint64_t device_bytes() const { return device_bytes_; }
  uint64_t image_bytes() const { return image_bytes_; }
  uint64_t weight_copy_bytes() const { return weight_copy_bytes_; }

 private:
  codl_status_t create_arenas(codl_diag_t* diag);
  codl_status_t create_images(codl_diag_t* diag);
  codl_status_t create_tensors(codl_diag_t* diag);
  codl_status_t create_weights(codl_diag_t* diag);
  codl_status_t create_blob(uint32_t blob, codl_diag_t* diag);
  codl_status_t create_sub_buffers(Storage storage, cl_mem arena, codl_diag_t* diag);

  const GpuQueue* gpu_ = nullptr;
  const codl_plan* plan_ = nullptr;
  const plan::VariantDef* variant_ = nullptr;
  uint8_t* svm_ = nullptr;         // FineSvm: the shared arena
  cl_mem shared_arena_ = nullptr;  // SubBuffer: the shared arena
  cl_mem device_arena_ = nullptr;
  Array<cl_mem> images_;  // by image slot
  Array<cl_mem> blobs_;   // by blob; null for what no GPU step reads
  Array<cl_mem> sub_buffers_;
  size_t sub_buffer_count_ = 0;
  Array<uint32_t> by_place_;  // scratch of create_sub_buffers()
  Array<cl_mem> buffers_;     // by tensor; borrowed from the three above
  uint64_t shared_bytes_ = 0;
  uint64_t device_bytes_ = 0;
  uint64_t image_bytes_ = 0;
  uint64_t weight_copy_bytes_ = 0;
};

}  // namespace codl::rt
