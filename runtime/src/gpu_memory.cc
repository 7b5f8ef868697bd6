#include "runtime/src/gpu_memory.h"

#include <algorithm>

#include "runtime/src/diag.h"
#include "schema/plan_layout.h"
#include "schema/types.h"

namespace codl::rt {

namespace {

// Images of I8 hold bytes as their distances from the lowest. All formats are among those that
// every device with images has (OpenCL 1.2, table 5.8).
struct ImageKind {
  DType dtype;
  cl_channel_type channel;
};
constexpr ImageKind kImageKinds[GpuMemory::kImageKindCount] = {
    {DType::F32, CL_FLOAT}, {DType::F16, CL_HALF_FLOAT}, {DType::I8, CL_UNORM_INT8}};

size_t kind_of(const plan::ImageDef& image) {
  size_t kind = 0;
  while (kImageKinds[kind].dtype != static_cast<DType>(image.dtype())) ++kind;
  return kind;
}

// The images of a session are those of its variants with the most, by dtype.
uint32_t image_count_of(const VariantList& variants, DType dtype) {
  uint32_t most = 0;
  for (const plan::VariantDef* variant : variants) {
    uint32_t count = 0;
    for (const plan::ImageDef* image : *variant->images())
      count += static_cast<DType>(image->dtype()) == dtype ? 1 : 0;
    most = std::max(most, count);
  }
  return most;
}

// The k-th image of a dtype is as wide and as high as the k-th of any variant needs it.
void size_images(const VariantList& variants, DType dtype, ImageSize* out_images, uint32_t count) {
  std::fill_n(out_images, count, ImageSize());
  for (const plan::VariantDef* variant : variants) {
    ImageSize* size = out_images;
    for (const plan::ImageDef* image : *variant->images()) {
      if (static_cast<DType>(image->dtype()) != dtype) continue;
      size->width = std::max(size->width, image->width());
      size->height = std::max(size->height, image->height());
      ++size;
    }
  }
}

// Drivers pad rows. One that does not say what an image takes, or less than its texels, is not
// asked any further.
uint64_t held_by_image(const ClApi& api, cl_mem image, const ImageSize& size, DType dtype) {
  size_t bytes = 0;
  if (api.clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr) != CL_SUCCESS)
    bytes = 0;
  return std::max<uint64_t>(bytes, image_bytes(size.width, size.height, dtype, 1));
}

}  // namespace

void* GpuTensors::pointer_of(uint32_t tensor) const {
  const plan::TensorDef& def = *variant->tensors()->Get(tensor);
  return storage_of(def) == Storage::Shared && svm != nullptr ? svm + def.offset_bytes() : nullptr;
}

codl_status_t GpuMemory::create(const codl_allocator_t& allocator, GpuQueue& gpu,
                                const codl_plan& plan, const VariantList& variants,
                                codl_diag_t* diag) {
  gpu_ = &gpu;
  plan_ = &plan;
  variants_ = variants;
  const size_t tensor_count = first_tensor_of(variants.count);
  uint32_t image_count = 0;  // the most that a variant has
  for (const plan::VariantDef* variant : variants)
    image_count = std::max(image_count, variant->images()->size());
  Array<ImageSize> sizes;  // create_images() works in this, create_tensors() in the next
  Array<cl_mem> images;
  bool has_room = true;
  for (size_t k = 0; k < kImageKindCount; ++k)
    has_room =
        has_room && images_[k].allocate(allocator, image_count_of(variants, kImageKinds[k].dtype));
  if (!has_room || !sizes.allocate(allocator, image_count) ||
      !images.allocate(allocator, image_count) ||
      !blobs_.allocate(allocator, plan.def->blobs()->size()) ||
      !sub_buffers_.allocate(allocator, tensor_count) ||
      !by_place_.allocate(allocator, tensor_count) || !buffers_.allocate(allocator, tensor_count)) {
    set_diag(diag, "no memory for the OpenCL objects of %zu tensors", tensor_count);
    return CODL_OUT_OF_MEMORY;
  }
  codl_status_t status = create_arenas(diag);
  if (status == CODL_OK) status = create_images(sizes.data(), diag);
  for (size_t i = 0; i < variants.count && status == CODL_OK; ++i)
    status = create_weights(*variants.items[i], diag);
  if (status == CODL_OK) status = create_tensors(images.data(), diag);
  return status;
}

size_t GpuMemory::first_tensor_of(size_t index) const {
  size_t count = 0;
  for (size_t i = 0; i < index; ++i) count += variants_.items[i]->tensors()->size();
  return count;
}

GpuTensors GpuMemory::tensors_of(size_t index) const {
  const plan::VariantDef* variant = variants_.items[index];
  return {variant, buffers_.data() + first_tensor_of(index),
          sharing_of(*variant) == Sharing::FineSvm ? svm_ : nullptr};
}

void GpuMemory::release() {
  if (gpu_ == nullptr) return;
  const bool is_idle = gpu_->drain();
  const ClApi& api = gpu_->api();
  const auto release_object = [&api](cl_mem& object) {
    if (object != nullptr) api.clReleaseMemObject(object);
    object = nullptr;
  };
  // Last made, first released: NVIDIA's driver 580 crashes otherwise, if sub-buffers overlap.
  for (; sub_buffer_count_ != 0; --sub_buffer_count_)
    release_object(sub_buffers_[sub_buffer_count_ - 1]);
  for (cl_mem& blob : blobs_) release_object(blob);
  for (const Array<cl_mem>& images : images_)
    for (cl_mem& image : images) release_object(image);
  release_object(shared_arena_);
  release_object(device_arena_);
  if (svm_ != nullptr && is_idle) api.clSVMFree(gpu_->context(), svm_);
  svm_ = nullptr;
}

codl_status_t GpuMemory::create_arenas(codl_diag_t* diag) {
  const ClApi& api = gpu_->api();
  cl_int error = CL_SUCCESS;
  // The FineSvm variants share one arena, the SubBuffer variants another.
  size_t svm_bytes = 0, buffer_bytes = 0, device_bytes = 0;
  for (const plan::VariantDef* variant : variants_) {
    size_t& shared_bytes = sharing_of(*variant) == Sharing::FineSvm ? svm_bytes : buffer_bytes;
    shared_bytes = std::max(shared_bytes, static_cast<size_t>(variant->shared_bytes()));
    device_bytes = std::max(device_bytes, static_cast<size_t>(variant->device_bytes()));
  }
  if (svm_bytes != 0) {
    // Alignment 0 stands for that of the largest OpenCL type, 128 bytes.
    svm_ = static_cast<uint8_t*>(api.clSVMAlloc(
        gpu_->context(), CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, svm_bytes, 0));
    if (svm_ == nullptr) {
      set_diag(diag, "clSVMAlloc: no memory for a shared arena of %zu bytes", svm_bytes);
      return CODL_DEVICE_ERROR;
    }
    // Touching the pages now spares the runs page faults.
    __builtin_memset(svm_, 0, svm_bytes);
  }
  if (buffer_bytes != 0) {
    shared_arena_ = api.clCreateBuffer(gpu_->context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       buffer_bytes, nullptr, &error);
    if (shared_arena_ == nullptr) return cl_fault(diag, "clCreateBuffer (shared arena)", error);
  }
  shared_bytes_ = svm_bytes + buffer_bytes;
  if (device_bytes != 0) {
    device_arena_ =
        api.clCreateBuffer(gpu_->context(), CL_MEM_READ_WRITE, device_bytes, nullptr, &error);
    if (device_arena_ == nullptr) return cl_fault(diag, "clCreateBuffer (device arena)", error);
  }
  device_bytes_ = device_bytes;
  return CODL_OK;
}

codl_status_t GpuMemory::create_images(ImageSize* sizes, codl_diag_t* diag) {
  for (size_t k = 0; k < kImageKindCount; ++k) {
    const auto count = static_cast<uint32_t>(images_[k].count());
    size_images(variants_, kImageKinds[k].dtype, sizes, count);
    for (uint32_t i = 0; i < count; ++i) {
      const ImageSize& image = sizes[i];
      const cl_image_format format = {CL_RGBA, kImageKinds[k].channel};
      cl_image_desc desc = {};
      desc.image_type = CL_MEM_OBJECT_IMAGE2D;
      desc.image_width = image.width;
      desc.image_height = image.height;
      cl_int error = CL_SUCCESS;
      cl_mem& made = images_[k][i];
      made = gpu_->api().clCreateImage(gpu_->context(), CL_MEM_READ_WRITE, &format, &desc, nullptr,
                                       &error);
      if (made == nullptr) return cl_fault(diag, "clCreateImage", error);
      image_bytes_ += held_by_image(gpu_->api(), made, image, kImageKinds[k].dtype);
    }
  }
  return CODL_OK;
}

codl_status_t GpuMemory::create_weights(const plan::VariantDef& variant, codl_diag_t* diag) {
  for (const plan::StepDef* step : *variant.steps()) {
    if (queue_of(*step) == Queue::Cpu) continue;
    for (uint32_t tensor : *step->operands()) {
      const plan::TensorDef& def = *variant.tensors()->Get(tensor);
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
  // Drivers that cannot pin the read-only pages of a mapped file come here, too.
  blobs_[blob] = api.clCreateBuffer(gpu_->context(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size,
                                    bytes, &error);
  if (blobs_[blob] == nullptr) return cl_fault(diag, "clCreateBuffer (weights)", error);
  weight_copy_bytes_ += size;
  return CODL_OK;
}

// Tensors that begin at one place of the arena, of whichever variant, share a sub-buffer, as large
// as the largest of them: drivers keep track of sub-buffers that overlap, NVIDIA's at each launch
// (docs/design/decisions.md, "Device tensors take turns in whole places").
codl_status_t GpuMemory::create_sub_buffers(Storage storage, cl_mem arena, codl_diag_t* diag) {
  if (arena == nullptr) return CODL_OK;
  const auto offset_of = [this](const Place& place) { return tensor_at(place).offset_bytes(); };
  size_t count = 0;
  for (uint32_t v = 0; v < variants_.count; ++v) {
    const plan::VariantDef& variant = *variants_.items[v];
    // The shared arena of FineSvm is no buffer.
    if (storage == Storage::Shared && sharing_of(variant) == Sharing::FineSvm) continue;
    for (uint32_t i = 0; i < variant.tensors()->size(); ++i)
      if (storage_of(*variant.tensors()->Get(i)) == storage) by_place_[count++] = {v, i};
  }
  // A heap sort takes a third of the code of std::sort.
  const auto is_before = [&](const Place& a, const Place& b) {
    return offset_of(a) < offset_of(b);
  };
  std::make_heap(by_place_.data(), by_place_.data() + count, is_before);
  std::sort_heap(by_place_.data(), by_place_.data() + count, is_before);
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    cl_buffer_region region = {static_cast<size_t>(offset_of(by_place_[begin])), 0};
    for (; end < count && offset_of(by_place_[end]) == region.origin; ++end)
      region.size = std::max(region.size, static_cast<size_t>(tensor_at(by_place_[end]).bytes()));
    cl_int error = CL_SUCCESS;
    const cl_mem sub_buffer = gpu_->api().clCreateSubBuffer(
        arena, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    if (sub_buffer == nullptr) return cl_fault(diag, "clCreateSubBuffer", error);
    sub_buffers_[sub_buffer_count_++] = sub_buffer;
    for (size_t i = begin; i < end; ++i)
      buffers_[first_tensor_of(by_place_[i].variant) + by_place_[i].tensor] = sub_buffer;
  }
  return CODL_OK;
}

codl_status_t GpuMemory::create_tensors(cl_mem* images, codl_diag_t* diag) {
  cl_mem* buffer = buffers_.data();
  for (const plan::VariantDef* variant : variants_) {
    uint32_t counts[kImageKindCount] = {};
    for (uint32_t i = 0; i < variant->images()->size(); ++i) {
      const size_t kind = kind_of(*variant->images()->Get(i));
      images[i] = images_[kind][counts[kind]++];
    }
    for (const plan::TensorDef* tensor : *variant->tensors()) {
      if (storage_of(*tensor) == Storage::Image) {
        *buffer = images[tensor->index()];
      } else if (storage_of(*tensor) == Storage::Weights) {
        *buffer = blobs_[tensor->index()];
      }
      ++buffer;
    }
  }
  const codl_status_t status = create_sub_buffers(Storage::Device, device_arena_, diag);
  return status == CODL_OK ? create_sub_buffers(Storage::Shared, shared_arena_, diag) : status;
}

}  // namespace codl::rt
