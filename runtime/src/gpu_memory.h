// Owns the memory that GPU steps use: arenas, images and weights, with one OpenCL object per place.
#pragma once

#include <cstdint>

#include "codl/codl.h"
#include "runtime/src/arena.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/plan.h"

namespace codl::rt {

// Where the tensors of one variant are: a kernel takes exactly one of the two for each. Borrowed
// from GpuMemory.
struct GpuTensors {
  const plan::VariantDef* variant = nullptr;
  const cl_mem* buffers = nullptr;  // indexed by tensor
  uint8_t* svm = nullptr;           // FineSvm: the shared arena

  cl_mem buffer_of(uint32_t tensor) const { return buffers[tensor]; }
  void* pointer_of(uint32_t tensor) const;  // FineSvm only: both processors use these bytes
};

struct ImageSize {
  uint32_t width = 0;
  uint32_t height = 0;
};

class GpuMemory {
 public:
  static constexpr size_t kImageKindCount = 3;  // elements of F32, F16, I8

  GpuMemory() = default;
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() { release(); }

  // `variants`, which take turns in this memory, have GPU steps. `gpu` must be open; it and the
  // list must outlive this. Call once per object.
  codl_status_t create(const codl_allocator_t& allocator, GpuQueue& gpu, const codl_plan& plan,
                       const VariantList& variants, codl_diag_t* diag);
  // Call it when the queues are empty: OpenCL holds buffers and images of commands that are not
  // complete, not the memory that clSVMFree is given. That of a device that does not say that it is
  // done stays: it may still write there.
  void release();

  // Returns the tensors of the variant at `index` in the list.
  GpuTensors tensors_of(size_t index) const;

  uint64_t shared_bytes() const { return shared_bytes_; }
  uint64_t device_bytes() const { return device_bytes_; }
  uint64_t image_bytes() const { return image_bytes_; }
  uint64_t weight_copy_bytes() const { return weight_copy_bytes_; }

 private:
  codl_status_t create_arenas(codl_diag_t* diag);
  codl_status_t create_images(ImageSize* sizes, codl_diag_t* diag);
  codl_status_t create_tensors(cl_mem* images, codl_diag_t* diag);
  codl_status_t create_weights(const plan::VariantDef& variant, codl_diag_t* diag);
  codl_status_t create_blob(uint32_t blob, codl_diag_t* diag);
  codl_status_t create_sub_buffers(Storage storage, cl_mem arena, codl_diag_t* diag);
  size_t first_tensor_of(size_t index) const;

  // Names a tensor of one of the variants.
  struct Place {
    uint32_t variant;  // in the list
    uint32_t tensor;
  };
  const plan::TensorDef& tensor_at(const Place& place) const {
    return *variants_.items[place.variant]->tensors()->Get(place.tensor);
  }

  GpuQueue* gpu_ = nullptr;
  const codl_plan* plan_ = nullptr;
  VariantList variants_;
  uint8_t* svm_ = nullptr;         // FineSvm: the shared arena
  cl_mem shared_arena_ = nullptr;  // SubBuffer: the shared arena
  cl_mem device_arena_ = nullptr;
  Array<cl_mem> images_[kImageKindCount];
  Array<cl_mem> blobs_;  // indexed by blob; null if no GPU step reads it
  Array<cl_mem> sub_buffers_;
  size_t sub_buffer_count_ = 0;
  Array<Place> by_place_;  // scratch of create_sub_buffers()
  Array<cl_mem> buffers_;  // indexed by variant, then tensor; borrowed from the three above
  uint64_t shared_bytes_ = 0;
  uint64_t device_bytes_ = 0;
  uint64_t image_bytes_ = 0;
  uint64_t weight_copy_bytes_ = 0;
};

}  // namespace codl::rt
