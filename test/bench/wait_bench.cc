// Synchronises this thread with an OpenCL device, on cores of their own, and prints what that takes
// by each kind of wait, or that none of many was lost.
//
//   wait_bench CPU_CORE GPU_CORE --times=N    each kind and direction N times, in turn
//   wait_bench CPU_CORE GPU_CORE --count=N    N by flag each way, with random delays
//
// Exits with 77 where there are no such cores or no flags.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/src/affinity.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/gpu_flags.h"
#include "runtime/src/gpu_queue.h"
#include "schema/mix_bits.h"

namespace codl::rt {
namespace {

constexpr int kSkip = 77;

[[noreturn]] void fail(const char* what, int exit_code = 1) {
  std::fprintf(stderr, "wait_bench: %s\n", what);
  std::exit(exit_code);
}

void check(cl_int error, const char* call) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "wait_bench: %s: OpenCL error %d\n", call, static_cast<int>(error));
  std::exit(1);
}

constexpr const char* kText = R"(
kernel void work(global uint* data, uint rounds) {
  uint x = data[0];
  for (uint i = 0; i < rounds; ++i) x = x * 1664525 + 1013904223;
  data[0] = x;
}
)";

struct Sample {
  const char* name;
  std::vector<double> us;
};

class Clock {
 public:
  Clock(GpuQueue& gpu, GpuFlags& flags) : gpu_(gpu), api_(gpu.api()), flags_(flags) {
    cl_int error = CL_SUCCESS;
    const char* text = kText;
    const cl_program program =
        api_.clCreateProgramWithSource(gpu.context(), 1, &text, nullptr, &error);
    check(error, "clCreateProgramWithSource");
    check(api_.clBuildProgram(program, 1, &gpu.device().device, "", nullptr, nullptr),
          "clBuildProgram");
    kernel_ = api_.clCreateKernel(program, "work", &error);
    check(error, "clCreateKernel");
    const cl_mem data =
        api_.clCreateBuffer(gpu.context(), CL_MEM_READ_WRITE, sizeof(cl_uint), nullptr, &error);
    check(error, "clCreateBuffer");
    const cl_uint rounds = 20000;  // some 20 us
    check(api_.clSetKernelArg(kernel_, 0, sizeof(data), &data), "clSetKernelArg");
    check(api_.clSetKernelArg(kernel_, 1, sizeof(rounds), &rounds), "clSetKernelArg");
  }

  // From the end of a GPU's kernel to the host: 0 waits in the driver, 1 polls, 2 by flag.
  double to_cpu_us(int kind) {
    flags_.begin_run();
    const cl_event event = work(nullptr);
    if (kind == 2) check(flags_.enqueue_set(1), "a flag");
    check(api_.clFlush(queue()), "clFlush");
    cl_int state = CL_QUEUED;
    if (kind == 0)
      check(api_.clWaitForEvents(1, &event), "clWaitForEvents");
    else if (kind == 1)
      check(poll_event(api_, event, kPollNs, kPollForever, &state), "clGetEventInfo");
    else if (!flags_.wait(1, kPollNs * 1000))
      fail("a flag did not come");
    const int64_t seen_ns = now_ns();
    finish();
    return static_cast<double>(seen_ns - (time_of(event, CL_PROFILING_COMMAND_END) + shift_ns_)) /
           1000;
  }

  // From the host to the start of a GPU's kernel: 0 is enqueued then, 1 waits for a user event, 2
  // for a flag.
  double to_gpu_us(int kind) {
    flags_.begin_run();
    cl_int error = CL_SUCCESS;
    cl_event gate = nullptr;
    cl_event event = nullptr;
    if (kind == 1) gate = api_.clCreateUserEvent(gpu_.context(), &error);
    check(error, "clCreateUserEvent");
    if (kind == 2) check(flags_.enqueue_wait(1), "a wait for a flag");
    if (kind != 0) {
      event = work(gate);
      check(api_.clFlush(queue()), "clFlush");
    }
    const int64_t idle_ns = now_ns();
    while (now_ns() - idle_ns < 50'000) pause_core();
    const int64_t start_ns = now_ns();
    if (kind == 0) {
      event = work(nullptr);
      check(api_.clFlush(queue()), "clFlush");
    } else if (kind == 1) {
      check(api_.clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    } else {
      flags_.set(1);
    }
    cl_int state = CL_QUEUED;
    check(poll_event(api_, event, kPollNs, kPollForever, &state), "clGetEventInfo");
    finish();
    if (gate != nullptr) api_.clReleaseEvent(gate);
    return static_cast<double>(time_of(event, CL_PROFILING_COMMAND_START) + shift_ns_ - start_ns) /
           1000;
  }

 private:
  cl_command_queue queue() const { return gpu_.queue(kComputeQueue); }
  void finish() const { check(api_.clFinish(queue()), "clFinish"); }

  // The device's clock is moved to the host's by the quickest of all calls so far.
  cl_event work(cl_event gate) {
    const size_t one = 1;
    cl_event event = nullptr;
    called_ns_ = now_ns();
    check(api_.clEnqueueNDRangeKernel(queue(), kernel_, 1, nullptr, &one, &one, gate != nullptr,
                                      gate != nullptr ? &gate : nullptr, &event),
          "clEnqueueNDRangeKernel");
    return event;
  }

  int64_t time_of(cl_event event, cl_profiling_info what) {
    cl_ulong queued = 0, time = 0;
    check(api_.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof(queued), &queued,
                                       nullptr),
          "clGetEventProfilingInfo");
    check(api_.clGetEventProfilingInfo(event, what, sizeof(time), &time, nullptr),
          "clGetEventProfilingInfo");
    shift_ns_ = std::max(shift_ns_, called_ns_ - static_cast<int64_t>(queued));
    api_.clReleaseEvent(event);
    return static_cast<int64_t>(time);
  }

  GpuQueue& gpu_;
  const ClApi& api_;
  GpuFlags& flags_;
  cl_kernel kernel_ = nullptr;
  int64_t called_ns_ = 0;
  int64_t shift_ns_ = INT64_MIN;
};

void print(Sample& sample) {
  std::vector<double>& us = sample.us;
  std::sort(us.begin(), us.end());
  std::printf("%-34s %8.2f %8.2f\n", sample.name, us[us.size() / 2], us[us.size() * 99 / 100]);
}

void print_times(GpuQueue& gpu, GpuFlags& flags, int rounds) {
  Clock clock(gpu, flags);
  Sample samples[] = {{"to the CPU, clWaitForEvents", {}},
                      {"to the CPU, event polled", {}},
                      {"to the CPU, flag", {}},
                      {"to the GPU, enqueued then", {}},
                      {"to the GPU, user event", {}},
                      {"to the GPU, flag", {}}};
  constexpr int kWarmUp = 50;
  for (int i = 0; i < rounds + kWarmUp; ++i)
    for (int k = 0; k < 6; ++k) {
      const double us = k < 3 ? clock.to_cpu_us(k) : clock.to_gpu_us(k - 3);
      if (i >= kWarmUp) samples[k].us.push_back(us);
    }
  std::printf("%-34s %8s %8s\n", "us", "median", "p99");
  for (Sample& sample : samples) print(sample);
}

int run(int argc, char** argv) {
  if (argc != 4) fail("expected CPU_CORE GPU_CORE --times=N or --count=N");
  const int32_t cpu_core = std::atoi(argv[1]);
  const int32_t gpu_core = std::atoi(argv[2]);
  const int32_t cores[] = {cpu_core, gpu_core};
  if (cpu_core == gpu_core || first_unusable_core(cores, 2) >= 0)
    fail("[SKIP] no two cores", kSkip);
  codl_diag_t diag = {};
  GpuQueue gpu;
  GpuQueueOptions options;
  options.cores = &gpu_core;
  options.core_count = 1;
  options.record_times = std::strncmp(argv[3], "--times=", 8) == 0;
  if (gpu.open(nullptr, {}, options, &diag) != CODL_OK) fail(diag.message, kSkip);
  GpuFlags flags;
  // Without flags there is nothing to test; flags that fail their test are a fault.
  if (!flags.open(gpu, nullptr, &cpu_core, 1, &diag))
    fail(diag.message, gpu.device().has_svm_atomics ? 1 : kSkip);
  pin_to_core(cpu_core);
  const long count = std::atol(argv[3] + 8);
  if (count <= 0) fail("expected a number above 0");
  if (options.record_times) {
    print_times(gpu, flags, static_cast<int>(count));
    return 0;
  }
  // A seed for each million shows how far it came.
  constexpr long kPart = 1'000'000;
  for (long done = 0; done < count; done += kPart) {
    const auto part = static_cast<uint32_t>(std::min(kPart, count - done));
    if (!flags.exchange(part, static_cast<uint64_t>(done) + 1, &diag)) fail(diag.message);
  }
  std::printf("%ld synchronisations each way by flag, none lost\n", count);
  return 0;
}

}  // namespace
}  // namespace codl::rt

int main(int argc, char** argv) { return codl::rt::run(argc, argv); }
