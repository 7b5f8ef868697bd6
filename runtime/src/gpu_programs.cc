#include "runtime/src/gpu_programs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "kernels/common/contract/contract.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/diag.h"
#include "schema/mix_bits.h"
#include "schema/verify_plan.h"

namespace codl::rt {
namespace {

using kernels::ClLaunch;

// 16 defines of up to 60 characters.
constexpr size_t kMaxOptionBytes = 1024;
// No driver makes so many bytes of one program.
constexpr size_t kMaxBinaryBytes = size_t{1} << 26;

// Stands in front of each program that a cache keeps. Drivers crash on a program that was cut or
// changed, and take one of another text as it is.
struct StoredHead {
  GpuPrograms::Key key;
  uint64_t size_bytes;  // size of the program, which follows
  uint64_t checksum;    // checksum of the program's bytes
};

StoredHead head_of(const GpuPrograms::Key& key, const uint8_t* program, size_t size) {
  StoredHead head = {};
  std::memcpy(head.key, key, sizeof(key));
  head.size_bytes = size;
  head.checksum = checksum_of(program, size);
  return head;
}

// Writes everything that a built program depends on: the device and its driver, the text and its
// options.
void write_key(const ClApi& api, const GpuDevice& device, const kernels::ClText& text,
               const char* options, GpuPrograms::Key& key) {
  const uint64_t where = driver_hash(api, device);
  uint64_t what = kFnvStart;
  for (const char* part : text.parts) what = add_to_fnv(what, part);
  what = add_to_fnv(what, options);
  std::snprintf(key, sizeof(key), "codl-%016llx-%016llx", static_cast<unsigned long long>(where),
                static_cast<unsigned long long>(what));
}

// Returns NO_DEVICE if the device has no room for work-groups of that size, of at most
// `most_items`, with so much local memory.
codl_status_t check_group(const GpuDevice& device, const KernelInfo& info, const size_t* local,
                          uint64_t most_items, uint64_t local_bytes, codl_diag_t* diag) {
  const auto fits = [&](const char* what, uint64_t expected, uint64_t most) {
    if (expected > most)
      set_diag(diag, "device %s: %s: expected %llu %s in a work-group, found a limit of %llu",
               device.device_name, info.symbol, static_cast<unsigned long long>(expected), what,
               static_cast<unsigned long long>(most));
    return expected <= most;
  };
  bool is_good = fits("work-items", uint64_t{local[0]} * local[1] * local[2], most_items) &&
                 fits("bytes of local memory", local_bytes, device.group_local_bytes);
  for (size_t i = 0; i < std::size(device.max_group_sizes) && is_good; ++i)
    is_good = fits("work-items along a side", local[i], device.max_group_sizes[i]);
  return is_good ? CODL_OK : CODL_NO_DEVICE;
}

bool same_defines(const ClLaunch& a, const ClLaunch& b) {
  if (a.define_count != b.define_count) return false;
  for (uint32_t i = 0; i < a.define_count; ++i)
    if (a.defines[i].value != b.defines[i].value ||
        std::strcmp(a.defines[i].name, b.defines[i].name) != 0)
      return false;
  return true;
}

// False if they do not fit.
bool write_options(const ClLaunch& launch, char (&options)[kMaxOptionBytes]) {
  int length = std::snprintf(options, sizeof(options), "-cl-std=CL1.2");
  for (uint32_t i = 0; i < launch.define_count; ++i) {
    const size_t room = sizeof(options) - static_cast<size_t>(length);
    const int added = std::snprintf(options + length, room, " -D%s=%d", launch.defines[i].name,
                                    static_cast<int>(launch.defines[i].value));
    if (added < 0 || static_cast<size_t>(added) >= room) return false;
    length += added;
  }
  return true;
}

}  // namespace

cl_int GpuKernel::enqueue(GpuQueue& gpu, cl_uint wait_count, const cl_event* waits,
                          cl_event* out_event) const {
  gpu.note_enqueue(kComputeQueue);
  return gpu.api().clEnqueueNDRangeKernel(gpu.queue(kComputeQueue), kernel, 3, nullptr, global,
                                          has_local ? local : nullptr, wait_count, waits,
                                          out_event);
}

codl_status_t GpuPrograms::create(const codl_allocator_t& allocator, GpuQueue& gpu,
                                  const codl_program_cache_t* cache, size_t step_count,
                                  codl_diag_t* diag) {
  allocator_ = allocator;
  gpu_ = &gpu;
  cache_ = cache;
  if (programs_.allocate(allocator, step_count) && kernels_.allocate(allocator, step_count))
    return CODL_OK;
  set_diag(diag, "no memory for %zu OpenCL kernels", step_count);
  return CODL_OUT_OF_MEMORY;
}

void GpuPrograms::release() {
  for (; kernel_count_ != 0; --kernel_count_)
    gpu_->api().clReleaseKernel(kernels_[kernel_count_ - 1]);
  for (; program_count_ != 0; --program_count_)
    gpu_->api().clReleaseProgram(programs_[program_count_ - 1].program);
}

codl_status_t GpuPrograms::add(const kernels::StepShape& step, const uint32_t* tensors,
                               const GpuTensors& memory, GpuKernel* out_kernel, codl_diag_t* diag) {
  ClLaunch launch;
  kernels::launch_of(step, &launch);
  out_kernel->has_local = launch.local[0] != 0;
  for (int i = 0; i < 3; ++i) {
    out_kernel->global[i] = static_cast<size_t>(launch.global[i]);
    out_kernel->local[i] = static_cast<size_t>(launch.local[i]);
  }
  // Before it is built: drivers crash on what they have no room for.
  const GpuDevice& device = gpu_->device();
  codl_status_t status = check_group(device, *step.kernel, out_kernel->local,
                                     device.max_group_items, launch.local_bytes, diag);
  if (status != CODL_OK) return status;
  Program* program = nullptr;
  status = find_or_build(*step.kernel, launch, &program, diag);
  if (status != CODL_OK) return status;
  cl_int error = CL_SUCCESS;
  const cl_kernel kernel =
      gpu_->api().clCreateKernel(program->program, step.kernel->symbol, &error);
  if (kernel == nullptr) return cl_fault(diag, "clCreateKernel", error);
  kernels_[kernel_count_++] = kernel;
  out_kernel->kernel = kernel;
  status = set_arguments(kernel, step, launch, tensors, memory, diag);
  return status == CODL_OK ? warm_up(*program, *out_kernel, diag) : status;
}

// A built kernel may take more local memory than its text has, and allow fewer work-items: its
// registers limit them. Asked for the reason only when the driver refuses a launch: Mesa 22.3's
// Rusticl says that it allows 32 work-items of every kernel, and runs 256.
codl_status_t GpuPrograms::explain_refusal(const Program& program, const GpuKernel& kernel,
                                           cl_int error, codl_diag_t* diag) {
  const GpuDevice& device = gpu_->device();
  size_t most_items = 0;
  cl_ulong local_bytes = 0;
  const auto ask = [&](cl_kernel_work_group_info what, auto* out) {
    return gpu_->api().clGetKernelWorkGroupInfo(kernel.kernel, device.device, what, sizeof(*out),
                                                out, nullptr) == CL_SUCCESS;
  };
  codl_status_t status = CODL_OK;
  if (kernel.has_local && ask(CL_KERNEL_WORK_GROUP_SIZE, &most_items) &&
      ask(CL_KERNEL_LOCAL_MEM_SIZE, &local_bytes))
    status = check_group(device, *program.kernel, kernel.local, most_items, local_bytes, diag);
  return status == CODL_OK ? cl_fault(diag, "clEnqueueNDRangeKernel", error) : status;
}

codl_status_t GpuPrograms::find_or_build(const KernelInfo& info, const ClLaunch& launch,
                                         Program** out_program, codl_diag_t* diag) {
  for (size_t i = 0; i < program_count_; ++i) {
    if (programs_[i].kernel != &info || !same_defines(programs_[i].launch, launch)) continue;
    *out_program = &programs_[i];
    return CODL_OK;
  }
  Program& program = programs_[program_count_];
  program.kernel = &info;
  program.launch = launch;
  const int64_t start_ns = now_ns();
  const codl_status_t status = build(program, diag);
  build_us_ += static_cast<double>(now_ns() - start_ns) / 1000;
  *out_program = &program;
  return status;
}

codl_status_t GpuPrograms::build(Program& program, codl_diag_t* diag) {
  char options[kMaxOptionBytes];
  if (!write_options(program.launch, options)) {
    set_diag(diag, "%s: expected build options of at most %zu characters", program.kernel->symbol,
             sizeof(options));
    return CODL_DEVICE_ERROR;
  }
  if (texts_.data() == nullptr) {
    if (!texts_.allocate(allocator_, kernels::kClTextBytes, 1)) {
      set_diag(diag, "no memory for %zu bytes of OpenCL texts", kernels::kClTextBytes);
      return CODL_OUT_OF_MEMORY;
    }
    if (!kernels::unpack_cl_texts(reinterpret_cast<char*>(texts_.data()))) {
      set_diag(diag, "OpenCL texts: expected %zu bytes, found others", kernels::kClTextBytes);
      return CODL_DEVICE_ERROR;
    }
  }
  const kernels::ClText text =
      kernels::cl_text(*program.kernel, reinterpret_cast<const char*>(texts_.data()));
  if (cache_ == nullptr) return build_text(program, text, options, diag);
  Key key = {};
  write_key(gpu_->api(), gpu_->device(), text, options, key);
  if (load_binary(program, key, options)) return CODL_OK;
  const codl_status_t status = build_text(program, text, options, diag);
  if (status == CODL_OK) store_binary(program, key);
  return status;
}

codl_status_t GpuPrograms::build_text(Program& program, const kernels::ClText& text,
                                      const char* options, codl_diag_t* diag) {
  const ClApi& api = gpu_->api();
  const char* texts[kernels::ClText::kParts];
  std::copy(std::begin(text.parts), std::end(text.parts), texts);
  cl_int error = CL_SUCCESS;
  program.program = api.clCreateProgramWithSource(gpu_->context(), kernels::ClText::kParts, texts,
                                                  nullptr, &error);
  if (program.program == nullptr) return cl_fault(diag, "clCreateProgramWithSource", error);
  ++program_count_;
  error = api.clBuildProgram(program.program, 1, &gpu_->device().device, options, nullptr, nullptr);
  return error == CL_SUCCESS ? CODL_OK : report_build_log(program, error, diag);
}

bool GpuPrograms::load_binary(Program& program, const Key& key, const char* options) {
  const ClApi& api = gpu_->api();
  const size_t stored_size = cache_->load(cache_->context, key, nullptr, 0);
  Array<uint8_t> stored;
  if (stored_size <= sizeof(StoredHead) || stored_size > sizeof(StoredHead) + kMaxBinaryBytes ||
      !stored.allocate(allocator_, stored_size) ||
      cache_->load(cache_->context, key, stored.data(), stored_size) != stored_size)
    return false;
  const uint8_t* data = stored.data() + sizeof(StoredHead);
  const size_t size = stored_size - sizeof(StoredHead);
  const StoredHead expected = head_of(key, data, size);
  if (std::memcmp(stored.data(), &expected, sizeof(expected)) != 0) return false;
  cl_int error = CL_SUCCESS;
  program.program = api.clCreateProgramWithBinary(gpu_->context(), 1, &gpu_->device().device, &size,
                                                  &data, nullptr, &error);
  if (program.program == nullptr) return false;
  if (api.clBuildProgram(program.program, 1, &gpu_->device().device, options, nullptr, nullptr) !=
      CL_SUCCESS) {
    api.clReleaseProgram(program.program);
    program.program = nullptr;
    return false;
  }
  ++program_count_;
  return true;
}

void GpuPrograms::store_binary(const Program& program, const Key& key) {
  const ClApi& api = gpu_->api();
  size_t size = 0;
  Array<uint8_t> stored;
  if (api.clGetProgramInfo(program.program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size,
                           nullptr) != CL_SUCCESS ||
      size == 0 || size > kMaxBinaryBytes ||
      !stored.allocate(allocator_, sizeof(StoredHead) + size))
    return;
  uint8_t* data = stored.data() + sizeof(StoredHead);
  if (api.clGetProgramInfo(program.program, CL_PROGRAM_BINARIES, sizeof(data), &data, nullptr) !=
      CL_SUCCESS)
    return;
  const StoredHead head = head_of(key, data, size);
  std::memcpy(stored.data(), &head, sizeof(head));
  cache_->store(cache_->context, key, stored.data(), stored.count());
}

codl_status_t GpuPrograms::report_build_log(const Program& program, cl_int error,
                                            codl_diag_t* diag) {
  const ClApi& api = gpu_->api();
  size_t size = 0;
  Array<char> log;
  const bool has_log =
      api.clGetProgramBuildInfo(program.program, gpu_->device().device, CL_PROGRAM_BUILD_LOG, 0,
                                nullptr, &size) == CL_SUCCESS &&
      size != 0 && log.allocate(allocator_, size + 1) &&
      api.clGetProgramBuildInfo(program.program, gpu_->device().device, CL_PROGRAM_BUILD_LOG, size,
                                log.data(), nullptr) == CL_SUCCESS;
  // Compilers put warnings first.
  const char* first_error = has_log ? std::strstr(log.data(), "error") : nullptr;
  set_diag(diag, "clBuildProgram (%s): OpenCL error %d: %s", program.kernel->symbol,
           static_cast<int>(error),
           first_error != nullptr ? first_error : (has_log ? log.data() : "no build log"));
  return CODL_DEVICE_ERROR;
}

codl_status_t GpuPrograms::set_arguments(cl_kernel kernel, const kernels::StepShape& step,
                                         const ClLaunch& launch, const uint32_t* tensors,
                                         const GpuTensors& memory, codl_diag_t* diag) {
  const ClApi& api = gpu_->api();
  cl_uint argument = 0;
  for (uint32_t i = 0; i < step.operand_count; ++i) {
    if (!kernels::is_cl_argument(step, i)) continue;
    void* pointer = memory.pointer_of(tensors[i]);
    const cl_mem buffer = memory.buffer_of(tensors[i]);
    const cl_int error = pointer != nullptr
                             ? api.clSetKernelArgSVMPointer(kernel, argument, pointer)
                             : api.clSetKernelArg(kernel, argument, sizeof(buffer), &buffer);
    ++argument;
    if (error != CL_SUCCESS)
      return cl_fault(diag, pointer != nullptr ? "clSetKernelArgSVMPointer" : "clSetKernelArg",
                      error);
  }
  for (uint32_t i = 0; i < launch.scalar_count; ++i, ++argument) {
    const cl_int error =
        api.clSetKernelArg(kernel, argument, sizeof(launch.scalars[i]), &launch.scalars[i]);
    if (error != CL_SUCCESS) return cl_fault(diag, "clSetKernelArg", error);
  }
  return CODL_OK;
}

codl_status_t GpuPrograms::warm_up(Program& program, const GpuKernel& kernel, codl_diag_t* diag) {
  const GpuKernel& done = program.warmed_up;
  if (done.kernel != nullptr && std::memcmp(done.local, kernel.local, sizeof(kernel.local)) == 0)
    return CODL_OK;
  program.warmed_up = kernel;
  const int64_t start_ns = now_ns();
  const cl_int error = kernel.enqueue(*gpu_, 0, nullptr, nullptr);
  build_us_ += static_cast<double>(now_ns() - start_ns) / 1000;
  return error == CL_SUCCESS ? CODL_OK : explain_refusal(program, kernel, error, diag);
}

}  // namespace codl::rt
