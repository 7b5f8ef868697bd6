#include "runtime/src/gpu_memory.h"

#include <algorithm>

#include "runtime/src/diag.h"
#include "schema/plan_layout.h"
#include "schema/session_memory.h"
#include "schema/types.h"

namespace codl::rt {

namespace {

// Drivers pad rows. One that does not say what an image takes, or less than its texels, is not
// asked any further.
uint64_t held_by_image(const ClApi& api, cl_mem image, const plan::ImageDef& def) {
  size_t bytes = 0;
  if (api.clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr) != CL_SUCCESS)
    bytes = 0;
  return std::max<uint64_t>(bytes, image_bytes(def, 1));
}

}  // namespace

codl_status_t GpuMemory::create(const codl_allocator_t& allocator, const GpuQueue& gpu,
                                const codl_plan& plan, const plan::VariantDef& variant,
                                codl_diag_t* diag) {
  gpu_ = &gpu;
  plan_ = &plan;
  variant_ = &variant;
  const uint32_t tensor_count = variant.tensors()->size();
  if (!images_.allocate(allocator, variant.images()->size()) ||
      !blobs_.allocate(allocator, plan.def->blobs()->size()) ||
      !sub_buffers_.allocate(allocator, tensor_count) ||
      !by_place_.allocate(allocator, tensor_count) || !buffers_.allocate(allocator, tensor_count)) {
    set_diag(diag, "no memory for the OpenCL objects of %u tensors", tensor_count);
    return CODL_OUT_OF_MEMORY;
  }
  codl_status_t status = create_arenas(diag);
  if (status == CODL_OK) status = create_images(diag);
  if (status == CODL_OK) status = create_weights(diag);
  if (status == CODL_OK) status = create_tensors(diag);
  return status;
}

void GpuMemory::release() {
  if (gpu_ == nullptr) return;
  const ClApi& api = gpu_->api();
  const auto release_object = [&api](cl_mem& object) {
    if (object != nullptr) api.clReleaseMemObject(object);
    object = nullptr;
  };
  // Last made, first released: NVIDIA's driver 580 crashes otherwise, if sub-buffers overlap.
  for (; sub_buffer_count_ != 0; --sub_buffer_count_)
    release_object(sub_buffers_[sub_buffer_count_ - 1]);
  for (cl_mem& blob : blobs_) release_object(blob);
  for (cl_mem& image : images_) release_object(image);
  release_object(shared_arena_);
  release_object(device_arena_);
  if (svm_ != nullptr) api.clSVMFree(gpu_->context(), svm_);
  svm_ = nullptr;
}

void* GpuMemory::pointer_of(uint32_t tensor) const {
  const plan::TensorDef& def = *variant_->tensors()->Get(tensor);
  return storage_of(def) == Storage::Shared && svm_ != nullptr ? svm_ + def.offset_bytes()
                                                               : nullptr;
}

codl_status_t GpuMemory::create_arenas(codl_diag_t* diag) {
  const ClApi& api = gpu_->api();
  cl_int error = CL_SUCCESS;
  const auto shared_bytes = static_cast<size_t>(variant_->shared_bytes());
  const auto device_bytes = static_cast<size_t>(variant_->device_bytes());
  if (shared_bytes != 0 && sharing_of(*variant_) == Sharing::FineSvm) {
    // Alignment 0: that of the largest OpenCL type, 128 bytes.
    svm_ = static_cast<uint8_t*>(api.clSVMAlloc(
        gpu_->context(), CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, shared_bytes, 0));
    if (svm_ == nullptr) {
      set_diag(diag, "clSVMAlloc: no memory for a shared arena of %zu bytes", shared_bytes);
      return CODL_DEVICE_ERROR;
    }
    // No page faults in a run.
    __builtin_memset(svm_, 0, shared_bytes);
  } else if (shared_bytes != 0) {
    shared_arena_ = api.clCreateBuffer(gpu_->context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       shared_bytes, nullptr, &error);
    if (shared_arena_ == nullptr) return cl_fault(diag, "clCreateBuffer (shared arena)", error);
  }
  shared_bytes_ = shared_bytes;
  if (device_bytes != 0) {
    device_arena_ =
        api.clCreateBuffer(gpu_->context(), CL_MEM_READ_WRITE, device_bytes, nullptr, &error);
    if (device_arena_ == nullptr) return cl_fault(diag, "clCreateBuffer (device arena)", error);
  }
  device_bytes_ = device_bytes;
  return CODL_OK;
}

codl_status_t GpuMemory::create_images(codl_diag_t* diag) {
  for (uint32_t i = 0; i < images_.count(); ++i) {
    const plan::ImageDef& image = *variant_->images()->Get(i);
    const auto dtype = static_cast<DType>(image.dtype());
    // Both formats are among those that every device with images has (OpenCL 1.2, table 5.8).
    const cl_image_format format = {
        CL_RGBA, cl_channel_type(dtype == DType::F16 ? CL_HALF_FLOAT : CL_FLOAT)};
    cl_image_desc desc = {};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = image.width();
    desc.image_height = image.height();
    cl_int error = CL_SUCCESS;
    images_[i] = gpu_->api().clCreateImage(gpu_->context(), CL_MEM_READ_WRITE, &format, &desc,
                                           nullptr, &error);
    if (images_[i] == nullptr) return cl_fault(diag, "clCreateImage", error);
    image_bytes_ += held_by_image(gpu_->api(), images_[i], image);
  }
  return CODL_OK;
}

codl_status_t GpuMemory::create_weights(codl_diag_t* diag) {
  for (const plan::StepDef* step : *variant_->steps()) {
    if (lane_of(*step) == Lane::Cpu) continue;
    for (uint32_t tensor : *step->operands()) {
      const plan::TensorDef& def = *variant_->tensors()->Get(tensor);
      if (storage_of(def) != Storage::Weights || blobs_[def.index()] != nullptr) continue;
      const codl_status_t status = create_blob(def.index(), diag);
      if (status != CODL_OK) return status;
    }
  }
  return CODL_OK;
}

codl_status_t GpuMemory::create_blob(uint32_t blob, codl_diag_t* diag) {
  const ClApi& api = gpu_->api();
  const auto size = static_cast<size_t>(plan_->def->blobs()->Get(blob)->bytes());
  // Never written through: the buffer is read-only.
  void* bytes = const_cast<uint8_t*>(plan_->blob_data(blob));
  cl_int error = CL_SUCCESS;
  // In place where GPU and CPU read the same memory; the plan's pages are then loaded once.
  if (gpu_->device().has_host_memory && reinterpret_cast<uintptr_t>(bytes) % kBlobAlignment == 0) {
    blobs_[blob] = api.clCreateBuffer(gpu_->context(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, size,
                                      bytes, &error);
    if (blobs_[blob] != nullptr) return CODL_OK;
  }
  // Also for drivers that cannot pin the read-only pages of a mapped file.
  blobs_[blob] = api.clCreateBuffer(gpu_->context(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size,
                                    bytes, &error);
  if (blobs_[blob] == nullptr) return cl_fault(diag, "clCreateBuffer (weights)", error);
  weight_copy_bytes_ += size;
  return CODL_OK;
}

// Tensors that begin at one place of the arena share a sub-buffer, as large as the largest of them:
// drivers keep track of sub-buffers that overlap, NVIDIA's at each launch (docs/DECISIONS.md,
// 2026-11-22).
codl_status_t GpuMemory::create_sub_buffers(Storage storage, cl_mem arena, codl_diag_t* diag) {
  if (arena == nullptr) return CODL_OK;
  const auto tensor = [this](uint32_t id) -> const plan::TensorDef& {
    return *variant_->tensors()->Get(id);
  };
  uint32_t count = 0;
  for (uint32_t i = 0; i < buffers_.count(); ++i)
    if (storage_of(tensor(i)) == storage) by_place_[count++] = i;
  std::sort(by_place_.data(), by_place_.data() + count, [&](uint32_t a, uint32_t b) {
    return tensor(a).offset_bytes() < tensor(b).offset_bytes();
  });
  for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
    cl_buffer_region region = {static_cast<size_t>(tensor(by_place_[begin]).offset_bytes()), 0};
    for (; end < count && tensor(by_place_[end]).offset_bytes() == region.origin; ++end)
      region.size = std::max(region.size, static_cast<size_t>(tensor(by_place_[end]).bytes()));
    cl_int error = CL_SUCCESS;
    const cl_mem sub_buffer = gpu_->api().clCreateSubBuffer(
        arena, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    if (sub_buffer == nullptr) return cl_fault(diag, "clCreateSubBuffer", error);
    sub_buffers_[sub_buffer_count_++] = sub_buffer;
    for (uint32_t i = begin; i < end; ++i) buffers_[by_place_[i]] = sub_buffer;
  }
  return CODL_OK;
}

codl_status_t GpuMemory::create_tensors(codl_diag_t* diag) {
  for (uint32_t i = 0; i < buffers_.count(); ++i) {
    const plan::TensorDef& tensor = *variant_->tensors()->Get(i);
    if (storage_of(tensor) == Storage::Image) buffers_[i] = images_[tensor.index()];
    if (storage_of(tensor) == Storage::Weights) buffers_[i] = blobs_[tensor.index()];
  }
  const codl_status_t status = create_sub_buffers(Storage::Device, device_arena_, diag);
  return status == CODL_OK ? create_sub_buffers(Storage::Shared, shared_arena_, diag) : status;
}

}  // namespace codl::rt
