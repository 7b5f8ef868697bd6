#include "runtime/src/gpu_device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "runtime/src/diag.h"
#include "schema/mix_bits.h"

namespace codl::rt {
namespace {

// More platforms or devices than this are not looked at.
constexpr cl_uint kMaxPlatforms = 16;
constexpr cl_uint kMaxDevices = 16;

bool contains(const char* text, const char* part) {
  return part == nullptr || std::strstr(text, part) != nullptr;
}

template <typename T>
bool get(const ClApi& api, cl_device_id device, cl_device_info what, T* out) {
  return api.clGetDeviceInfo(device, what, sizeof(T), out, nullptr) == CL_SUCCESS;
}

// A name longer than the buffer is lost: OpenCL writes all of it or none.
template <size_t size>
void get_name(const ClApi& api, cl_device_id device, char (&name)[size]) {
  if (api.clGetDeviceInfo(device, CL_DEVICE_NAME, size - 1, name, nullptr) != CL_SUCCESS)
    name[0] = 0;
}

template <size_t size>
void get_platform_name(const ClApi& api, cl_platform_id platform, char (&name)[size]) {
  if (api.clGetPlatformInfo(platform, CL_PLATFORM_NAME, size - 1, name, nullptr) != CL_SUCCESS)
    name[0] = 0;
}

bool is_usable(const ClApi& api, cl_device_id device) {
  cl_bool is_available = CL_FALSE;
  cl_bool has_compiler = CL_FALSE;
  cl_bool is_little_endian = CL_FALSE;
  return get(api, device, CL_DEVICE_AVAILABLE, &is_available) && is_available &&
         get(api, device, CL_DEVICE_COMPILER_AVAILABLE, &has_compiler) && has_compiler &&
         get(api, device, CL_DEVICE_ENDIAN_LITTLE, &is_little_endian) && is_little_endian;
}

// Reads the limits of a work-group.
bool read_group_limits(const ClApi& api, GpuDevice* out) {
  size_t items = 0;
  cl_ulong local_bytes = 0;
  cl_uint dim_count = 0;
  size_t sizes[8] = {};  // more dims than any device has
  if (!get(api, out->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &items) ||
      !get(api, out->device, CL_DEVICE_LOCAL_MEM_SIZE, &local_bytes) ||
      !get(api, out->device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, &dim_count) ||
      dim_count < std::size(out->max_group_sizes) ||
      !get(api, out->device, CL_DEVICE_MAX_WORK_ITEM_SIZES, &sizes))
    return false;
  out->max_group_items = items;
  std::copy(sizes, sizes + std::size(out->max_group_sizes), out->max_group_sizes);
  out->group_local_bytes = local_bytes;
  return true;
}

// Returns true if the device's list of extensions has that word. A list that is longer than the
// buffer counts as empty.
bool has_extension(const ClApi& api, cl_device_id device, const char* name) {
  char list[8192] = {};
  if (api.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(list) - 1, list, nullptr) !=
      CL_SUCCESS)
    return false;
  const size_t length = std::strlen(name);
  for (const char* found = std::strstr(list, name); found != nullptr;
       found = std::strstr(found + length, name))
    if ((found == list || found[-1] == ' ') && (found[length] == ' ' || found[length] == 0))
      return true;
  return false;
}

// Fills in the facts of a chosen device. False if one that OpenCL 1.2 promises cannot be had.
bool read_facts(const ClApi& api, GpuDevice* out) {
  cl_uint alignment_bits = 0;
  cl_ulong max_allocation = 0;
  cl_bool has_images = CL_FALSE;
  cl_bool is_unified = CL_FALSE;
  if (!get(api, out->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &alignment_bits) ||
      !get(api, out->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &max_allocation) ||
      !get(api, out->device, CL_DEVICE_IMAGE_SUPPORT, &has_images) ||
      !get(api, out->device, CL_DEVICE_HOST_UNIFIED_MEMORY, &is_unified) ||
      !read_group_limits(api, out))
    return false;
  out->base_alignment_bytes = std::max<uint64_t>(alignment_bits / 8, 1);
  out->max_allocation_bytes = max_allocation;
  out->has_host_memory = is_unified != CL_FALSE;
  size_t width = 0;
  size_t height = 0;
  if (has_images && get(api, out->device, CL_DEVICE_IMAGE2D_MAX_WIDTH, &width) &&
      get(api, out->device, CL_DEVICE_IMAGE2D_MAX_HEIGHT, &height)) {
    out->has_images = true;
    out->max_image_width = width;
    out->max_image_height = height;
  }
  // A device before OpenCL 2.0 does not know the question and has no SVM.
  cl_device_svm_capabilities svm = 0;
  out->has_fine_svm = get(api, out->device, CL_DEVICE_SVM_CAPABILITIES, &svm) &&
                      (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0 && api.clSVMAlloc != nullptr &&
                      api.clSVMFree != nullptr && api.clSetKernelArgSVMPointer != nullptr;
  out->has_svm_atomics = out->has_fine_svm && (svm & CL_DEVICE_SVM_ATOMICS) != 0;
  out->has_command_buffers = has_extension(api, out->device, "cl_khr_command_buffer");
  out->has_recordable_queues = has_extension(api, out->device, "cl_qcom_recordable_queues");
  return true;
}

// Writes "NAME on PLATFORM, ..." of all devices there are, as far as it fits.
template <size_t size>
void list_devices(const ClApi& api, const cl_platform_id* platforms, cl_uint platform_count,
                  char (&text)[size]) {
  size_t length = 0;
  text[0] = 0;
  for (cl_uint i = 0; i < platform_count; ++i) {
    GpuDevice named;
    get_platform_name(api, platforms[i], named.platform_name);
    cl_device_id devices[kMaxDevices];
    cl_uint count = 0;
    if (api.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, kMaxDevices, devices, &count) !=
        CL_SUCCESS)
      count = 0;
    for (cl_uint d = 0; d < std::max(std::min(count, kMaxDevices), 1u) && length < size; ++d) {
      if (count != 0) get_name(api, devices[d], named.device_name);
      const char* const note = count != 0 && !is_usable(api, devices[d]) ? " (unusable)" : "";
      const int written =
          std::snprintf(text + length, size - length, "%s%s%s on %s", length != 0 ? ", " : "",
                        count != 0 ? named.device_name : "none", note, named.platform_name);
      length += static_cast<size_t>(std::max(written, 0));
    }
  }
}

// Takes the platform's first usable device of the type whose name fits.
bool choose_on_platform(const ClApi& api, cl_platform_id platform, cl_device_type type,
                        const char* device_part, GpuDevice* out) {
  cl_device_id devices[kMaxDevices];
  cl_uint count = 0;
  if (api.clGetDeviceIDs(platform, type, kMaxDevices, devices, &count) != CL_SUCCESS) return false;
  for (cl_uint i = 0; i < std::min(count, kMaxDevices); ++i) {
    get_name(api, devices[i], out->device_name);
    out->device = devices[i];
    if (contains(out->device_name, device_part) && is_usable(api, devices[i]) &&
        read_facts(api, out))
      return true;
  }
  return false;
}

}  // namespace

codl_status_t choose_device(const ClApi& api, const char* platform_part, const char* device_part,
                            GpuDevice* out_device, codl_diag_t* diag) {
  cl_platform_id platforms[kMaxPlatforms];
  cl_uint count = 0;
  // The ICD loader answers with an error where no driver is installed.
  if (api.clGetPlatformIDs(kMaxPlatforms, platforms, &count) != CL_SUCCESS) count = 0;
  for (const cl_device_type type :
       {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    for (cl_uint i = 0; i < std::min(count, kMaxPlatforms); ++i) {
      GpuDevice device;
      device.platform = platforms[i];
      get_platform_name(api, platforms[i], device.platform_name);
      if (contains(device.platform_name, platform_part) &&
          choose_on_platform(api, platforms[i], type, device_part, &device)) {
        *out_device = device;
        return CODL_OK;
      }
    }
  }
  char found[160] = "no platform (no OpenCL driver is installed)";
  if (count != 0) list_devices(api, platforms, std::min(count, kMaxPlatforms), found);
  set_diag(diag, "OpenCL: expected a device%s%s on a platform%s%s, found %s",
           device_part != nullptr ? " like " : "", device_part != nullptr ? device_part : "",
           platform_part != nullptr ? " like " : "", platform_part != nullptr ? platform_part : "",
           found);
  return CODL_NO_DEVICE;
}

uint64_t driver_hash(const ClApi& api, const GpuDevice& device) {
  char driver[256] = {};
  if (api.clGetDeviceInfo(device.device, CL_DRIVER_VERSION, sizeof(driver) - 1, driver, nullptr) !=
      CL_SUCCESS)
    driver[0] = 0;
  const uint64_t hash = add_to_fnv(kFnvStart, device.platform_name);
  return add_to_fnv(add_to_fnv(hash, device.device_name), driver);
}

codl_status_t check_device(const GpuDevice& device, const plan::VariantDef& variant,
                           codl_diag_t* diag) {
  const char* name = device.device_name;
  if (sharing_of(variant) == Sharing::FineSvm && !device.has_fine_svm) {
    set_diag(diag, "device %s has no fine-grained SVM", name);
    return CODL_NO_DEVICE;
  }
  const uint64_t largest = std::max(variant.shared_bytes(), variant.device_bytes());
  if (largest > device.max_allocation_bytes) {
    set_diag(diag, "device %s: expected allocations of %llu bytes, found a limit of %llu", name,
             static_cast<unsigned long long>(largest),
             static_cast<unsigned long long>(device.max_allocation_bytes));
    return CODL_NO_DEVICE;
  }
  for (const plan::ImageDef* image : *variant.images()) {
    if (!device.has_images) {
      set_diag(diag, "device %s has no images", name);
      return CODL_NO_DEVICE;
    }
    if (image->width() > device.max_image_width || image->height() > device.max_image_height) {
      set_diag(diag, "device %s: expected images of %u x %u, found a limit of %llu x %llu", name,
               image->width(), image->height(),
               static_cast<unsigned long long>(device.max_image_width),
               static_cast<unsigned long long>(device.max_image_height));
      return CODL_NO_DEVICE;
    }
  }
  for (const plan::TensorDef* tensor : *variant.tensors()) {
    const bool is_sub_buffer =
        storage_of(*tensor) == Storage::Device ||
        (storage_of(*tensor) == Storage::Shared && sharing_of(variant) == Sharing::SubBuffer);
    if (is_sub_buffer && tensor->offset_bytes() % device.base_alignment_bytes != 0) {
      set_diag(diag, "device %s: expected offset %llu of %s to be a multiple of %llu", name,
               static_cast<unsigned long long>(tensor->offset_bytes()), tensor->name()->c_str(),
               static_cast<unsigned long long>(device.base_alignment_bytes));
      return CODL_NO_DEVICE;
    }
  }
  return CODL_OK;
}

}  // namespace codl::rt
