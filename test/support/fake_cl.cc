#include "test/support/fake_cl.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace codl::test {

FakeBytes& held_by(FakeCl& fake) { return fake.held_; }
int& marker_waits_of(FakeCl& fake) { return fake.marker_waits_; }

namespace {

FakeCl* current = nullptr;

// ---- the simulated device -----------------------------------------------------------------------

struct Object {
  std::vector<unsigned char> memory;   // contents of a buffer or image
  unsigned char* data = nullptr;       // its first byte; a sub-buffer's is in the parent
  int64_t FakeBytes::*kind = nullptr;  // the counter of its bytes
};

// It is never destroyed: tests count what is alive, and a driver that is late keeps what it has.
std::set<Object*>& live_objects() {
  static auto* const all = new std::set<Object*>;
  return *all;
}

template <typename Handle>
Handle make_object(cl_int* error, size_t bytes = 0) {
  auto* object = new Object;
  live_objects().insert(object);
  object->memory.resize(bytes);
  object->data = object->memory.data();
  if (error != nullptr) *error = CL_SUCCESS;
  return reinterpret_cast<Handle>(object);
}
template <typename Handle>
cl_int release_object(Handle handle) {
  live_objects().erase(reinterpret_cast<Object*>(handle));
  delete reinterpret_cast<Object*>(handle);
  return CL_SUCCESS;
}
Object& object_of(cl_mem memory) { return *reinterpret_cast<Object*>(memory); }

cl_mem make_memory(int64_t FakeBytes::*kind, size_t bytes, cl_int* error) {
  const cl_mem memory = make_object<cl_mem>(error, bytes);
  object_of(memory).kind = kind;
  held_by(*current).*kind += static_cast<int64_t>(bytes);
  return memory;
}
cl_int release_memory(cl_mem memory) {
  const Object& object = object_of(memory);
  if (object.kind != nullptr)
    held_by(*current).*object.kind -= static_cast<int64_t>(object.memory.size());
  return release_object(memory);
}

size_t image_bytes(const cl_image_format& format, const cl_image_desc& desc) {
  const size_t row_texels = current->device.image_row_texels;
  const cl_channel_type type = format.image_channel_data_type;
  const size_t channel_bytes = type == CL_UNORM_INT8 ? 1 : type == CL_HALF_FLOAT ? 2 : 4;
  return (desc.image_width + row_texels - 1) / row_texels * row_texels * desc.image_height * 4 *
         channel_bytes;
}

// Keeps sizes of clSVMAlloc's memory, because clSVMFree gets none.
std::map<void*, size_t>& svm_sizes() {
  static std::map<void*, size_t> sizes;
  return sizes;
}

// Keeps pointers with a Map that nobody has waited for.
std::set<void*>& early_maps() {
  static std::set<void*> maps;
  return maps;
}

int platform_tag;
int device_tag;

template <typename T>
cl_int answer(size_t size, void* out, size_t* out_size, const T& value) {
  if (out_size != nullptr) *out_size = sizeof(value);
  if (out != nullptr) {
    if (size < sizeof(value)) return CL_INVALID_VALUE;
    std::memcpy(out, &value, sizeof(value));
  }
  return CL_SUCCESS;
}
cl_int answer_text(size_t size, void* out, size_t* out_size, std::string_view text) {
  if (out_size != nullptr) *out_size = text.size() + 1;
  if (out != nullptr) {
    if (size < text.size() + 1) return CL_INVALID_VALUE;
    std::memcpy(out, text.data(), text.size());
    static_cast<char*>(out)[text.size()] = 0;
  }
  return CL_SUCCESS;
}

cl_int get_device_info(cl_device_id, cl_device_info what, size_t size, void* out,
                       size_t* out_size) {
  const FakeDevice& device = current->device;
  switch (what) {
    case CL_DEVICE_EXTENSIONS:
      return answer_text(size, out, out_size, device.extensions);
    case rt::kRecordableQueueMaxSizeQcom:
      return answer(size, out, out_size, device.most_recorded);
    case CL_DEVICE_NAME:
      return answer_text(size, out, out_size, "fake device");
    case CL_DEVICE_TYPE:
      return answer(size, out, out_size, device.type);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
      return answer(size, out, out_size, cl_bool{CL_TRUE});
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
      return answer(size, out, out_size, device.base_alignment_bits);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return answer(size, out, out_size, device.max_allocation_bytes);
    case CL_DEVICE_IMAGE_SUPPORT:
      return answer(size, out, out_size, cl_bool{device.has_images});
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
      return answer(size, out, out_size, device.max_image_side);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return answer(size, out, out_size, device.max_group_items);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
      return answer(size, out, out_size, cl_uint{3});
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
      return answer(size, out, out_size, std::array<size_t, 3>{device.max_group_side, 1024, 64});
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return answer(size, out, out_size, device.group_local_bytes);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
      return answer(size, out, out_size, cl_bool{device.has_host_memory});
    case CL_DEVICE_SVM_CAPABILITIES: {
      const cl_device_svm_capabilities svm =
          (device.has_fine_svm ? CL_DEVICE_SVM_FINE_GRAIN_BUFFER : 0) |
          (device.has_svm_atomics ? CL_DEVICE_SVM_ATOMICS : 0);
      return answer(size, out, out_size, svm);
    }
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int make_event(cl_event* out_event) {
  if (out_event != nullptr) *out_event = make_object<cl_event>(nullptr);
  return CL_SUCCESS;
}

rt::ClApi simulated_api() {
  rt::ClApi api;
  api.clGetPlatformIDs = [](cl_uint, cl_platform_id* out, cl_uint* count) {
    *count = current->device.has_platform ? 1 : 0;
    if (out != nullptr) out[0] = reinterpret_cast<cl_platform_id>(&platform_tag);
    return cl_int{CL_SUCCESS};
  };
  api.clGetPlatformInfo = [](cl_platform_id, cl_platform_info, size_t size, void* out,
                             size_t* out_size) {
    return answer_text(size, out, out_size, "fake platform");
  };
  api.clGetDeviceIDs = [](cl_platform_id, cl_device_type type, cl_uint, cl_device_id* out,
                          cl_uint* count) {
    const FakeDevice& device = current->device;
    if (!device.has_device || (type & device.type) == 0) return cl_int{CL_DEVICE_NOT_FOUND};
    *count = 1;
    if (out != nullptr) out[0] = reinterpret_cast<cl_device_id>(&device_tag);
    return cl_int{CL_SUCCESS};
  };
  api.clGetDeviceInfo = get_device_info;
  api.clCreateContext = [](const cl_context_properties*, cl_uint, const cl_device_id*,
                           void (*)(const char*, const void*, size_t, void*), void*,
                           cl_int* error) { return make_object<cl_context>(error); };
  api.clReleaseContext = release_object<cl_context>;
  api.clCreateCommandQueue = [](cl_context, cl_device_id, cl_command_queue_properties,
                                cl_int* error) { return make_object<cl_command_queue>(error); };
  api.clReleaseCommandQueue = release_object<cl_command_queue>;
  api.clCreateBuffer = [](cl_context, cl_mem_flags flags, size_t size, void* data, cl_int* error) {
    if ((flags & CL_MEM_USE_HOST_PTR) != 0) {
      const cl_mem in_place = make_object<cl_mem>(error);
      object_of(in_place).data = static_cast<unsigned char*>(data);
      return in_place;
    }
    return make_memory((flags & CL_MEM_ALLOC_HOST_PTR) != 0  ? &FakeBytes::host_visible
                       : (flags & CL_MEM_COPY_HOST_PTR) != 0 ? &FakeBytes::copied
                                                             : &FakeBytes::other_buffers,
                       size, error);
  };
  api.clCreateSubBuffer = [](cl_mem parent, cl_mem_flags, cl_buffer_create_type, const void* region,
                             cl_int* error) {
    const cl_mem sub_buffer = make_object<cl_mem>(error);
    object_of(sub_buffer).data =
        object_of(parent).data + static_cast<const cl_buffer_region*>(region)->origin;
    return sub_buffer;
  };
  api.clCreateImage = [](cl_context, cl_mem_flags, const cl_image_format* format,
                         const cl_image_desc* desc, void*, cl_int* error) {
    return make_memory(&FakeBytes::images, image_bytes(*format, *desc), error);
  };
  api.clGetMemObjectInfo = [](cl_mem memory, cl_mem_info what, size_t size, void* out,
                              size_t* out_size) {
    if (what != CL_MEM_SIZE) return cl_int{CL_INVALID_VALUE};
    return answer(size, out, out_size, object_of(memory).memory.size());
  };
  api.clReleaseMemObject = release_memory;
  api.clCreateProgramWithSource = [](cl_context, cl_uint, const char**, const size_t*,
                                     cl_int* error) { return make_object<cl_program>(error); };
  api.clCreateProgramWithBinary = [](cl_context, cl_uint, const cl_device_id*, const size_t*,
                                     const unsigned char**, cl_int*,
                                     cl_int* error) { return make_object<cl_program>(error); };
  // The binary of one device has four bytes.
  api.clGetProgramInfo = [](cl_program, cl_program_info what, size_t size, void* out,
                            size_t* out_size) {
    if (what == CL_PROGRAM_BINARY_SIZES) return answer(size, out, out_size, size_t{4});
    std::memcpy(*static_cast<unsigned char**>(out), "fake", 4);
    return cl_int{CL_SUCCESS};
  };
  api.clBuildProgram = [](cl_program, cl_uint, const cl_device_id*, const char*,
                          void (*)(cl_program, void*), void*) { return cl_int{CL_SUCCESS}; };
  api.clGetProgramBuildInfo = [](cl_program, cl_device_id, cl_program_build_info, size_t size,
                                 void* out, size_t* out_size) {
    return answer_text(size, out, out_size, "1 warning\nfake.cl:1: error: as the test asked");
  };
  api.clReleaseProgram = release_object<cl_program>;
  api.clCreateKernel = [](cl_program, const char*, cl_int* error) {
    return make_object<cl_kernel>(error);
  };
  api.clReleaseKernel = release_object<cl_kernel>;
  api.clGetKernelWorkGroupInfo = [](cl_kernel, cl_device_id, cl_kernel_work_group_info what,
                                    size_t size, void* out, size_t* out_size) {
    const FakeDevice& device = current->device;
    return what == CL_KERNEL_LOCAL_MEM_SIZE
               ? answer(size, out, out_size, device.kernel_local_bytes)
               : answer(size, out, out_size, device.kernel_group_items);
  };
  api.clSetKernelArg = [](cl_kernel, cl_uint, size_t, const void*) { return cl_int{CL_SUCCESS}; };
  api.clSetKernelArgSVMPointer = [](cl_kernel, cl_uint, const void*) { return cl_int{CL_SUCCESS}; };
  api.clEnqueueNDRangeKernel = [](cl_command_queue, cl_kernel, cl_uint, const size_t*,
                                  const size_t*, const size_t* local, cl_uint, const cl_event*,
                                  cl_event* event) {
    const FakeDevice& device = current->device;
    if (local != nullptr && local[0] * local[1] * local[2] > device.kernel_group_items)
      return cl_int{CL_INVALID_WORK_GROUP_SIZE};
    if (device.kernel_local_bytes > device.group_local_bytes) return cl_int{CL_OUT_OF_RESOURCES};
    return make_event(event);
  };
  api.clEnqueueMapBuffer = [](cl_command_queue, cl_mem memory, cl_bool, cl_map_flags, size_t,
                              size_t, cl_uint, const cl_event*, cl_event* event, cl_int* error) {
    *error = make_event(event);
    early_maps().insert(object_of(memory).data);
    return static_cast<void*>(object_of(memory).data);
  };
  api.clEnqueueUnmapMemObject = [](cl_command_queue, cl_mem, void* mapped, cl_uint, const cl_event*,
                                   cl_event* event) {
    if (!current->device.takes_early_unmap && early_maps().count(mapped) != 0)
      return cl_int{CL_INVALID_VALUE};
    return make_event(event);
  };
  api.clEnqueueReadBuffer = [](cl_command_queue, cl_mem, cl_bool, size_t, size_t, void*, cl_uint,
                               const cl_event*, cl_event* event) { return make_event(event); };
  api.clEnqueueReadImage = [](cl_command_queue, cl_mem, cl_bool, const size_t*, const size_t*,
                              size_t, size_t, void*, cl_uint, const cl_event*,
                              cl_event* event) { return make_event(event); };
  api.clEnqueueWriteBuffer = [](cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void*,
                                cl_uint, const cl_event*,
                                cl_event* event) { return make_event(event); };
  api.clEnqueueWriteImage = [](cl_command_queue, cl_mem, cl_bool, const size_t*, const size_t*,
                               size_t, size_t, const void*, cl_uint, const cl_event*,
                               cl_event* event) { return make_event(event); };
  api.clEnqueueReadBufferRect = [](cl_command_queue, cl_mem, cl_bool, const size_t*, const size_t*,
                                   const size_t*, size_t, size_t, size_t, size_t, void*, cl_uint,
                                   const cl_event*, cl_event* event) { return make_event(event); };
  api.clEnqueueWriteBufferRect = [](cl_command_queue, cl_mem, cl_bool, const size_t*, const size_t*,
                                    const size_t*, size_t, size_t, size_t, size_t, const void*,
                                    cl_uint, const cl_event*,
                                    cl_event* event) { return make_event(event); };
  api.clEnqueueMarkerWithWaitList = [](cl_command_queue, cl_uint wait_count, const cl_event*,
                                       cl_event* event) {
    marker_waits_of(*current) += static_cast<int>(wait_count);
    return make_event(event);
  };
  api.clCreateUserEvent = [](cl_context, cl_int* error) { return make_object<cl_event>(error); };
  api.clSetUserEventStatus = [](cl_event, cl_int) { return cl_int{CL_SUCCESS}; };
  api.clGetEventInfo = [](cl_event, cl_event_info, size_t size, void* out, size_t* out_size) {
    return answer(size, out, out_size, current->device.event_state);
  };
  api.clGetEventProfilingInfo = [](cl_event, cl_profiling_info, size_t size, void* out,
                                   size_t* out_size) {
    return answer(size, out, out_size, cl_ulong{1});
  };
  api.clWaitForEvents = [](cl_uint, const cl_event*) {
    early_maps().clear();
    return cl_int{CL_SUCCESS};
  };
  api.clReleaseEvent = release_object<cl_event>;
  api.clFlush = [](cl_command_queue) { return cl_int{CL_SUCCESS}; };
  api.clFinish = [](cl_command_queue) {
    early_maps().clear();
    return cl_int{CL_SUCCESS};
  };
  api.clSVMAlloc = [](cl_context, cl_svm_mem_flags, size_t size, cl_uint) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 128, size) != 0) return static_cast<void*>(nullptr);
    svm_sizes()[memory] = size;
    held_by(*current).svm += static_cast<int64_t>(size);
    return memory;
  };
  api.clSVMFree = [](cl_context, void* memory) {
    held_by(*current).svm -= static_cast<int64_t>(svm_sizes()[memory]);
    svm_sizes().erase(memory);
    std::free(memory);
  };
  api.clCreateCommandBufferKHR = [](cl_uint, const cl_command_queue*,
                                    const cl_command_buffer_properties_khr*, cl_int* error) {
    return make_object<cl_command_buffer_khr>(error);
  };
  api.clReleaseCommandBufferKHR = release_object<cl_command_buffer_khr>;
  api.clFinalizeCommandBufferKHR = [](cl_command_buffer_khr) {
    return current->device.recording_end;
  };
  api.clCommandNDRangeKernelKHR = [](cl_command_buffer_khr, cl_command_queue,
                                     const cl_ndrange_kernel_command_properties_khr*, cl_kernel,
                                     cl_uint, const size_t*, const size_t*, const size_t*, cl_uint,
                                     const cl_sync_point_khr*, cl_sync_point_khr*,
                                     cl_mutable_command_khr*) { return cl_int{CL_SUCCESS}; };
  api.clEnqueueCommandBufferKHR = [](cl_uint, cl_command_queue*, cl_command_buffer_khr, cl_uint,
                                     const cl_event*,
                                     cl_event* event) { return make_event(event); };
  api.clNewRecordingQCOM = [](cl_command_queue, cl_int* error) {
    return make_object<cl_recording_qcom>(error);
  };
  api.clReleaseRecordingQCOM = release_object<cl_recording_qcom>;
  api.clEndRecordingQCOM = [](cl_recording_qcom) { return current->device.recording_end; };
  api.clEnqueueRecordingQCOM = [](cl_command_queue, cl_recording_qcom, size_t, const void*, size_t,
                                  const void*, size_t, const void*, size_t, const void*, cl_uint,
                                  const cl_event*, cl_event* event) { return make_event(event); };
  return api;
}

// ---- the functions in front ---------------------------------------------------------------------

enum FunctionIndex : size_t {
#define CODL_CL_INDEX(name) k_##name,
  CODL_CL_FUNCTIONS(CODL_CL_INDEX, CODL_CL_INDEX, CODL_CL_INDEX)
#undef CODL_CL_INDEX
};

constexpr const char* kNames[] = {
#define CODL_CL_NAME(name) #name,
    CODL_CL_FUNCTIONS(CODL_CL_NAME, CODL_CL_NAME, CODL_CL_NAME)
#undef CODL_CL_NAME
};
static_assert(sizeof(rt::ClApi) == std::size(kNames) * sizeof(void*));

bool starts_with(const char* name, std::string_view start) {
  return std::string_view(name).substr(0, start.size()) == start;
}

bool releases(const char* name) {
  return starts_with(name, "clRelease") || starts_with(name, "clSVMFree");
}

bool makes(const char* name) {
  return starts_with(name, "clCreate") || starts_with(name, "clNew") ||
         starts_with(name, "clSVMAlloc");
}

// Returns an error as the function does: as its result or through its cl_int*.
template <typename Result, typename... Args>
Result fail_with(cl_int error, Args... args) {
  const auto set_error = [error](auto arg) {
    if constexpr (std::is_same_v<decltype(arg), cl_int*>)
      if (arg != nullptr) *arg = error;
  };
  (set_error(args), ...);
  if constexpr (std::is_same_v<Result, cl_int>)
    return error;
  else if constexpr (!std::is_void_v<Result>)
    return nullptr;
}

// Counts events that a successful enqueue has made.
template <typename... Args>
int count_events(Args... args) {
  const auto is_event = [](auto arg) {
    if constexpr (std::is_same_v<decltype(arg), cl_event*>) return arg != nullptr ? 1 : 0;
    return 0;
  };
  return (0 + ... + is_event(args));
}

// Returns the last argument of that type; null if there is none.
template <typename T, typename... Args>
T argument_of(Args... args) {
  T found = nullptr;
  const auto take = [&found](auto arg) {
    if constexpr (std::is_same_v<decltype(arg), T>) found = arg;
  };
  (take(args), ...);
  return found;
}

}  // namespace

template <size_t index, typename Function>
struct FakeClCall;

template <size_t index, typename Result, typename... Args>
struct FakeClCall<index, Result (*)(Args...)> {
  static Result call(Args... args) {
    const char* name = kNames[index];
    FakeCl& fake = *current;
    if (fake.record(name)) return fail_with<Result>(fake.error_, args...);
    const auto function =
        reinterpret_cast<Result (*)(Args...)>(reinterpret_cast<void**>(&fake.base_)[index]);
    const auto queue = argument_of<cl_command_queue>(args...);
    fake.note_start(name, queue, argument_of<void*>(args...));
    if (releases(name)) --fake.live_count_;
    if constexpr (std::is_void_v<Result>) {
      function(args...);
    } else {
      const Result result = function(args...);
      if constexpr (std::is_pointer_v<Result>) {
        if (result != nullptr && makes(name)) ++fake.live_count_;
        if (result != nullptr) fake.live_count_ += count_events(args...);
        if (result != nullptr) fake.note_success(name, queue, result);
      } else if (result == CL_SUCCESS) {
        fake.live_count_ += count_events(args...);
        fake.note_success(name, queue, nullptr);
      }
      return result;
    }
  }
};

FakeCl::FakeCl(const FakeDevice& simulated) : device(simulated), base_(simulated_api()) {
  current = this;
  put_extensions_behind();
#define CODL_CL_FRONT(name) api_.name = &FakeClCall<k_##name, decltype(rt::ClApi::name)>::call;
  CODL_CL_FUNCTIONS(CODL_CL_FRONT, CODL_CL_FRONT, CODL_CL_FRONT)
#undef CODL_CL_FRONT
}

FakeCl::FakeCl(const rt::ClApi& real) : FakeCl() {
  base_ = real;
  put_extensions_behind();
}

// Functions of extensions have one in front, too.
void FakeCl::put_extensions_behind() {
  find_extension_ = base_.clGetExtensionFunctionAddressForPlatform;
  base_.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id platform, const char* name) {
    const auto index = static_cast<size_t>(
        std::find(std::begin(kNames), std::end(kNames), std::string_view(name)) -
        std::begin(kNames));
    void*& behind = reinterpret_cast<void**>(&current->base_)[index];
    if (current->find_extension_ != nullptr) behind = current->find_extension_(platform, name);
    return behind == nullptr ? nullptr : reinterpret_cast<void**>(&current->api_)[index];
  };
}

FakeCl::~FakeCl() {
  // It is never destroyed, so that LeakSanitizer does not report what a test has counted.
  static auto* const kept = new std::set<void*>;
  kept->merge(svm_);
  current = nullptr;
}

int FakeCl::count(const std::string& name) const {
  return static_cast<int>(std::count(calls_.begin(), calls_.end(), name));
}

void FakeCl::note_start(const char* name, cl_command_queue queue, void* memory) {
  if (starts_with(name, "clEnqueue") && queue != nullptr) busy_.insert(queue);
  if (!starts_with(name, "clSVMFree")) return;
  if (!busy_.empty()) ++frees_in_use_;
  svm_.erase(memory);
}

void FakeCl::note_success(const char* name, cl_command_queue queue, void* made) {
  if (starts_with(name, "clFinish")) busy_.erase(queue);
  if (starts_with(name, "clSVMAlloc")) svm_.insert(made);
}

bool FakeCl::record(const char* name) {
  const int call_index = static_cast<int>(calls_.size());
  calls_.emplace_back(name);
  const bool shall_fail =
      fail_at_ >= 0 && call_index >= fail_at_ && call_index - fail_at_ < fail_count_;
  if (!shall_fail || releases(name)) return false;
  has_failed_ = true;
  return true;
}

}  // namespace codl::test
