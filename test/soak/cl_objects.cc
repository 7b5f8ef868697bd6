#include "test/soak/cl_objects.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

namespace codl::test {
namespace {

std::atomic<int64_t> alive{0};
std::atomic<int64_t> made{0};
cl_icd_dispatch driver;   // called by the layer
cl_icd_dispatch counted;  // called by the loader: the driver's functions, except for those below

void count_made() {
  ++alive;
  ++made;
}

// An event that the caller asked for is an object, too. A list of events to wait for is `const
// cl_event*`.
template <typename Argument>
void count_event(Argument argument) {
  if constexpr (std::is_same_v<Argument, cl_event*>)
    if (argument != nullptr) count_made();
}

// These functions of OpenCL count and call the driver's `kFunction`.
template <auto kFunction, typename Type>
struct Counted;
template <auto kFunction, typename Result, typename... Arguments>
struct Counted<kFunction, Result (CL_API_CALL* cl_icd_dispatch::*)(Arguments...)> {
  static Result CL_API_CALL create(Arguments... arguments) {
    const Result object = (driver.*kFunction)(arguments...);
    if (object != nullptr) count_made();
    return object;
  }
  static Result CL_API_CALL release(Arguments... arguments) {
    const Result error = (driver.*kFunction)(arguments...);
    if (error == CL_SUCCESS) --alive;
    return error;
  }
  static Result CL_API_CALL retain(Arguments... arguments) {
    const Result error = (driver.*kFunction)(arguments...);
    if (error == CL_SUCCESS) ++alive;
    return error;
  }
  static Result CL_API_CALL enqueue(Arguments... arguments) {
    const Result result = (driver.*kFunction)(arguments...);
    bool is_done = false;
    if constexpr (std::is_pointer_v<Result>)  // a map returns a pointer
      is_done = result != nullptr;
    else
      is_done = result == CL_SUCCESS;
    if (is_done) (count_event(arguments), ...);
    return result;
  }
};

template <auto kFunction>
using Of = Counted<kFunction, decltype(kFunction)>;

// Recordings are made by functions of the platform's extension, which the loader has no table for.
// The program uses one platform.
clCreateCommandBufferKHR_fn create_recording;
clReleaseCommandBufferKHR_fn release_recording;
clEnqueueCommandBufferKHR_fn enqueue_recording;

void* CL_API_CALL extension_function(cl_platform_id platform, const char* name) {
  void* const found = driver.clGetExtensionFunctionAddressForPlatform(platform, name);
  if (found == nullptr) return nullptr;
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("clCreateCommandBufferKHR")) {
    create_recording = reinterpret_cast<clCreateCommandBufferKHR_fn>(found);
    const clCreateCommandBufferKHR_fn function = [](auto... arguments) {
      const cl_command_buffer_khr object = create_recording(arguments...);
      if (object != nullptr) count_made();
      return object;
    };
    return reinterpret_cast<void*>(function);
  }
  if (is("clReleaseCommandBufferKHR")) {
    release_recording = reinterpret_cast<clReleaseCommandBufferKHR_fn>(found);
    const clReleaseCommandBufferKHR_fn function = [](auto... arguments) {
      const cl_int error = release_recording(arguments...);
      if (error == CL_SUCCESS) --alive;
      return error;
    };
    return reinterpret_cast<void*>(function);
  }
  if (is("clEnqueueCommandBufferKHR")) {
    enqueue_recording = reinterpret_cast<clEnqueueCommandBufferKHR_fn>(found);
    const clEnqueueCommandBufferKHR_fn function = [](auto... arguments) {
      const cl_int error = enqueue_recording(arguments...);
      if (error == CL_SUCCESS) (count_event(arguments), ...);
      return error;
    };
    return reinterpret_cast<void*>(function);
  }
  return found;
}

// Counts for everything of OpenCL 1.2 that the runtime calls (runtime/src/cl_api.h), and for
// functions that a driver's own tools may call instead.
void count_functions() {
#define CODL_COUNT(name, effect) counted.name = Of<&cl_icd_dispatch::name>::effect;
  CODL_COUNT(clCreateContext, create)
  CODL_COUNT(clCreateContextFromType, create)
  CODL_COUNT(clRetainContext, retain)
  CODL_COUNT(clReleaseContext, release)
  CODL_COUNT(clCreateCommandQueue, create)
  CODL_COUNT(clCreateCommandQueueWithProperties, create)
  CODL_COUNT(clRetainCommandQueue, retain)
  CODL_COUNT(clReleaseCommandQueue, release)
  CODL_COUNT(clCreateBuffer, create)
  CODL_COUNT(clCreateSubBuffer, create)
  CODL_COUNT(clCreateImage, create)
  CODL_COUNT(clRetainMemObject, retain)
  CODL_COUNT(clReleaseMemObject, release)
  CODL_COUNT(clCreateProgramWithSource, create)
  CODL_COUNT(clCreateProgramWithBinary, create)
  CODL_COUNT(clRetainProgram, retain)
  CODL_COUNT(clReleaseProgram, release)
  CODL_COUNT(clCreateKernel, create)
  CODL_COUNT(clRetainKernel, retain)
  CODL_COUNT(clReleaseKernel, release)
  CODL_COUNT(clSVMAlloc, create)
  CODL_COUNT(clCreateUserEvent, create)
  CODL_COUNT(clRetainEvent, retain)
  CODL_COUNT(clReleaseEvent, release)
  CODL_COUNT(clEnqueueNDRangeKernel, enqueue)
  CODL_COUNT(clEnqueueMapBuffer, enqueue)
  CODL_COUNT(clEnqueueUnmapMemObject, enqueue)
  CODL_COUNT(clEnqueueReadBuffer, enqueue)
  CODL_COUNT(clEnqueueReadImage, enqueue)
  CODL_COUNT(clEnqueueWriteBuffer, enqueue)
  CODL_COUNT(clEnqueueWriteImage, enqueue)
  CODL_COUNT(clEnqueueReadBufferRect, enqueue)
  CODL_COUNT(clEnqueueWriteBufferRect, enqueue)
  CODL_COUNT(clEnqueueMarkerWithWaitList, enqueue)
#undef CODL_COUNT
  counted.clGetExtensionFunctionAddressForPlatform = extension_function;
  // This is the only release without a result.
  counted.clSVMFree = [](cl_context context, void* memory) {
    driver.clSVMFree(context, memory);
    if (memory != nullptr) --alive;
  };
}

}  // namespace

void count_cl_objects() {
  Dl_info library;
  if (dladdr(reinterpret_cast<const void*>(&clInitLayer), &library) != 0)
    setenv("OPENCL_LAYERS", library.dli_fname, /*overwrite=*/0);
}

ClObjects cl_objects() { return {alive, made}; }

bool leak_cl_object() {
  void* const opencl = dlopen("libOpenCL.so.1", RTLD_NOW);
  if (opencl == nullptr) return false;
  const auto platforms =
      reinterpret_cast<decltype(&clGetPlatformIDs)>(dlsym(opencl, "clGetPlatformIDs"));
  const auto devices = reinterpret_cast<decltype(&clGetDeviceIDs)>(dlsym(opencl, "clGetDeviceIDs"));
  const auto create =
      reinterpret_cast<decltype(&clCreateContext)>(dlsym(opencl, "clCreateContext"));
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  return platforms(1, &platform, nullptr) == CL_SUCCESS &&
         devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS &&
         create(nullptr, 1, &device, nullptr, nullptr, nullptr) != nullptr;
}

}  // namespace codl::test

// A loader asks a layer for this function.
cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t bytes, void* value,
                                  size_t* out_bytes) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  static const char kName[] = "objects that live";
  const bool is_version = name == CL_LAYER_API_VERSION;
  if (!is_version && name != CL_LAYER_NAME) return CL_INVALID_VALUE;
  const void* const known = is_version ? static_cast<const void*>(&version) : kName;
  const size_t known_bytes = is_version ? sizeof(version) : sizeof(kName);
  if (value != nullptr && bytes < known_bytes) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, known, known_bytes);
  if (out_bytes != nullptr) *out_bytes = known_bytes;
  return CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* below, cl_uint* out_entries,
                               const cl_icd_dispatch** out_layer) {
  constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
  std::memcpy(static_cast<void*>(&codl::test::driver), below,
              std::min(entries, kEntries) * sizeof(void*));
  codl::test::counted = codl::test::driver;
  codl::test::count_functions();
  *out_entries = kEntries;
  *out_layer = &codl::test::counted;
  return CL_SUCCESS;
}
