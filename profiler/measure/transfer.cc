#include "profiler/measure/transfer.h"

#include <algorithm>
#include <cstdio>

#include "profiler/fit/fit.h"
#include "runtime/src/cpu_pool.h"
#include "runtime/src/gpu_flags.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/gpu_recorder.h"

namespace codl::profiler {
namespace {

constexpr int kRounds = 31;
constexpr size_t kCopyBytes[] = {size_t{4} << 10,   size_t{32} << 10, size_t{128} << 10,
                                 size_t{512} << 10, size_t{2} << 20,  size_t{8} << 20};
// Copies of so few bytes, around a kernel, take no more than their start.
constexpr size_t kFewBytes = kCopyBytes[0];
// Sizes of data that one processor makes and the other reads: some fit a second-level cache, some
// do not.
constexpr size_t kSharedBytes[] = {size_t{32} << 10, size_t{128} << 10, size_t{512} << 10,
                                   size_t{2} << 20};
constexpr size_t kMaxSharedBytes = kSharedBytes[std::size(kSharedBytes) - 1];
// The GPU's work meanwhile takes so long: after it the CPU's workers sleep (CpuPool spins for 200
// us).
constexpr double kAwayUs = 400;
// A full queue has so many commands.
constexpr int kFew = 16;
constexpr int kMany = 100;

// Holds megabytes and times of the points of one name.
using Curve = std::vector<std::pair<double, double>>;
Curve curve_of(const std::vector<TransferPoint>& points, std::string_view name) {
  Curve curve;
  for (const TransferPoint& point : points)
    if (point.name == name) curve.emplace_back(point.bytes * 1e-6, point.us);
  return curve;
}

double us_of(const std::vector<TransferPoint>& points, std::string_view name) {
  const Curve curve = curve_of(points, name);
  return curve.empty() ? 0 : curve[0].second;
}

// Drives the two queues of a plan, which take no times of commands.
class Transfer {
 public:
  Transfer(MeasuredGpu& processor, MeasuredCpu& cpu)
      : processor_(processor), cpu_(cpu), api_(processor.api()) {
    for (cl_command_queue& queue : queues_) queue = processor.make_queue(0);
    device_ = processor.make_buffer(kCopyBytes[std::size(kCopyBytes) - 1], 0, nullptr);
    host_.resize(kCopyBytes[std::size(kCopyBytes) - 1], 1);
    host_copy_.resize(kMaxSharedBytes, 1);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() {
    api_.clReleaseMemObject(device_);
    for (cl_command_queue queue : queues_) api_.clReleaseCommandQueue(queue);
  }

  std::vector<TransferPoint> run(const std::vector<int32_t>& cpu_cores) {
    time_launches();
    time_turns();
    time_session_queue(cpu_cores);
    for (size_t bytes : kCopyBytes) {
      time_copies("upload", bytes, true);
      time_copies("download", bytes, false);
      time_maps(bytes);
    }
    time_chain();
    time_download_behind_kernel();
    for (size_t bytes : kSharedBytes) {
      if (processor_.device().has_host_memory)
        time_shared_memory(bytes);
      else
        time_copy_behind_download(bytes);
    }
    return std::move(points_);
  }

 private:
  enum Queue { kCompute, kTransfer };

  void keep_gpu_busy() { processor_.keep_busy(queues_[kCompute], kAwayUs); }

  // `round` adds its times to the vectors; one more round comes first and does not count.
  template <typename Round>
  void add_points(std::initializer_list<const char*> names, size_t bytes, Round round) {
    std::vector<std::vector<double>> times(names.size());
    for (int i = 0; i <= kRounds; ++i) {
      std::vector<double> own(names.size());
      finish();
      round(own.data());
      if (i > 0)
        for (size_t k = 0; k < own.size(); ++k) times[k].push_back(own[k]);
    }
    for (size_t k = 0; k < times.size(); ++k)
      points_.push_back({names.begin()[k], static_cast<double>(bytes), quantile(times[k], 0.5)});
  }

  void finish() {
    for (cl_command_queue queue : queues_) processor_.finish(queue);
  }
  void flush(Queue queue) { processor_.check("clFlush", api_.clFlush(queues_[queue])); }

  void launch(cl_kernel kernel, const cl_event* wait, cl_event* out_event) {
    const bool is_nothing = kernel == processor_.nothing_kernel();
    const size_t global[] = {is_nothing ? 1 : processor_.probe_items(), 1, 1};
    const size_t local[] = {is_nothing ? 1 : size_t{64}, 1, 1};
    processor_.check("clEnqueueNDRangeKernel",
                     api_.clEnqueueNDRangeKernel(queues_[kCompute], kernel, 3, nullptr, global,
                                                 local, wait != nullptr ? 1 : 0, wait, out_event));
  }
  void copy(bool is_upload, size_t bytes, const cl_event* wait, cl_event* out_event) {
    const cl_uint wait_count = wait != nullptr ? 1 : 0;
    processor_.check(
        "clEnqueueWriteBuffer, clEnqueueReadBuffer",
        is_upload ? api_.clEnqueueWriteBuffer(queues_[kTransfer], device_, CL_FALSE, 0, bytes,
                                              host_.data(), wait_count, wait, out_event)
                  : api_.clEnqueueReadBuffer(queues_[kTransfer], device_, CL_FALSE, 0, bytes,
                                             host_.data(), wait_count, wait, out_event));
  }

  void wait(cl_event event) { processor_.wait(event); }

  void time_launches() {
    const auto launch_all = [&](int count) {
      for (int i = 0; i < count; ++i) launch(processor_.nothing_kernel(), nullptr, nullptr);
    };
    add_points({"enqueue"}, 0, [&](double* us) {
      keep_gpu_busy();
      const int64_t start_ns = rt::now_ns();
      launch_all(kFew);
      us[0] = micros_since(start_ns) / kFew;
    });
    // Runs after work that keeps the device busy until the host is done; otherwise many launches
    // would take the host's time.
    const double busy_us = 2 * kMany * us_of(points_, "enqueue");
    const auto add_launches = [&](const char* name, int count) {
      add_points({name}, 0, [&](double* us) {
        const int64_t start_ns = rt::now_ns();
        processor_.keep_busy(queues_[kCompute], busy_us);
        launch_all(count);
        finish();
        us[0] = micros_since(start_ns);
      });
    };
    add_launches("few_launches", kFew);
    add_launches("many_launches", kMany);
  }

  // Times going there and back: an empty kernel, until the host sees it done.
  void time_turns() {
    add_points({"turn_call", "turn"}, 0, [&](double* us) {
      cl_event event = nullptr;
      const int64_t start_ns = rt::now_ns();
      launch(processor_.nothing_kernel(), nullptr, &event);
      flush(kCompute);
      us[0] = micros_since(start_ns);
      wait(event);
      us[1] = micros_since(start_ns);
      api_.clReleaseEvent(event);
    });
  }

  // Times what a queue like a session's has besides.
  void time_session_queue(const std::vector<int32_t>& cpu_cores) {
    codl_diag_t reason = {};
    rt::GpuQueue gpu;
    rt::GpuQueueOptions options;
    options.platform_part = processor_.device().platform_name;
    options.device_part = processor_.device().device_name;
    if (gpu.open(&api_, {}, options, &reason) != CODL_OK) {
      std::fprintf(stderr, "waits by flag and recordings are not timed: %s\n", reason.message);
      return;
    }
    time_recordings(gpu);
    time_flags(gpu, cpu_cores);
  }

  // Times a recording and the calls that it replaces in one queue. A driver that refuses it has
  // none.
  void time_recordings(rt::GpuQueue& gpu) {
    codl_diag_t reason = {};
    rt::GpuRecorder recorder;
    if (!recorder.open(gpu, &reason)) return;
    cl_int error = CL_SUCCESS;
    const char* text = "kernel void codl_nothing() {}";
    const cl_program program =
        api_.clCreateProgramWithSource(gpu.context(), 1, &text, nullptr, &error);
    processor_.check("clCreateProgramWithSource", error);
    processor_.check("clBuildProgram",
                     api_.clBuildProgram(program, 1, &gpu.device().device, "", nullptr, nullptr));
    rt::GpuKernel nothing;
    nothing.kernel = api_.clCreateKernel(program, "codl_nothing", &error);
    nothing.has_local = true;
    processor_.check("clCreateKernel", error);
    rt::GpuRecording recording = nullptr;
    error = recorder.begin(&recording);
    for (int i = 0; i < kFew && error == CL_SUCCESS; ++i) error = recorder.add(recording, nothing);
    if (error == CL_SUCCESS) error = recorder.end(recording);
    if (error == CL_SUCCESS)
      add_points({"recorded", "unrecorded"}, 0, [&](double* us) {
        keep_gpu_busy();
        int64_t start_ns = rt::now_ns();
        processor_.check("a recording", recorder.enqueue(recording, 0, nullptr, nullptr));
        us[0] = micros_since(start_ns) / kFew;
        gpu.drain();
        keep_gpu_busy();
        start_ns = rt::now_ns();
        for (int i = 0; i < kFew; ++i)
          processor_.check("clEnqueueNDRangeKernel", nothing.enqueue(gpu, 0, nullptr, nullptr));
        us[1] = micros_since(start_ns) / kFew;
        gpu.drain();
      });
    if (recording != nullptr) recorder.release(recording);
    api_.clReleaseKernel(nothing.kernel);
    api_.clReleaseProgram(program);
  }

  // There and back, with the GPU waiting already.
  void time_flags(rt::GpuQueue& gpu, const std::vector<int32_t>& cpu_cores) {
    codl_diag_t reason = {};
    rt::GpuFlags flags;
    rt::AffinityScope scope;
    if (!cpu_cores.empty()) scope.enter(cpu_cores.data(), cpu_cores.size());
    if (!flags.open(gpu, nullptr, cpu_cores.data(), cpu_cores.size(), &reason)) {
      std::fprintf(stderr, "waits are by event: %s\n", reason.message);
      return;
    }
    add_points({"flag_turn"}, 0, [&](double* us) {
      flags.begin_run();
      processor_.check("a wait for a flag", flags.enqueue_wait(1));
      processor_.check("a flag", flags.enqueue_set(1));
      processor_.check("clFlush", api_.clFlush(gpu.queue(rt::kComputeQueue)));
      const int64_t begin_ns = rt::now_ns();
      while (micros_since(begin_ns) < kAwayUs) rt::pause_core();
      const int64_t start_ns = rt::now_ns();
      flags.set(1);
      flags.wait(1, rt::kPollForever);
      us[0] = micros_since(start_ns);
      gpu.drain();
    });
  }

  void time_copies(const std::string& name, size_t bytes, bool is_upload) {
    add_points({(name + "_call").c_str(), name.c_str()}, bytes, [&](double* us) {
      cl_event event = nullptr;
      const int64_t start_ns = rt::now_ns();
      copy(is_upload, bytes, nullptr, &event);
      flush(kTransfer);
      us[0] = micros_since(start_ns);
      wait(event);
      us[1] = micros_since(start_ns);
      api_.clReleaseEvent(event);
    });
  }

  void time_maps(size_t bytes) {
    const cl_mem shared = processor_.make_buffer(bytes, CL_MEM_ALLOC_HOST_PTR, nullptr);
    add_points({"map"}, bytes, [&](double* us) {
      const int64_t start_ns = rt::now_ns();
      unmap(shared, map(shared, bytes));
      us[0] = micros_since(start_ns);
    });
    api_.clReleaseMemObject(shared);
  }

  // Times upload, kernel and download, each of which waits for the one before.
  void time_chain() {
    add_points({"chain"}, kFewBytes, [&](double* us) {
      cl_event events[3] = {};
      const int64_t start_ns = rt::now_ns();
      copy(true, kFewBytes, nullptr, &events[0]);
      flush(kTransfer);
      launch(processor_.nothing_kernel(), &events[0], &events[1]);
      flush(kCompute);
      copy(false, kFewBytes, &events[1], &events[2]);
      flush(kTransfer);
      wait(events[2]);
      us[0] = micros_since(start_ns);
      for (cl_event event : events) api_.clReleaseEvent(event);
    });
  }

  // Finds out whether the host could compute meanwhile.
  void time_download_behind_kernel() {
    add_points({"behind_kernel_call", "behind_kernel"}, kFewBytes, [&](double* us) {
      cl_event events[2] = {};
      launch(processor_.probe_kernel(), nullptr, nullptr);
      launch(processor_.probe_kernel(), nullptr, &events[0]);
      flush(kCompute);
      const int64_t start_ns = rt::now_ns();
      copy(false, kFewBytes, &events[0], &events[1]);
      flush(kTransfer);
      us[0] = micros_since(start_ns);
      wait(events[1]);
      us[1] = micros_since(start_ns);
      for (cl_event event : events) api_.clReleaseEvent(event);
    });
  }

  // Times the CPU's step after the GPU's, and the same step with its inputs in the caches.
  double copy_us(const uint8_t* from, size_t bytes) {
    const int64_t start_ns = rt::now_ns();
    cpu_.copy(host_copy_.data(), from, bytes);
    return micros_since(start_ns);
  }
  double copy_from_caches_us(const uint8_t* from, size_t bytes) {
    cpu_.leave_in_caches(from, bytes);
    return copy_us(from, bytes);
  }

  void time_copy_behind_download(size_t bytes) {
    add_points({"copy_behind_gpu", "copy_from_caches"}, bytes, [&](double* us) {
      cpu_.leave_in_caches(nullptr, 0);
      keep_gpu_busy();
      finish();
      cl_event event = nullptr;
      copy(false, bytes, nullptr, &event);
      flush(kTransfer);
      wait(event);
      us[0] = copy_us(host_.data(), bytes);
      us[1] = copy_from_caches_us(host_.data(), bytes);
      api_.clReleaseEvent(event);
    });
  }

  void time_shared_memory(size_t bytes) {
    const cl_mem shared = processor_.make_buffer(bytes, CL_MEM_ALLOC_HOST_PTR, nullptr);
    const auto count = static_cast<cl_int>(bytes / sizeof(float));
    const cl_kernel write = processor_.write_kernel();
    processor_.check("clSetKernelArg", api_.clSetKernelArg(write, 0, sizeof(shared), &shared));
    processor_.check("clSetKernelArg", api_.clSetKernelArg(write, 1, sizeof(count), &count));
    add_points({"copy_behind_gpu", "copy_from_caches", "read_behind_cpu", "read_from_caches"},
               bytes, [&](double* us) {
                 cpu_.leave_in_caches(nullptr, 0);
                 keep_gpu_busy();
                 launch(write, nullptr, nullptr);
                 uint8_t* mapped = map(shared, bytes);
                 us[0] = copy_us(mapped, bytes);
                 us[1] = copy_from_caches_us(mapped, bytes);
                 cpu_.copy(mapped, host_copy_.data(), bytes);
                 unmap(shared, mapped);
                 us[2] = processor_.read_us(shared, bytes);
                 us[3] = processor_.read_us(shared, bytes);
               });
    api_.clReleaseMemObject(shared);
  }

  // Blocks until the buffer is mapped.
  uint8_t* map(cl_mem buffer, size_t bytes) {
    cl_int error = CL_SUCCESS;
    void* mapped =
        api_.clEnqueueMapBuffer(queues_[kCompute], buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                bytes, 0, nullptr, nullptr, &error);
    processor_.check("clEnqueueMapBuffer", error);
    return static_cast<uint8_t*>(mapped);
  }
  void unmap(cl_mem buffer, void* mapped) {
    processor_.check(
        "clEnqueueUnmapMemObject",
        api_.clEnqueueUnmapMemObject(queues_[kCompute], buffer, mapped, 0, nullptr, nullptr));
    finish();
  }

  MeasuredGpu& processor_;
  MeasuredCpu& cpu_;
  const rt::ClApi& api_;
  cl_command_queue queues_[2] = {};
  cl_mem device_ = nullptr;
  std::vector<uint8_t> host_;
  std::vector<uint8_t> host_copy_;
  std::vector<TransferPoint> points_;
};

TransferLine line_through(const Curve& curve) {
  // Shorter times show the clock more than the work.
  constexpr double kMinUs = 0.1;
  std::vector<std::vector<double>> rows;
  for (const auto& [mb, given_us] : curve) {
    const double us = std::max(given_us, kMinUs);
    rows.push_back({1 / us, mb / us});
  }
  if (rows.empty()) return {};
  const std::vector<double> line = nearest_to_one(rows, std::vector<double>(rows.size(), 1.0));
  return {line[0], line[1]};
}

// Returns how much longer the first takes than the second, as a line.
TransferLine line_of_differences(const std::vector<TransferPoint>& points, std::string_view longer,
                                 std::string_view shorter) {
  Curve curve = curve_of(points, longer);
  const Curve other = curve_of(points, shorter);
  size_t used = 0;
  for (; used < std::min(curve.size(), other.size()); ++used) {
    curve[used].second -= other[used].second;
    // Data that no cache holds comes from memory in both.
    if (curve[used].second <= 0 && used >= 2) break;
  }
  curve.resize(used);
  return line_through(curve);
}

// `idle_us` is what passes for a command that takes no time, from its call's end until the host
// sees it done.
CopyTimes copy_times_of(const std::vector<TransferPoint>& points, const std::string& name,
                        double idle_us) {
  const Curve call = curve_of(points, name + "_call");
  Curve rest = curve_of(points, name);
  for (size_t i = 0; i < std::min(rest.size(), call.size()); ++i)
    rest[i].second -= call[i].second + idle_us;
  return {line_through(call), line_through(rest)};
}

}  // namespace

std::vector<TransferPoint> time_transfers(MeasuredGpu& processor, MeasuredCpu& cpu,
                                          const std::vector<int32_t>& cpu_cores) {
  return Transfer(processor, cpu).run(cpu_cores);
}

TransferTimes transfer_times_of(const std::vector<TransferPoint>& points) {
  TransferTimes times;
  times.launch_us = std::max(
      0.0, (us_of(points, "many_launches") - us_of(points, "few_launches")) / (kMany - kFew));
  times.enqueue_us = us_of(points, "enqueue");
  times.submit_us = us_of(points, "turn_call");
  if (us_of(points, "unrecorded") > 0)
    times.recorded_us = times.enqueue_us * us_of(points, "recorded") / us_of(points, "unrecorded");
  // An empty kernel takes a launch, as its model says. Nothing tells whether the rest comes before
  // or after it.
  const double idle_us =
      std::max(0.0, us_of(points, "turn") - us_of(points, "turn_call") - times.launch_us);
  times.start_us = times.wake_us = idle_us / 2;
  // The kernel of one flag is launched behind that of the other, and there is one of each in a
  // plan.
  if (us_of(points, "flag_turn") > 0)
    times.flag_us = (us_of(points, "flag_turn") + times.launch_us) / 2;
  times.map = line_through(curve_of(points, "map"));
  times.upload = copy_times_of(points, "upload", idle_us);
  times.download = copy_times_of(points, "download", idle_us);
  const double mb = static_cast<double>(kFewBytes) * 1e-6;
  const auto at = [mb](const TransferLine& line) { return line.fixed_us + line.us_per_mb * mb; };
  const double parts_us = at(times.upload.call) + at(times.upload.rest) + times.launch_us +
                          at(times.download.rest) + idle_us;
  times.queue_us = std::max(0.0, (us_of(points, "chain") - parts_us) / 2);
  times.cpu_resume = line_of_differences(points, "copy_behind_gpu", "copy_from_caches");
  times.gpu_cold_us_per_mb =
      line_of_differences(points, "read_behind_cpu", "read_from_caches").us_per_mb;
  times.download_call_waits =
      us_of(points, "behind_kernel_call") > us_of(points, "behind_kernel") / 2;
  return times;
}

}  // namespace codl::profiler
