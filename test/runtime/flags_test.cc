// Tests waits by flag on a simulated driver that runs the kernels of flags, and no others, in a
// thread of its own: that they synchronise, each reason to refuse them, and how a run ends in which
// one does not come. test/bench/wait_bench.cc uses this machine's OpenCL, test/kernels/oclgrind.sh
// a simulator for their kernels.
#include <time.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/src/gpu_flags.h"
#include "runtime/src/gpu_queue.h"
#include "runtime/src/job_gate.h"
#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"
#include "test/support/machine_opencl.h"

namespace codl::test {
namespace {

using Options = codl_session_options_t;

struct Behaviour {
  bool starts_at_finish = false;  // no command starts before the host waits for all
  bool loses_data = false;        // the bytes written before a flag are not seen behind it
  bool tells_running = false;     // events are complete when all that was started is
};

// The arguments of a kernel.
struct Arguments {
  std::string name;
  uint32_t* words = nullptr;
  uint32_t number = 0;
  uint32_t reads = 0;
};

// Commands start when the queue is flushed, not before, as some drivers have it.
class FlagDriver {
 public:
  explicit FlagDriver(const Behaviour& given = {}) : behaviour(given), api_(fake.api()) {
    current = this;
    api_.clCreateKernel = [](cl_program program, const char* name, cl_int* error) {
      const cl_kernel kernel = current->fake.api().clCreateKernel(program, name, error);
      current->kernels_[kernel].name = name;
      return kernel;
    };
    api_.clSetKernelArgSVMPointer = [](cl_kernel kernel, cl_uint index, const void* pointer) {
      if (index == 0)
        current->kernels_[kernel].words = static_cast<uint32_t*>(const_cast<void*>(pointer));
      return current->fake.api().clSetKernelArgSVMPointer(kernel, index, pointer);
    };
    api_.clSetKernelArg = [](cl_kernel kernel, cl_uint index, size_t size, const void* value) {
      Arguments& arguments = current->kernels_[kernel];
      if (index == 1 && size == 4) std::memcpy(&arguments.number, value, size);
      if (index == 2 && size == 4) std::memcpy(&arguments.reads, value, size);
      return current->fake.api().clSetKernelArg(kernel, index, size, value);
    };
    api_.clEnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t* offset, const size_t* global,
                                     const size_t* local, cl_uint wait_count, const cl_event* waits,
                                     cl_event* event) {
      const cl_int error = current->fake.api().clEnqueueNDRangeKernel(
          queue, kernel, dims, offset, global, local, wait_count, waits, event);
      if (error == CL_SUCCESS) current->held_.push_back(current->kernels_[kernel]);
      return error;
    };
    // Arguments are read when a recording is enqueued, as by PoCL 3.1.
    api_.clCommandNDRangeKernelKHR = [](cl_command_buffer_khr buffer, cl_command_queue,
                                        const cl_ndrange_kernel_command_properties_khr*,
                                        cl_kernel kernel, cl_uint, const size_t*, const size_t*,
                                        const size_t*, cl_uint, const cl_sync_point_khr*,
                                        cl_sync_point_khr*, cl_mutable_command_khr*) {
      current->recorded_[buffer].push_back(kernel);
      return cl_int{CL_SUCCESS};
    };
    api_.clEnqueueCommandBufferKHR = [](cl_uint count, cl_command_queue* queues,
                                        cl_command_buffer_khr buffer, cl_uint wait_count,
                                        const cl_event* waits, cl_event* event) {
      for (const cl_kernel kernel : current->recorded_[buffer])
        current->held_.push_back(current->kernels_[kernel]);
      return current->fake.api().clEnqueueCommandBufferKHR(count, queues, buffer, wait_count, waits,
                                                           event);
    };
    api_.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id platform, const char* name) {
      const std::string function = name;
      if (function == "clCommandNDRangeKernelKHR")
        return reinterpret_cast<void*>(current->api_.clCommandNDRangeKernelKHR);
      if (function == "clEnqueueCommandBufferKHR")
        return reinterpret_cast<void*>(current->api_.clEnqueueCommandBufferKHR);
      return current->fake.api().clGetExtensionFunctionAddressForPlatform(platform, name);
    };
    api_.clFlush = [](cl_command_queue queue) {
      if (!current->behaviour.starts_at_finish) current->start();
      return current->fake.api().clFlush(queue);
    };
    api_.clGetEventInfo = [](cl_event event, cl_event_info name, size_t size, void* value,
                             size_t* value_bytes) {
      const cl_int error =
          current->fake.api().clGetEventInfo(event, name, size, value, value_bytes);
      if (current->behaviour.tells_running && current->is_at_work())
        *static_cast<cl_int*>(value) = CL_RUNNING;
      return error;
    };
    api_.clFinish = [](cl_command_queue queue) {
      current->start();
      current->wait_until_done();
      return current->fake.api().clFinish(queue);
    };
    thread_ = std::thread([this] { work(); });
  }
  ~FlagDriver() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
    current = nullptr;
  }

  const rt::ClApi& api() const { return api_; }
  size_t held_count() const { return held_.size(); }

  FakeCl fake;
  Behaviour behaviour;
  std::atomic<bool> gives_up = false;  // waits find nothing, however long
  std::atomic<int> late_ms = 0;        // the device sets flags so late
  std::atomic<int> set_count = 0;      // flags that the device has set

 private:
  static FlagDriver* current;

  void start() {
    const std::lock_guard lock(mutex_);
    started_.insert(started_.end(), held_.begin(), held_.end());
    held_.clear();
    changed_.notify_all();
  }

  bool is_at_work() {
    const std::lock_guard lock(mutex_);
    return !started_.empty();
  }

  void wait_until_done() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return started_.empty(); });
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_over_ || !started_.empty(); });
      if (is_over_) return;
      const Arguments command = started_.front();
      lock.unlock();
      run(command);
      lock.lock();
      started_.pop_front();
      changed_.notify_all();
    }
  }

  // Does what the text of gpu_flags.cc says.
  void run(const Arguments& command) {
    constexpr size_t kApart = 32;
    const auto word = [&command](size_t line) {
      return reinterpret_cast<std::atomic<uint32_t>*>(command.words + line * kApart);
    };
    if (command.name == "codl_set") {
      std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
      ++set_count;
      *word(1) = command.number;
    } else if (command.name == "codl_wait") {
      if (*word(2) != 0) return;
      // A read takes 100 ns of this thread, however long other programs have the core meanwhile.
      const auto now_ns = [] {
        timespec time = {};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
      };
      const int64_t end_ns = now_ns() + int64_t{command.reads} * 100;
      while (!gives_up && now_ns() < end_ns) {
        if (*word(0) >= command.number) return;
        // The host's thread may have to have this core.
        std::this_thread::yield();
      }
      *word(2) = command.number;
    } else if (command.name == "codl_echo") {
      uint32_t data = *word(3);
      for (uint32_t i = 0; i < command.number; ++i) data = data * 1664525 + 1013904223;
      *word(4) = behaviour.loses_data ? 0 : data;
    }
  }

  rt::ClApi api_;
  std::map<cl_kernel, Arguments> kernels_;
  std::map<cl_command_buffer_khr, std::vector<cl_kernel>> recorded_;
  std::deque<Arguments> held_;  // not flushed; the host's thread has it alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Arguments> started_;
  bool is_over_ = false;
  std::thread thread_;
};

FlagDriver* FlagDriver::current = nullptr;

TestPlan flag_plan(Gate gate = Gate::HostEnqueue) {
  TestPlan plan = relu_plan({.gate = gate});
  for (TestStep& step : plan.variants[0].steps)
    step.wait_kinds.assign(step.waits.size(), static_cast<uint8_t>(WaitKind::Flag));
  return plan;
}

// Keeps what sessions store.
struct KeptFlags {
  std::map<std::string, std::string> kept;
  codl_program_cache_t cache = {this,
                                [](void* context, const char* key, void* data, size_t capacity) {
                                  const auto& all = static_cast<KeptFlags*>(context)->kept;
                                  const auto found = all.find(key);
                                  if (found == all.end()) return size_t{0};
                                  if (found->second.size() <= capacity)
                                    std::memcpy(data, found->second.data(), found->second.size());
                                  return found->second.size();
                                },
                                [](void* context, const char* key, const void* data, size_t size) {
                                  static_cast<KeptFlags*>(context)->kept[key].assign(
                                      static_cast<const char*>(data), size);
                                }};
};

TEST_CASE("a run by flags is enqueued ahead and flushed, and the host waits in no call") {
  for (const Gate gate : {Gate::HostEnqueue, Gate::UserEvent}) {
    const OpenPlan plan(flag_plan(gate));
    FlagDriver driver;
    ReluSession session(plan, ReluSession::defaults(), &driver.api());
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    CHECK(std::string(session.info().flag_refusal) == "");
    // A flag that takes 3 ms, because the device's thread has no core, has the host ask for the
    // event.
    bool was_quick = false;
    for (int round = 0; round < 10 || (!was_quick && round < 1000); ++round) {
      driver.fake.clear_calls();
      const int64_t start_ns = rt::now_ns();
      REQUIRE(session.run(round) == CODL_OK);
      const bool is_quick = rt::now_ns() - start_ns < rt::kPollNs;
      was_quick = was_quick || is_quick;
      CHECK(driver.held_count() == 0);
      // A wait, the relu, a flag.
      CHECK(driver.fake.count("clEnqueueNDRangeKernel") == 3);
      CHECK(driver.fake.count("clFlush") == 1);
      CHECK(driver.fake.count("clCreateUserEvent") + driver.fake.count("clFinish") == 0);
      if (is_quick)
        CHECK(driver.fake.count("clWaitForEvents") + driver.fake.count("clGetEventInfo") == 0);
    }
    CHECK(was_quick);
  }
}

TEST_CASE("flags are recorded with their steps") {
  TestPlan test_plan = flag_plan();
  test_plan.variants[0].is_recorded = true;
  const OpenPlan plan(test_plan);
  FlagDriver driver;
  driver.fake.device.extensions = "cl_khr_command_buffer";
  ReluSession session(plan, ReluSession::defaults(), &driver.api());
  REQUIRE(session.status == CODL_OK);
  CHECK(std::string(session.info().flag_refusal) + session.info().recording_refusal == "");
  for (int round = 0; round < 10; ++round) {
    driver.fake.clear_calls();
    driver.set_count = 0;
    REQUIRE(session.run(round) == CODL_OK);
    // A wait, the relu and a flag are one command.
    CHECK(driver.fake.count("clEnqueueCommandBufferKHR") == 1);
    CHECK(driver.fake.count("clEnqueueNDRangeKernel") == 0);
    CHECK(driver.set_count == 1);
  }
}

TEST_CASE("a device without atomics in its memory waits by events") {
  const OpenPlan plan(flag_plan());
  FlagDriver driver;
  driver.fake.device.has_svm_atomics = false;
  Lines said;
  Options options = ReluSession::defaults();
  options.log = &said.log;
  ReluSession session(plan, options, &driver.api());
  REQUIRE(session.status == CODL_OK);
  CHECK_THAT(session.info().flag_refusal, Catch::Contains("no fine-grained SVM with atomics"));
  REQUIRE(said.lines.size() == 1);
  CHECK_THAT(said.lines[0], Catch::Contains("waits by flag are by event"));
  driver.fake.clear_calls();
  REQUIRE(session.run() == CODL_OK);
  CHECK(driver.fake.count("clEnqueueNDRangeKernel") == 1);
}

TEST_CASE("flags are refused where workers may have the cores of the device") {
  const OpenPlan plan(flag_plan());
  FlagDriver driver;
  driver.fake.device.type = CL_DEVICE_TYPE_CPU;
  ReluSession session(plan, ReluSession::defaults(), &driver.api());
  REQUIRE(session.status == CODL_OK);
  CHECK_THAT(session.info().flag_refusal, Catch::Contains("expected cores of its own"));
}

TEST_CASE("what fails the test of flags is kept, by driver, and not tried again") {
  const struct {
    Behaviour behaviour;
    const char* reason;
  } cases[] = {{{.starts_at_finish = true}, "a flag does not come while the host waits for it"},
               {{.loses_data = true}, "is not seen behind it"}};
  const OpenPlan plan(flag_plan());
  for (const auto& one : cases) {
    KeptFlags cache;
    Options options = ReluSession::defaults();
    options.program_cache = &cache.cache;
    for (int round = 0; round < 2; ++round) {
      FlagDriver driver(one.behaviour);
      ReluSession session(plan, options, &driver.api());
      REQUIRE(session.status == CODL_OK);
      CHECK_THAT(session.info().flag_refusal, Catch::Contains(one.reason));
      CHECK((driver.fake.count("clSVMAlloc") > 1) == (round == 0));
      CHECK(session.run() == CODL_OK);
    }
  }
}

TEST_CASE("a driver that passed is not tested again, and one that ended the process is not used") {
  const OpenPlan plan(flag_plan());
  KeptFlags cache;
  Options options = ReluSession::defaults();
  options.program_cache = &cache.cache;
  const auto kernels_of_creation = [&] {
    FlagDriver driver;
    ReluSession session(plan, options, &driver.api());
    REQUIRE(session.status == CODL_OK);
    CHECK(std::string(session.info().flag_refusal) == "");
    CHECK(session.run() == CODL_OK);
    return driver.fake.count("clEnqueueNDRangeKernel");
  };
  CHECK(kernels_of_creation() > 3 * 256);
  CHECK(kernels_of_creation() < 10);
  // The entry that is stored before the test says that it did not end.
  KeptFlags first;
  cache.kept.clear();
  codl_program_cache_t keeps_first = cache.cache;
  keeps_first.store = [](void* context, const char* key, const void* data, size_t size) {
    static_cast<KeptFlags*>(context)->kept.try_emplace(key, static_cast<const char*>(data), size);
  };
  options.program_cache = &keeps_first;
  kernels_of_creation();
  FlagDriver driver;
  ReluSession session(plan, options, &driver.api());
  REQUIRE(session.status == CODL_OK);
  CHECK_THAT(session.info().flag_refusal, Catch::Contains("did not come to its end"));
}

TEST_CASE("a flag that does not come ends the run, and the session is of no more use") {
  for (const int32_t fallback : {CODL_FALLBACK_NEVER, CODL_FALLBACK_PER_RUN}) {
    const OpenPlan plan(flag_plan());
    FlagDriver driver;
    Options options = ReluSession::defaults();
    options.fallback = fallback;
    ReluSession session(plan, options, &driver.api());
    REQUIRE(session.status == CODL_OK);
    REQUIRE(std::string(session.info().flag_refusal) == "");
    REQUIRE(session.run() == CODL_OK);
    driver.gives_up = true;
    const codl_status_t expected = fallback == CODL_FALLBACK_NEVER ? CODL_DEVICE_ERROR : CODL_OK;
    for (int round = 0; round < 2; ++round) {
      CHECK(session.run(round) == expected);
      if (expected == CODL_OK) CHECK(session.is_right());
      CHECK_THAT(session.info().run_failure, Catch::Contains("flag did not come to the GPU"));
      driver.gives_up = false;  // the device is not asked again
    }
  }
}

TEST_CASE("a flag that is later than its step's event does not come in the next run") {
  const OpenPlan plan(flag_plan());
  FlagDriver driver;
  ReluSession session(plan, ReluSession::defaults(), &driver.api());
  REQUIRE(session.status == CODL_OK);
  driver.late_ms = 10;  // the host asks for the event after 3
  driver.set_count = 0;
  for (int round = 1; round <= 3; ++round) {
    CHECK(session.run() == CODL_OK);
    CHECK(driver.set_count == round);
  }
}

TEST_CASE("a run by flags that fails leaves nothing waiting, and the next one is right") {
  const OpenPlan plan(flag_plan());
  FlagDriver driver;
  ReluSession session(plan, ReluSession::defaults(), &driver.api());
  REQUIRE(session.status == CODL_OK);
  for (int fail_at = 0; fail_at < 8; ++fail_at) {
    driver.fake.clear_calls();
    driver.fake.fail_at(fail_at, CL_OUT_OF_RESOURCES);
    const codl_status_t status = session.run();
    const auto call = static_cast<size_t>(fail_at);
    const bool has_failed = call < driver.fake.calls().size() &&
                            driver.fake.calls()[call].find("clRelease") == std::string::npos;
    driver.fake.fail_at(-1, 0);
    INFO(fail_at << ": " << session.diag.message);
    CHECK((status == CODL_DEVICE_ERROR) == has_failed);
    CHECK(session.run() == CODL_OK);
  }
}

TEST_CASE("a device that is late for the deadline ends the run, and keeps what it may write to") {
  for (const auto& [half, what_it_waited_for] :
       {std::pair(GpuHalf::FineSvm, "unary_f32_cl_buffer ("),
        std::pair(GpuHalf::SubBuffer, "map (map)"),
        std::pair(GpuHalf::Separate, "transfer (download)")}) {
    const OpenPlan plan(relu_plan({.half = half}));
    CountingAllocator allocator;
    FakeCl fake;
    {
      Options options = ReluSession::defaults();
      options.allocator = allocator.get();
      options.deadline_ms = 20;
      ReluSession session(plan, options, &fake.api());
      INFO(session.diag.message);
      REQUIRE(session.status == CODL_OK);
      REQUIRE(session.run() == CODL_OK);
      fake.device.event_state = CL_RUNNING;
      fake.clear_calls();
      CHECK(session.run() == CODL_DEVICE_ERROR);
      CHECK_THAT(session.diag.message, Catch::Contains("within 20 ms (deadline_ms)"));
      CHECK_THAT(session.diag.message, Catch::Contains(what_it_waited_for));
      CHECK(session.run() == CODL_DEVICE_ERROR);
    }
    // It is waited for no more, and nothing it has is taken from it.
    CHECK(fake.count("clFinish") == 0);
    CHECK(fake.count("clSVMFree") == 0);
    CHECK(fake.count("clReleaseCommandQueue") == 0);
    // Tensors that both processors see are in the driver's memory where it shares it.
    if (half == GpuHalf::Separate) CHECK(allocator.live_bytes > 0);
  }
}

TEST_CASE("a test of flags may take longer than the deadline of runs") {
  const OpenPlan plan(flag_plan());
  FlagDriver driver({.tells_running = true});
  Options options = ReluSession::defaults();
  options.deadline_ms = 5;  // the test waits some 26 for what never comes
  ReluSession session(plan, options, &driver.api());
  INFO(session.diag.message);
  REQUIRE(session.status == CODL_OK);
  CHECK(std::string(session.info().flag_refusal) == "");
}

TEST_CASE("a deadline that a device keeps changes nothing, and one below 0 is refused") {
  const OpenPlan plan(relu_plan({}));
  FakeCl fake;
  Options options = ReluSession::defaults();
  options.deadline_ms = 1000;
  {
    ReluSession session(plan, options, &fake.api());
    REQUIRE(session.status == CODL_OK);
    CHECK(session.run() == CODL_OK);
  }
  CHECK(fake.live_count() == 0);
  options.deadline_ms = -1;
  CHECK(ReluSession(plan, options, &fake.api()).status == CODL_INVALID_ARGUMENT);
}

// The text as a program of OpenCL 1.2: oclgrind has that alone, and no shared virtual memory.
std::string text_without_c11() {
  return std::string(R"(
#define atomic_uint uint
#define atomic_load_explicit(object, order, scope) atomic_or(object, 0)
#define atomic_store_explicit(object, value, order, scope) atomic_xchg(object, value)
)") + rt::GpuFlags::text();
}

TEST_CASE("kernels of flags read and write the words that are theirs", "[opencl][oclgrind]") {
  const MachineOpencl* machine = machine_device();
  if (machine == nullptr) return;
  rt::GpuQueue gpu;
  codl_diag_t diag;
  REQUIRE(gpu.open(&machine->api, {}, {}, &diag) == CODL_OK);
  const rt::ClApi& api = gpu.api();
  const cl_device_id device = gpu.device().device;
  const std::string text = text_without_c11();
  const char* const texts[] = {text.c_str()};
  cl_int error = CL_SUCCESS;
  const cl_program program = api.clCreateProgramWithSource(
      gpu.context(), 1, const_cast<const char**>(texts), nullptr, &error);
  REQUIRE(api.clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr) == CL_SUCCESS);
  // The buffer ends with the last word, so that oclgrind sees what is written behind it.
  constexpr size_t kApart = 32;
  std::vector<uint32_t> words(4 * kApart + 1);
  uint32_t& to_gpu = words[0];
  const uint32_t& to_cpu = words[kApart];
  const uint32_t& failed = words[2 * kApart];
  const cl_command_queue queue = gpu.queue(rt::kComputeQueue);
  const cl_mem buffer =
      api.clCreateBuffer(gpu.context(), CL_MEM_READ_WRITE, words.size() * 4, nullptr, &error);
  const auto run = [&](const char* name, uint32_t number) {
    const uint32_t reads = 10;
    const size_t one = 1;
    const cl_kernel kernel = api.clCreateKernel(program, name, &error);
    api.clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
    api.clSetKernelArg(kernel, 1, sizeof(number), &number);
    if (std::strcmp(name, "codl_wait") == 0) api.clSetKernelArg(kernel, 2, sizeof(reads), &reads);
    api.clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, words.size() * 4, words.data(), 0, nullptr,
                             nullptr);
    CHECK(api.clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, &one, 0, nullptr, nullptr) ==
          CL_SUCCESS);
    api.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, words.size() * 4, words.data(), 0, nullptr,
                            nullptr);
    api.clReleaseKernel(kernel);
  };
  run("codl_set", 9);
  CHECK(to_cpu == 9);
  to_gpu = 7;
  run("codl_wait", 7);
  CHECK(failed == 0);
  run("codl_wait", 8);
  CHECK(failed == 8);
  // Who comes later does not wait, and the first number stays.
  run("codl_wait", 10);
  CHECK(failed == 8);
  words[3 * kApart] = 5;
  run("codl_echo", 1);
  CHECK(words[4 * kApart] == 5 * 1664525 + 1013904223);
  CHECK((to_gpu == 7 && to_cpu == 9));
  api.clReleaseMemObject(buffer);
  api.clReleaseProgram(program);
}

}  // namespace
}  // namespace codl::test
