#include "runtime/src/gpu_queue.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "runtime/src/affinity.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/diag.h"

namespace codl::rt {
namespace {

// OpenCL's state in this process. Sessions may be created on several threads at once.
pthread_mutex_t opencl_mutex = PTHREAD_MUTEX_INITIALIZER;
// True once this process has called OpenCL through codl: threads of the implementation may exist,
// and their cores are settled.
bool opencl_is_started = false;
// Those cores; none: any.
cpu_set_t opencl_cores;

// From here on the polling thread offers its core to others, PoCL's workers among them.
constexpr int64_t kPollYieldAfterNs = 50'000;
// Between two polls, about a microsecond: a poll takes a lock that the device's thread needs too.
constexpr int32_t kPausesPerPoll = 32;
// A wait that has been long already sleeps for so long.
constexpr timespec kSleep = {0, 50'000};
// wait_until_empty(): the deadline has passed, or a command before it failed.
constexpr cl_int kLate = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;

// Called before the first OpenCL call of the process. PoCL starts one worker per core of the
// machine unless told otherwise, and pins worker i to core i if POCL_AFFINITY is set, which would
// undo ours. The environment is the process's: no other thread may be reading it now.
void prepare_environment(size_t core_count) {
  char count[24];  // 20 digits at most
  std::snprintf(count, sizeof(count), "%zu", core_count);
  setenv("POCL_MAX_PTHREAD_COUNT", count, 1);
  unsetenv("POCL_AFFINITY");
}

bool has_transfers(const VariantList& variants) {
  for (const plan::VariantDef* variant : variants)
    for (const plan::StepDef* step : *variant->steps())
      if (queue_of(*step) == Queue::Transfer) return true;
  return false;
}

}  // namespace

codl_status_t start_opencl(const int32_t* cores, size_t core_count, AffinityScope* scope,
                           ClApi* out_api, codl_diag_t* diag) {
  pthread_mutex_lock(&opencl_mutex);
  if (!opencl_is_started && core_count != 0) {
    prepare_environment(core_count);
    scope->enter(cores, core_count);
    sched_getaffinity(0, sizeof(opencl_cores), &opencl_cores);
  }
  opencl_is_started = true;
  pthread_mutex_unlock(&opencl_mutex);
  return load_cl_api(out_api, diag);
}

cl_int poll_event(const ClApi& api, cl_event event, int64_t busy_ns, int64_t most_ns,
                  cl_int* out_state) {
  const int64_t start_ns = now_ns();
  for (;;) {
    const cl_int error = api.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                            sizeof(*out_state), out_state, nullptr);
    if (error != CL_SUCCESS || *out_state <= CL_COMPLETE) return error;
    const int64_t waited_ns = now_ns() - start_ns;
    if (waited_ns > most_ns) return CL_SUCCESS;
    if (waited_ns > busy_ns)
      nanosleep(&kSleep, nullptr);
    else if (waited_ns > kPollYieldAfterNs)
      sched_yield();
    for (int32_t i = 0; i < kPausesPerPoll; ++i) pause_core();
  }
}

codl_status_t GpuQueue::open(const ClApi* api, const VariantList& variants,
                             const GpuQueueOptions& options, codl_diag_t* diag) {
  AffinityScope scope;
  if (api != nullptr) {
    api_ = *api;
  } else {
    const codl_status_t status =
        start_opencl(options.cores, options.core_count, &scope, &api_, diag);
    if (status != CODL_OK) return status;
  }
  const codl_status_t status = open_context(variants, options, diag);
  // This is still inside the scope: what the implementation starts on first use inherits the cores
  // too.
  return status == CODL_OK ? finish(kComputeQueue, diag) : status;
}

codl_status_t GpuQueue::open_context(const VariantList& variants, const GpuQueueOptions& options,
                                     codl_diag_t* diag) {
  codl_status_t status =
      choose_device(api_, options.platform_part, options.device_part, &device_, diag);
  if (status != CODL_OK) return status;
  load_extensions(api_, device_.platform);
  for (const plan::VariantDef* variant : variants) {
    status = check_device(device_, *variant, diag);
    if (status != CODL_OK) return status;
  }
  is_confined_ = options.core_count != 0 && is_processor();
  deadline_ns_ = int64_t{options.deadline_ms} * 1'000'000;
  cl_int error = CL_SUCCESS;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(device_.platform), 0};
  context_ = api_.clCreateContext(properties, 1, &device_.device, nullptr, nullptr, &error);
  if (context_ == nullptr) return cl_fault(diag, "clCreateContext", error);
  const uint32_t queue_count = has_transfers(variants) ? 2 : 1;
  for (uint32_t i = 0; i < queue_count; ++i) {
    queues_[i] = api_.clCreateCommandQueue(
        context_, device_.device, options.record_times ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
    if (queues_[i] == nullptr) return cl_fault(diag, "clCreateCommandQueue", error);
  }
  return CODL_OK;
}

bool GpuQueue::is_processor() const {
  cl_device_type type = 0;
  return api_.clGetDeviceInfo(device_.device, CL_DEVICE_TYPE, sizeof(type), &type, nullptr) ==
             CL_SUCCESS &&
         (type & CL_DEVICE_TYPE_CPU) != 0;
}

bool GpuQueue::may_use_cores(const int32_t* cores, size_t core_count) const {
  if (!is_processor()) return false;
  pthread_mutex_lock(&opencl_mutex);
  const cpu_set_t opencl = opencl_cores;
  pthread_mutex_unlock(&opencl_mutex);
  bool is_shared = core_count == 0 || CPU_COUNT(&opencl) == 0;
  for (size_t i = 0; i < core_count; ++i)
    is_shared = is_shared || CPU_ISSET(static_cast<size_t>(cores[i]), &opencl);
  return is_shared;
}

void GpuQueue::close() {
  // A late device keeps what it was given.
  if (!drain() && is_late_) return;
  for (cl_command_queue& queue : queues_) {
    if (queue != nullptr) api_.clReleaseCommandQueue(queue);
    queue = nullptr;
  }
  if (context_ != nullptr) api_.clReleaseContext(context_);
  context_ = nullptr;
}

bool GpuQueue::takes_early_unmap() {
  if (!device_.has_host_memory) return false;
  constexpr size_t kProbeBytes = 64;  // any
  const cl_command_queue queue = queues_[kComputeQueue];
  cl_int error = CL_SUCCESS;
  const cl_mem buffer = api_.clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                            kProbeBytes, nullptr, &error);
  const cl_event gate = api_.clCreateUserEvent(context_, &error);
  bool is_taken = false;
  if (buffer != nullptr && gate != nullptr) {
    void* mapped = api_.clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_WRITE, 0, kProbeBytes, 1,
                                           &gate, nullptr, &error);
    const auto unmap = [&] {
      return api_.clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr);
    };
    is_taken = mapped != nullptr && unmap() == CL_SUCCESS;
    // Twice: a gate that does not open would be waited for below.
    if (api_.clSetUserEventStatus(gate, CL_COMPLETE) != CL_SUCCESS)
      api_.clSetUserEventStatus(gate, CL_COMPLETE);
    is_taken = drain() && is_taken;
    if (mapped != nullptr && !is_taken && unmap() == CL_SUCCESS) drain();
  }
  if (gate != nullptr) api_.clReleaseEvent(gate);
  if (buffer != nullptr) api_.clReleaseMemObject(buffer);
  return is_taken;
}

codl_status_t GpuQueue::flush(uint32_t index, codl_diag_t* diag) {
  if (!is_dirty_[index]) return CODL_OK;
  is_dirty_[index] = false;
  const cl_int error = api_.clFlush(queues_[index]);
  return error == CL_SUCCESS ? CODL_OK : cl_fault(diag, "clFlush", error);
}

codl_status_t GpuQueue::flush_all(codl_diag_t* diag) {
  for (uint32_t i = 0; i < kQueueCount; ++i) {
    const codl_status_t status = flush(i, diag);
    if (status != CODL_OK) return status;
  }
  return CODL_OK;
}

// Behind a marker: clFinish of Mesa 22.3's Rusticl waits for what no clFlush has submitted yet, and
// with nothing of that returns while commands run. With a deadline the marker is polled instead.
cl_int GpuQueue::wait_until_empty(uint32_t index) {
  is_dirty_[index] = false;
  cl_event event = nullptr;
  const cl_int marked = api_.clEnqueueMarkerWithWaitList(queues_[index], 0, nullptr,
                                                         deadline_ns_ != 0 ? &event : nullptr);
  cl_int finished = CL_SUCCESS;
  if (event != nullptr) {
    cl_int state = CL_QUEUED;
    finished = api_.clFlush(queues_[index]);
    if (finished == CL_SUCCESS) finished = poll(event, &state);
    api_.clReleaseEvent(event);
    if (finished == CL_SUCCESS && state != CL_COMPLETE) return kLate;
  }
  if (finished == CL_SUCCESS) finished = api_.clFinish(queues_[index]);
  return marked != CL_SUCCESS ? marked : finished;
}

// Polls an event for as long as one may wait for the device.
cl_int GpuQueue::poll(cl_event event, cl_int* out_state) {
  const int64_t most_ns = deadline_ns_ != 0 ? deadline_ns_ : is_confined_ ? kPollForever : kPollNs;
  const cl_int error = poll_event(api_, event, std::min(kPollNs, most_ns), most_ns, out_state);
  is_late_ = is_late_ || (deadline_ns_ != 0 && error == CL_SUCCESS && *out_state > CL_COMPLETE);
  return error;
}

codl_status_t GpuQueue::finish(uint32_t index, codl_diag_t* diag) {
  const cl_int error = wait_until_empty(index);
  if (is_late_) return report_late(diag);
  return error == CL_SUCCESS ? CODL_OK : cl_fault(diag, "clFinish", error);
}

codl_status_t GpuQueue::wait(cl_event event, codl_diag_t* diag) {
  cl_int state = CL_QUEUED;
  const cl_int polled = poll(event, &state);
  if (polled != CL_SUCCESS) return cl_fault(diag, "clGetEventInfo", polled);
  if (state < 0) return cl_fault(diag, "a command of the GPU queue", state);
  if (is_late_) return report_late(diag);
  // A polled event is no synchronisation point (OpenCL 1.2, clGetEventInfo): what the command wrote
  // is certain to be seen only after this.
  const cl_int error = api_.clWaitForEvents(1, &event);
  return error == CL_SUCCESS ? CODL_OK : cl_fault(diag, "clWaitForEvents", error);
}

codl_status_t GpuQueue::report_late(codl_diag_t* diag) const {
  set_diag(diag, "device %s: expected it to be done within %lld ms (deadline_ms), found it at work",
           device_.device_name, static_cast<long long>(deadline_ns_ / 1'000'000));
  return CODL_DEVICE_ERROR;
}

bool GpuQueue::drain() {
  bool is_empty = true;
  for (uint32_t i = 0; i < kQueueCount && !is_late_; ++i)
    // Twice: a call that fails once tells nothing of the queue.
    if (queues_[i] != nullptr && wait_until_empty(i) != CL_SUCCESS)
      is_empty = !is_late_ && wait_until_empty(i) == CL_SUCCESS && is_empty;
  return is_empty && !is_late_;
}

}  // namespace codl::rt
