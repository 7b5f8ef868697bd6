#include "profiler/measure/measured_gpu.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "profiler/fit/fit.h"
#include "profiler/measure/confinement.h"
#include "profiler/measure/contents.h"
#include "profiler/measure/gpu_step.h"
#include "runtime/tools/plan_tool.h"
#include "schema/step_shape.h"
#include "tools/tool_error.h"

namespace codl::profiler {
namespace {

// So many bytes of weights pass before any is read again on a GPU: several times its cache (50 MB
// on an H200). In a plan a step's weights were read last in the run before, and an item that waits
// for memory waits twice as long as one that waits for the cache.
constexpr size_t kWeightBytes = size_t{256} << 20;
// This is more than the launches of a run.
constexpr size_t kMaxWeightBuffers = 512;
constexpr size_t kMinWeightBytes = 4096;

// probe: enough arithmetic for every unit. chain, chains: MeasuredCpu's probe and crowding. touch:
// reads all of a buffer, and the compiler cannot tell whether it writes. nothing: has as many
// arguments as a convolution, because a launch copies them.
constexpr char kOwnKernels[] = R"(
__kernel void probe(__global float* out, int count) {
  float8 sum = (float8)(get_global_id(0));
  for (int i = 0; i < count; ++i) sum = sum * 0.999f + 0.5f;
  if (sum.s0 + sum.s1 + sum.s2 + sum.s3 + sum.s4 + sum.s5 + sum.s6 + sum.s7 == 1.0f)
    out[0] = 1.0f;
}
__kernel void chain(__global ulong* out) {
  ulong sum = get_global_id(0);
  for (int i = 0; i < 1500; ++i) sum = sum * 0x9E3779B97F4A7C15UL + 1;
  if (sum == 1) out[0] = sum;
}
__kernel void chains(__global ulong* out) {
  ulong a = get_global_id(0), b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;
  for (int i = 0; i < 250; ++i) {
    a = a * 0x9E3779B97F4A7C15UL + 1;
    b = b * 0x9E3779B97F4A7C15UL + 1;
    c = c * 0x9E3779B97F4A7C15UL + 1;
    d = d * 0x9E3779B97F4A7C15UL + 1;
    e = e * 0x9E3779B97F4A7C15UL + 1;
    f = f * 0x9E3779B97F4A7C15UL + 1;
  }
  if (a + b + c + d + e + f == 1) out[0] = a;
}
__kernel void touch(__global const float* in, int count, __global float* out) {
  float16 sum = 0.0f;
  for (int i = get_global_id(0); i < count / 16; i += get_global_size(0)) sum += vload16(i, in);
  if (sum.s0 + sum.s5 + sum.sa + sum.sf == -1.2345f) out[0] = sum.s0;
}
__kernel void write(__global float* out, int count) {
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) out[i] = (float)i;
}
__kernel void nothing(__global float* out, int4 a, int4 b, int4 c, int a0, int a1, int a2, int a3,
                      int a4, int a5, int a6, int a7, int a8, int a9, int a10, int a11) {}
)";

}  // namespace

MeasuredGpu::MeasuredGpu(const char* platform, const char* device,
                         const std::vector<int32_t>& cores)
    : cores_(cores) {
  codl_diag_t diag = {};
  rt::AffinityScope scope;
  codl_status_t status = rt::start_opencl(cores.data(), cores.size(), &scope, &api_, &diag);
  if (status == CODL_OK) status = rt::choose_device(api_, platform, device, &device_, &diag);
  if (status != CODL_OK) throw tools::ToolError(tools::exit_code_of(status), diag.message);
  cl_int error = CL_SUCCESS;
  context_ = api_.clCreateContext(nullptr, 1, &device_.device, nullptr, nullptr, &error);
  check("clCreateContext", error);
  queue_ = make_queue(CL_QUEUE_PROFILING_ENABLE);
  plain_queue_ = make_queue(0);
  type_ = number(CL_DEVICE_TYPE);
  facts_.units = static_cast<int32_t>(number(CL_DEVICE_MAX_COMPUTE_UNITS));
  facts_.is_processor = is_cpu_device();
  const char* texts[] = {kOwnKernels};
  probe_ = kernel_of(texts, 1, "", "probe");
  chain_ = kernel_of(texts, 1, "", "chain");
  chains_ = kernel_of(texts, 1, "", "chains");
  touch_ = kernel_of(texts, 1, "", "touch");
  write_ = kernel_of(texts, 1, "", "write");
  nothing_ = kernel_of(texts, 1, "", "nothing");
  std::vector<float> zeros(kOtherBytes / sizeof(float));
  other_memory_ = make_buffer(kOtherBytes, CL_MEM_COPY_HOST_PTR, zeros.data());
  if (is_cpu_device()) arena_ = make_buffer(kArenaBytes, 0, nullptr);
  result_ = make_buffer(kOtherBytes, CL_MEM_COPY_HOST_PTR, zeros.data());
  for (cl_kernel kernel : {probe_, chain_, chains_, nothing_})
    check("clSetKernelArg", api_.clSetKernelArg(kernel, 0, sizeof(result_), &result_));
  check("clSetKernelArg", api_.clSetKernelArg(touch_, 2, sizeof(result_), &result_));
  const cl_int zero[4] = {};
  for (cl_uint i = 1; i <= 15; ++i)
    check("clSetKernelArg",
          api_.clSetKernelArg(nothing_, i, i <= 3 ? sizeof(zero) : sizeof(cl_int), zero));
  // The probe must be long enough for a clock that ticks once in a microsecond. This comes inside
  // the scope, because workers that start at first use inherit the cores.
  cl_int count = 100;
  do {
    count *= 2;
    check("clSetKernelArg", api_.clSetKernelArg(probe_, 1, sizeof(count), &count));
    units_us(probe_, 64);
    busy_us_ = units_us(probe_, 64);
  } while (count < 1 << 16 && busy_us_ < 60);
  if (!is_cpu_device()) call_us_ = time_call();
}
MeasuredGpu::~MeasuredGpu() {
  if (queue_ == nullptr) return;
  finish();
  for (cl_kernel kernel : {probe_, chain_, chains_, touch_, write_, nothing_})
    api_.clReleaseKernel(kernel);
  for (const auto& [key, program] : programs_) api_.clReleaseProgram(program);
  for (const auto& [size, buffers] : weight_buffers_)
    for (cl_mem buffer : buffers) api_.clReleaseMemObject(buffer);
  for (cl_mem memory : {arena_, other_memory_, result_})
    if (memory != nullptr) api_.clReleaseMemObject(memory);
  api_.clReleaseCommandQueue(plain_queue_);
  api_.clReleaseCommandQueue(queue_);
  api_.clReleaseContext(context_);
}

uint64_t MeasuredGpu::image_row_texels() const {
  // Makes a tall column: whatever the driver pads columns to, this is nearly all rows.
  constexpr size_t kRows = 4096;
  const cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc desc = {};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = 1;
  desc.image_height = kRows;
  cl_int error = CL_SUCCESS;
  const cl_mem image =
      api_.clCreateImage(context_, CL_MEM_READ_WRITE, &format, &desc, nullptr, &error);
  check("clCreateImage", error);
  size_t bytes = 0;
  if (api_.clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr) != CL_SUCCESS)
    bytes = 0;
  api_.clReleaseMemObject(image);
  return bytes / (kRows * kChannelPad * sizeof(float));
}

void MeasuredGpu::check(const char* call, cl_int error) const {
  if (error != CL_SUCCESS)
    throw tools::ToolError(tools::ExitCode::Internal,
                           std::string(call) + ": OpenCL error " + std::to_string(error));
}

std::string MeasuredGpu::info(cl_device_info what) const {
  size_t size = 0;
  if (api_.clGetDeviceInfo(device_.device, what, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::string text(size, '\0');
  if (api_.clGetDeviceInfo(device_.device, what, size, text.data(), nullptr) != CL_SUCCESS)
    return {};
  return text.c_str();  // up to the zero
}

uint64_t MeasuredGpu::number(cl_device_info what) const {
  uint64_t value = 0;
  size_t size = 0;
  if (api_.clGetDeviceInfo(device_.device, what, sizeof(value), &value, &size) != CL_SUCCESS)
    return 0;
  return value;  // little endian: a shorter answer leaves the upper bytes zero
}

cl_kernel MeasuredGpu::kernel_of(const char* const* texts, cl_uint text_count,
                                 const std::string& options, const std::string& name) {
  const std::string key = text_count == 1 ? texts[0] : name + options;
  cl_program& program = programs_[key];
  cl_int error = CL_SUCCESS;
  if (program == nullptr) {
    program = api_.clCreateProgramWithSource(context_, text_count, const_cast<const char**>(texts),
                                             nullptr, &error);
    check("clCreateProgramWithSource", error);
    error = api_.clBuildProgram(program, 1, &device_.device, options.c_str(), nullptr, nullptr);
    if (error != CL_SUCCESS)
      throw tools::ToolError(
          tools::ExitCode::Internal,
          "clBuildProgram (" + name + "): OpenCL error " + std::to_string(error));
  }
  const cl_kernel kernel = api_.clCreateKernel(program, name.c_str(), &error);
  check("clCreateKernel", error);
  return kernel;
}

cl_command_queue MeasuredGpu::make_queue(cl_command_queue_properties properties) {
  cl_int error = CL_SUCCESS;
  const cl_command_queue queue =
      api_.clCreateCommandQueue(context_, device_.device, properties, &error);
  check("clCreateCommandQueue", error);
  return queue;
}

cl_mem MeasuredGpu::make_buffer(size_t bytes, cl_mem_flags flags, void* data) {
  cl_int error = CL_SUCCESS;
  const cl_mem buffer = api_.clCreateBuffer(context_, CL_MEM_READ_WRITE | flags,
                                            std::max<size_t>(bytes, 4), data, &error);
  check("clCreateBuffer", error);
  return buffer;
}

cl_event MeasuredGpu::enqueue(cl_kernel kernel, const size_t* global, const size_t* local) {
  cl_event event = nullptr;
  check("clEnqueueNDRangeKernel",
        api_.clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, global, local, 0, nullptr, &event));
  return event;
}

cl_event MeasuredGpu::touch(cl_mem buffer, size_t bytes) {
  const auto count = static_cast<cl_int>(bytes / sizeof(float));
  check("clSetKernelArg", api_.clSetKernelArg(touch_, 0, sizeof(buffer), &buffer));
  check("clSetKernelArg", api_.clSetKernelArg(touch_, 1, sizeof(count), &count));
  const size_t global[] = {1024, 1, 1};
  const size_t local[] = {64, 1, 1};
  return enqueue(touch_, global, local);
}

double MeasuredGpu::read_us(cl_mem buffer, size_t bytes) {
  return wait_and_time_us(touch(buffer, bytes));
}

void MeasuredGpu::wait(cl_event event) {
  cl_int state = CL_QUEUED;
  check("clGetEventInfo", rt::poll_event(api_, event, rt::kPollNs, rt::kPollForever, &state));
  if (state < 0) check("a command", state);
  check("clWaitForEvents", api_.clWaitForEvents(1, &event));
}

void MeasuredGpu::finish(cl_command_queue queue) {
  cl_event marker = nullptr;
  check("clEnqueueMarkerWithWaitList",
        api_.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker));
  check("clFlush", api_.clFlush(queue));
  wait(marker);
  api_.clReleaseEvent(marker);
}

double MeasuredGpu::wait_and_time_us(cl_event event) {
  check("clFlush", api_.clFlush(queue_));
  wait(event);
  cl_ulong start = 0;
  cl_ulong end = 0;
  check("clGetEventProfilingInfo", api_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
                                                                sizeof(start), &start, nullptr));
  check("clGetEventProfilingInfo",
        api_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr));
  api_.clReleaseEvent(event);
  return static_cast<double>(end - start) / 1000;
}

// The answer is for a GPU with memory of its own and for every step's size; GPUs with little memory
// have small caches, too.
bool MeasuredGpu::has_room_for_weights() const {
  return !is_cpu_device() && !device_.has_host_memory &&
         number(CL_DEVICE_GLOBAL_MEM_SIZE) >= 32 * kWeightBytes;
}

// Each is a buffer of its own, because launches take longer where sub-buffers overlap.
const std::vector<cl_mem>& MeasuredGpu::weight_buffers(size_t bytes) {
  const size_t size = std::bit_ceil(std::max(bytes, kMinWeightBytes));
  std::vector<cl_mem>& buffers = weight_buffers_[size];
  if (!buffers.empty()) return buffers;
  const std::vector<float> numbers(size / sizeof(float), 0.01f);
  const size_t count =
      is_cpu_device() ? 1 : std::clamp(kWeightBytes / size, size_t{1}, kMaxWeightBuffers);
  for (size_t i = 0; i < count; ++i)
    buffers.push_back(make_buffer(size, CL_MEM_COPY_HOST_PTR, const_cast<float*>(numbers.data())));
  return buffers;
}

bool MeasuredGpu::takes_groups(cl_kernel kernel, size_t items) const {
  size_t most = 0;
  check("clGetKernelWorkGroupInfo",
        api_.clGetKernelWorkGroupInfo(kernel, device_.device, CL_KERNEL_WORK_GROUP_SIZE,
                                      sizeof(most), &most, nullptr));
  return items <= most;
}

std::unique_ptr<PreparedStep> MeasuredGpu::prepare(const KernelInfo& info, const StepCase& item) {
  std::vector<int32_t> tile(kernels::kMaxTileInts);
  tile.resize(kernels::choose_tile(step_of(info, item), facts_, tile.data()));
  return prepare(info, item, tile);
}

std::unique_ptr<PreparedStep> MeasuredGpu::prepare(const KernelInfo& info, const StepCase& item,
                                                   const std::vector<int32_t>& tile) {
  for (const OperandShape& shape : item.operands) {
    if (shape.layout != Layout::Image2d) continue;
    if (!device_.has_images ||
        kernels::image_width(shape) > static_cast<int64_t>(device_.max_image_width) ||
        kernels::image_height(shape) > static_cast<int64_t>(device_.max_image_height))
      return nullptr;
  }
  auto step = std::make_unique<GpuStep>(this, info, item, tile);
  if (!step->is_possible()) return nullptr;
  step->run_us();  // PoCL and some drivers compile for the work-group size at first use
  return step;
}

double MeasuredGpu::kernel_us(cl_kernel kernel, size_t groups, size_t group_items) {
  const size_t local[] = {group_items, 1, 1};
  const size_t global[] = {group_items * groups, 1, 1};
  return wait_and_time_us(enqueue(kernel, global, local));
}

size_t MeasuredGpu::preferred_group_items(cl_kernel kernel) const {
  size_t items = 1;
  check("clGetKernelWorkGroupInfo",
        api_.clGetKernelWorkGroupInfo(kernel, device_.device,
                                      CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof(items),
                                      &items, nullptr));
  return items;
}

double MeasuredGpu::units_us(cl_kernel kernel, size_t group_items) {
  const size_t groups = kProbeGroups * static_cast<size_t>(facts_.units);
  // At the second launch a processor's workers are awake.
  if (is_cpu_device()) kernel_us(kernel, groups, group_items);
  return kernel_us(kernel, groups, group_items);
}

double MeasuredGpu::probe_us() {
  return is_cpu_device() ? units_us(chain_, 1) : units_us(probe_, 64);
}

double MeasuredGpu::crowding() {
  return is_cpu_device() ? units_us(chains_, 1) / units_us(chain_, 1) : 1;
}

void MeasuredGpu::keep_busy(cl_command_queue queue, double us) {
  const size_t global[] = {probe_items(), 1, 1};
  const size_t local[] = {64, 1, 1};
  // If a driver's clock tells nothing, the loop still ends.
  for (double left_us = us; left_us > 0; left_us -= std::max(busy_us_, 1.0))
    check("clEnqueueNDRangeKernel", api_.clEnqueueNDRangeKernel(queue, probe_, 3, nullptr, global,
                                                                local, 0, nullptr, nullptr));
}

double MeasuredGpu::time_call() {
  constexpr int kRounds = 5;
  constexpr int kCalls = 64;
  constexpr double kBusyUs = 2000;
  const size_t one[] = {1, 1, 1};
  std::vector<double> times_us;
  for (int round = 0; round < kRounds; ++round) {
    keep_busy(plain_queue_, kBusyUs);
    const int64_t start_ns = rt::now_ns();
    for (int i = 0; i < kCalls; ++i)
      check("clEnqueueNDRangeKernel",
            api_.clEnqueueNDRangeKernel(plain_queue_, nothing_, 3, nullptr, one, one, 0, nullptr,
                                        nullptr));
    times_us.push_back(micros_since(start_ns) / kCalls);
    check("clFinish", api_.clFinish(plain_queue_));
  }
  return quantile(times_us, 0.5);
}

void MeasuredGpu::finish() { finish(queue_); }

std::string MeasuredGpu::unconfined() const {
  if (cores_.empty() || !is_cpu_device()) return {};
  if (static_cast<size_t>(facts_.units) > cores_.size())
    return "has " + std::to_string(facts_.units) + " units on " + std::to_string(cores_.size()) +
           " cores";
  return thread_off_cores(cores_) < 0 ? "" : "has a thread that may use other cores";
}

}  // namespace codl::profiler
