#include "test/support/cl_device.h"

#include <dlfcn.h>

#include <map>
#include <utility>
#include <vector>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "schema/quantised.h"

namespace codl::test {
namespace {

// The functions used here are found at run time, so that a machine without OpenCL builds and runs
// the tests.
#define CODL_TEST_CL_FUNCTIONS(F) \
  F(clGetPlatformIDs)             \
  F(clGetDeviceIDs)               \
  F(clGetDeviceInfo)              \
  F(clCreateContext)              \
  F(clCreateCommandQueue)         \
  F(clCreateProgramWithSource)    \
  F(clBuildProgram)               \
  F(clGetProgramBuildInfo)        \
  F(clCreateKernel)               \
  F(clGetKernelWorkGroupInfo)     \
  F(clSetKernelArg)               \
  F(clCreateBuffer)               \
  F(clCreateImage)                \
  F(clReleaseMemObject)           \
  F(clEnqueueNDRangeKernel)       \
  F(clEnqueueReadBuffer)          \
  F(clEnqueueReadImage)           \
  F(clGetEventProfilingInfo)      \
  F(clReleaseEvent)               \
  F(clFinish)

struct Api {
#define CODL_TEST_CL_MEMBER(name) decltype(&::name) name = nullptr;
  CODL_TEST_CL_FUNCTIONS(CODL_TEST_CL_MEMBER)
#undef CODL_TEST_CL_MEMBER
};

std::string fault(const char* call, cl_int error) {
  return std::string(call) + ": OpenCL error " + std::to_string(error);
}

}  // namespace

struct ClDevice::State {
  Api api;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  std::string texts;                         // source of all kernels; empty before the first
  std::map<std::string, cl_kernel> kernels;  // keyed by symbol and options
  bool counts_local_memory = false;          // counts a kernel's to the byte, as PoCL does
  bool has_halves = false;

  std::string open();
  bool uses_define(std::string_view name) const {
    return has_halves || (name != "HALF_ARITHMETIC" && name != "RUN_PRODUCTS");
  }
  std::string build(const KernelInfo& info, const kernels::ClLaunch& launch, cl_kernel* out_kernel);
};

std::string ClDevice::State::open() {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "expected libOpenCL.so.1, found no such library";
#define CODL_TEST_CL_LOAD(name)                                           \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name)); \
  if (!api.name) return "expected " #name " in libOpenCL.so.1, found no such function";
  CODL_TEST_CL_FUNCTIONS(CODL_TEST_CL_LOAD)
#undef CODL_TEST_CL_LOAD

  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  if (api.clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS) platform_count = 0;
  // Mesa lists platforms without devices.
  for (cl_uint i = 0; i < platform_count && i < 16 && !device; ++i)
    if (api.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS)
      device = nullptr;
  if (!device) return "expected an OpenCL device, found none";

  cl_int error = CL_SUCCESS;
  context = api.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) return fault("clCreateContext", error);
  char version[256] = {};
  api.clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version) - 1, version, nullptr);
  counts_local_memory = std::string(version).find("pocl") != std::string::npos ||
                        std::string(version).find("PoCL") != std::string::npos;
  queue = api.clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
  return error == CL_SUCCESS ? std::string() : fault("clCreateCommandQueue", error);
}

std::string ClDevice::State::build(const KernelInfo& info, const kernels::ClLaunch& launch,
                                   cl_kernel* out_kernel) {
  std::string options = "-cl-std=CL1.2";
  for (uint32_t i = 0; i < launch.define_count; ++i)
    if (uses_define(launch.defines[i].name))
      options += std::string(" -D ") + launch.defines[i].name + "=" +
                 std::to_string(launch.defines[i].value);
  cl_kernel& kernel = kernels[std::string(info.symbol) + options];
  if (!kernel) {
    if (texts.empty()) {
      texts.resize(kernels::kClTextBytes);
      if (!kernels::unpack_cl_texts(texts.data()))
        return "expected the kernels' texts, found others";
    }
    kernels::ClText text = kernels::cl_text(info, texts.data());
    cl_int error = CL_SUCCESS;
    cl_program program = api.clCreateProgramWithSource(context, kernels::ClText::kParts, text.parts,
                                                       nullptr, &error);
    if (error != CL_SUCCESS) return fault("clCreateProgramWithSource", error);
    error = api.clBuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr);
    if (error != CL_SUCCESS) {
      std::string log(65536, '\0');
      size_t length = 0;
      api.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, log.size(), log.data(),
                                &length);
      log.resize(length);
      return fault("clBuildProgram", error) + " with " + options + "\n" + log;
    }
    kernel = api.clCreateKernel(program, info.symbol, &error);
    if (error != CL_SUCCESS) return fault("clCreateKernel", error);
    cl_ulong local_bytes = 0;
    error = api.clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE,
                                         sizeof(local_bytes), &local_bytes, nullptr);
    if (error != CL_SUCCESS) return fault("clGetKernelWorkGroupInfo", error);
    if (counts_local_memory && local_bytes != launch.local_bytes)
      return "expected the launch's " + std::to_string(launch.local_bytes) +
             " bytes of local memory, found " + std::to_string(local_bytes);
  }
  *out_kernel = kernel;
  return {};
}

ClDevice* ClDevice::get(std::string* out_reason) {
  static std::string reason;
  static ClDevice* const device = []() -> ClDevice* {
    auto* state = new State;
    reason = state->open();
    if (!reason.empty()) return nullptr;
    auto* opened = new ClDevice(state);
    char name[256] = {};
    state->api.clGetDeviceInfo(state->device, CL_DEVICE_NAME, sizeof(name) - 1, name, nullptr);
    opened->name_ = name;
    std::string extensions(16384, '\0');
    state->api.clGetDeviceInfo(state->device, CL_DEVICE_EXTENSIONS, extensions.size() - 1,
                               extensions.data(), nullptr);
    state->has_halves = extensions.find("cl_khr_fp16") != std::string::npos;
    return opened;
  }();
  *out_reason = reason;
  return device;
}

bool ClDevice::has_halves() const { return state_->has_halves; }
bool ClDevice::uses_define(std::string_view name) const { return state_->uses_define(name); }

// An image of bytes holds their distances from the lowest byte. Turning them twice changes nothing.
static void turn_texels(const ClOperand& operand) {
  if (!operand.is_image || operand.dtype != DType::I8) return;
  auto* const bytes = static_cast<uint8_t*>(operand.data);
  for (size_t i = 0; i < operand.bytes; ++i) bytes[i] ^= kTexelBit;
}

struct ClStep::State {
  ClDevice::State* device;
  cl_kernel kernel;  // shared by steps with this kernel and defines: arguments are set for each run
  kernels::ClLaunch launch;
  std::span<const ClOperand> operands;
  std::vector<cl_mem> memory;
};

ClStep::~ClStep() {
  for (cl_mem memory : state_->memory) state_->device->api.clReleaseMemObject(memory);
  delete state_;
}

std::string ClDevice::make_step(const KernelInfo& info, const kernels::ClLaunch& launch,
                                std::span<const ClOperand> operands, bool is_timed,
                                std::unique_ptr<ClStep>* out_step) {
  const Api& api = state_->api;
  auto* state = new ClStep::State{state_, nullptr, launch, operands, {}};
  std::unique_ptr<ClStep> step(new ClStep(state));
  if (std::string error = state_->build(info, launch, &state->kernel); !error.empty()) return error;
  for (const ClOperand& operand : operands) {
    cl_int error = CL_SUCCESS;
    cl_mem memory = nullptr;
    if (operand.is_image) {
      const cl_channel_type type = operand.dtype == DType::F16  ? CL_HALF_FLOAT
                                   : operand.dtype == DType::I8 ? CL_UNORM_INT8
                                                                : CL_FLOAT;
      const cl_image_format format = {CL_RGBA, type};
      cl_image_desc desc = {};
      desc.image_type = CL_MEM_OBJECT_IMAGE2D;
      desc.image_width = operand.width;
      desc.image_height = operand.height;
      turn_texels(operand);
      memory = api.clCreateImage(state_->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format,
                                 &desc, operand.data, &error);
      turn_texels(operand);
    } else {
      // With memory in place, a separate GPU would read the host's memory in every timed run.
      const cl_mem_flags where = is_timed ? CL_MEM_COPY_HOST_PTR : CL_MEM_USE_HOST_PTR;
      memory = api.clCreateBuffer(state_->context, CL_MEM_READ_WRITE | where, operand.bytes,
                                  operand.data, &error);
    }
    if (error != CL_SUCCESS)
      return fault(operand.is_image ? "clCreateImage" : "clCreateBuffer", error);
    state->memory.push_back(memory);
  }
  *out_step = std::move(step);
  return {};
}

std::string ClStep::run(int repeats, std::vector<double>* out_micros) {
  const Api& api = state_->device->api;
  const kernels::ClLaunch& launch = state_->launch;
  cl_uint arg = 0;
  for (cl_mem memory : state_->memory) {
    const cl_int error = api.clSetKernelArg(state_->kernel, arg++, sizeof(cl_mem), &memory);
    if (error != CL_SUCCESS) return fault("clSetKernelArg of an operand", error);
  }
  for (uint32_t i = 0; i < launch.scalar_count; ++i) {
    const cl_int error = api.clSetKernelArg(state_->kernel, arg++, 4, &launch.scalars[i]);
    if (error != CL_SUCCESS) return fault("clSetKernelArg of a scalar", error);
  }
  size_t global[3];
  size_t local[3];
  for (int i = 0; i < 3; ++i) {
    global[i] = launch.global[i];
    local[i] = launch.local[i];
  }
  // There is one wait for all: if the device is a core that this thread shares, the thread then
  // sleeps.
  std::vector<cl_event> events(static_cast<size_t>(repeats));
  for (cl_event& event : events) {
    const cl_int error =
        api.clEnqueueNDRangeKernel(state_->device->queue, state_->kernel, 3, nullptr, global,
                                   local[0] != 0 ? local : nullptr, 0, nullptr, &event);
    if (error != CL_SUCCESS) return fault("clEnqueueNDRangeKernel", error);
  }
  if (const cl_int error = api.clFinish(state_->device->queue); error != CL_SUCCESS)
    return fault("clFinish", error);
  for (cl_event event : events) {
    cl_ulong start = 0;
    cl_ulong end = 0;
    api.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, nullptr);
    api.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr);
    api.clReleaseEvent(event);
    if (out_micros) out_micros->push_back(static_cast<double>(end - start) * 1e-3);
  }
  return {};
}

std::string ClStep::read() {
  const Api& api = state_->device->api;
  cl_command_queue queue = state_->device->queue;
  for (size_t i = 0; i < state_->operands.size(); ++i) {
    const ClOperand& operand = state_->operands[i];
    if (!operand.is_output) continue;
    const size_t origin[3] = {0, 0, 0};
    const size_t region[3] = {operand.width, operand.height, 1};
    const cl_int error =
        operand.is_image
            ? api.clEnqueueReadImage(queue, state_->memory[i], CL_TRUE, origin, region, 0, 0,
                                     operand.data, 0, nullptr, nullptr)
            : api.clEnqueueReadBuffer(queue, state_->memory[i], CL_TRUE, 0, operand.bytes,
                                      operand.data, 0, nullptr, nullptr);
    if (error != CL_SUCCESS) return fault("reading the output", error);
    turn_texels(operand);
  }
  return {};
}

std::string ClDevice::run(const KernelInfo& info, const kernels::ClLaunch& launch,
                          std::span<const ClOperand> operands, int repeats,
                          std::vector<double>* out_micros) {
  std::unique_ptr<ClStep> step;
  std::string error = make_step(info, launch, operands, repeats > 1, &step);
  if (error.empty()) error = step->run(repeats, out_micros);
  return error.empty() ? step->read() : error;
}

}  // namespace codl::test
