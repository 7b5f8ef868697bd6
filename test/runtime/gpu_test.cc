// Tests the GPU queue: its results on this machine's OpenCL, and its calls on a fake one.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/src/gpu_queue.h"
#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

using Options = codl_session_options_t;

TEST_CASE("both halves of a split relu arrive, in every kind of sharing and both gates") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here())
    for (Gate gate : kGates) {
      INFO(describe(half, gate));
      const OpenPlan plan(relu_plan({.half = half, .gate = gate}));
      Options options = ReluSession::defaults();
      options.require_variant = 1;
      ReluSession session(plan, options);
      INFO(session.diag.message);
      REQUIRE(session.status == CODL_OK);
      for (int round = 0; round < 10; ++round) {
        REQUIRE(session.run(round) == CODL_OK);
        CHECK(session.is_right());
      }
    }
}

TEST_CASE("no more is enqueued ahead than the plan's bound, by the steps' predicted times") {
  // The plan has three GPU steps of a microsecond each, one after the other.
  const auto most_ahead = [](float max_ahead_us) {
    TestPlan test_plan = relu_plan({.half = GpuHalf::FineSvmImages});
    test_plan.variants[0].max_ahead_us = max_ahead_us;
    const OpenPlan plan(test_plan);
    FakeCl fake;
    ReluSession session(plan, ReluSession::defaults(), &fake.api());
    REQUIRE(session.status == CODL_OK);
    fake.clear_calls();
    REQUIRE(session.run() == CODL_OK);
    int ahead = 0, most = 0;
    for (const std::string& call : fake.calls()) {
      if (call == "clWaitForEvents") ahead = 0;
      if (call == "clEnqueueNDRangeKernel") most = std::max(most, ++ahead);
    }
    return most;
  };
  CHECK(most_ahead(0) == 3);
  CHECK(most_ahead(100) == 3);
  CHECK(most_ahead(1) == 1);
  CHECK(most_ahead(0.5F) == 1);
}

TEST_CASE("a bound of what is enqueued ahead changes no result") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here()) {
    INFO(describe(half, Gate::HostEnqueue));
    TestPlan test_plan = relu_plan({.half = half});
    test_plan.variants[0].max_ahead_us = 1;
    const OpenPlan plan(test_plan);
    Options options = ReluSession::defaults();
    options.require_variant = 1;
    ReluSession session(plan, options);
    REQUIRE(session.status == CODL_OK);
    for (int round = 0; round < 10; ++round) {
      REQUIRE(session.run(round) == CODL_OK);
      CHECK(session.is_right());
    }
  }
}

TEST_CASE("the timeline has both queues, on one clock") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here())
    for (Gate gate : kGates) {
      INFO(describe(half, gate));
      const OpenPlan plan(relu_plan({.half = half, .gate = gate}));
      Options options = ReluSession::defaults();
      options.require_variant = 1;
      options.record_timeline = 1;
      ReluSession session(plan, options);
      REQUIRE(session.status == CODL_OK);
      const int64_t before_ns = rt::now_ns();
      REQUIRE(session.run() == CODL_OK);
      const int64_t after_ns = rt::now_ns();
      size_t count = 0;
      const codl_step_time_t* times = codl_session_timeline(session.get(), &count);
      std::set<int32_t> queues;
      for (size_t i = 0; i < count; ++i) {
        queues.insert(times[i].queue);
        CHECK(times[i].start_ns <= times[i].end_ns);
        // The tolerance is 1 ms: one call relates the two clocks.
        CHECK(times[i].start_ns >= before_ns - 1'000'000);
        CHECK(times[i].end_ns <= after_ns + 1'000'000);
        if (times[i].queue == 0) {
          CHECK(times[i].enqueued_ns == 0);
        } else {
          CHECK(times[i].enqueued_ns >= before_ns);
          CHECK(times[i].enqueued_ns <= times[i].end_ns);
        }
      }
      CHECK(queues.count(0) == 1);
      CHECK(queues.count(1) == 1);
    }
}

// ---- what a run calls ---------------------------------------------------------------------------

bool is_made_at_creation(const std::string& call) {
  return call != "clCreateUserEvent" &&
         (call.find("clCreate") == 0 || call.find("clBuild") == 0 ||
          call.find("clSetKernelArg") == 0 || call.find("clSVMAlloc") == 0 ||
          call.find("Info") != std::string::npos) &&
         call != "clGetEventInfo";
}

TEST_CASE("a run takes no memory, creates and builds nothing and sets no argument") {
  for (GpuHalf half : kHalves)
    for (Gate gate : kGates) {
      INFO(describe(half, gate));
      const OpenPlan plan(relu_plan({.half = half, .gate = gate}));
      FakeCl cl;
      CountingAllocator allocator;
      {
        Options options = ReluSession::defaults();
        options.allocator = allocator.get();
        options.require_variant = 1;
        ReluSession session(plan, options, &cl.api());
        REQUIRE(session.status == CODL_OK);
        const int64_t allocations = allocator.allocation_count;
        const int live = cl.live_count();
        cl.clear_calls();
        REQUIRE(session.run() == CODL_OK);
        REQUIRE(session.run() == CODL_OK);
        CHECK(allocator.allocation_count == allocations);
        CHECK(cl.live_count() == live);
        for (const std::string& call : cl.calls()) {
          INFO(call);
          CHECK(!is_made_at_creation(call));
        }
        CHECK((cl.count("clCreateUserEvent") != 0) == (gate == Gate::UserEvent));
      }
      CHECK(allocator.live_count == 0);
      CHECK(cl.live_count() == 0);
    }
}

TEST_CASE("programs of equal text and defines are built once") {
  TestPlan plan = relu_plan({.half = GpuHalf::FineSvm});
  TestVariant& variant = plan.variants[0];
  // Steps 1 and 2 are the halves on GPU and CPU; lets the GPU compute its half twice.
  TestStep again = variant.steps[1];
  again.waits = {};
  variant.steps.insert(variant.steps.begin() + 2, again);
  variant.steps.back().waits = {2};
  const OpenPlan open(plan);
  FakeCl cl;
  ReluSession session(open, ReluSession::defaults(), &cl.api());
  REQUIRE(session.status == CODL_OK);
  CHECK(session.info().variant == std::string("coexec"));
  CHECK(cl.count("clBuildProgram") == 1);
  CHECK(cl.count("clCreateKernel") == 2);
}

// Keeps programs in memory.
struct ProgramStore {
  std::map<std::string, std::string> programs;
  codl_program_cache_t cache = {this, load, store};

  static size_t load(void* context, const char* key, void* data, size_t capacity) {
    const auto& programs = static_cast<ProgramStore*>(context)->programs;
    const auto found = programs.find(key);
    if (found == programs.end()) return 0;
    if (capacity >= found->second.size())
      std::memcpy(data, found->second.data(), found->second.size());
    return found->second.size();
  }
  static void store(void* context, const char* key, const void* data, size_t size) {
    static_cast<ProgramStore*>(context)->programs[key] =
        std::string(static_cast<const char*>(data), size);
  }
};

TEST_CASE("a program is built from its text once, then taken from the application's cache") {
  const OpenPlan plan(relu_plan({.half = GpuHalf::FineSvm}));
  ProgramStore store;
  Options options = ReluSession::defaults();
  options.require_variant = 1;
  options.program_cache = &store.cache;
  // Returns the names of the calls that making a session takes; the call `fail_at` fails.
  const auto calls_of_session = [&](int fail_at) {
    FakeCl cl;
    cl.fail_at(fail_at, CL_INVALID_BINARY);
    {
      ReluSession session(plan, options, &cl.api());
      CHECK(session.status == CODL_OK);
    }
    CHECK(cl.live_count() == 0);
    return cl.calls();
  };
  const auto count = [](const std::vector<std::string>& calls, const char* name) {
    return std::count(calls.begin(), calls.end(), name);
  };
  CHECK(count(calls_of_session(-1), "clCreateProgramWithSource") == 1);
  REQUIRE(store.programs.size() == 1);
  CHECK(store.programs.begin()->first.size() < 64);
  CHECK_THAT(store.programs.begin()->second,
             Catch::StartsWith(store.programs.begin()->first) && Catch::EndsWith("fake"));
  const std::vector<std::string> calls = calls_of_session(-1);
  CHECK(count(calls, "clCreateProgramWithSource") == 0);
  CHECK(count(calls, "clCreateProgramWithBinary") == 1);

  // The driver no longer accepts the program, at either call.
  for (const char* call : {"clCreateProgramWithBinary", "clBuildProgram"}) {
    const auto at = std::find(calls.begin(), calls.end(), call) - calls.begin();
    CHECK(count(calls_of_session(static_cast<int>(at)), "clCreateProgramWithSource") == 1);
  }
}

TEST_CASE("only events that somebody waits for are made, and the queues are flushed before") {
  const OpenPlan plan(relu_plan({.half = GpuHalf::FineSvm}));
  FakeCl cl;
  ReluSession session(plan, ReluSession::defaults(), &cl.api());
  REQUIRE(session.status == CODL_OK);
  cl.clear_calls();
  REQUIRE(session.run() == CODL_OK);
  const std::vector<std::string> expected = {"clEnqueueNDRangeKernel", "clFlush", "clGetEventInfo",
                                             "clWaitForEvents", "clReleaseEvent"};
  CHECK(cl.calls() == expected);
}

TEST_CASE("a GPU step that the CPU waits for is submitted before those behind it") {
  TestPlan plan = relu_plan({.half = GpuHalf::FineSvm, .gate = Gate::UserEvent});
  std::vector<TestStep>& steps = plan.variants[0].steps;
  const auto of_gpu = std::find_if(steps.begin(), steps.end(),
                                   [](const TestStep& step) { return step.queue == Queue::Gpu; });
  const auto index = static_cast<uint32_t>(of_gpu - steps.begin());
  // Repeats it, and nobody waits for that.
  steps.insert(of_gpu + 1, TestStep(*of_gpu));
  for (TestStep& step : steps)
    for (uint32_t& wait : step.waits) wait += wait > index ? 1 : 0;
  const OpenPlan open(plan);
  FakeCl cl;
  ReluSession session(open, ReluSession::defaults(), &cl.api());
  REQUIRE(session.status == CODL_OK);
  cl.clear_calls();
  REQUIRE(session.run() == CODL_OK);
  std::vector<std::string> calls = cl.calls();
  std::erase_if(calls, [](const std::string& call) {
    return call != "clEnqueueNDRangeKernel" && call != "clFlush";
  });
  REQUIRE(calls.size() >= 3);
  calls.resize(3);
  CHECK(calls ==
        std::vector<std::string>{"clEnqueueNDRangeKernel", "clFlush", "clEnqueueNDRangeKernel"});
}

TEST_CASE("a GPU step in its place is not enqueued, and a marker if somebody waits for it") {
  TestPlan plan = relu_plan({.half = GpuHalf::Separate});
  const auto calls_of_run = [&] {
    const OpenPlan open(plan);
    FakeCl cl;
    ReluSession session(open, ReluSession::defaults(), &cl.api());
    REQUIRE(session.status == CODL_OK);
    const auto programs = cl.calls();
    CHECK(std::count(programs.begin(), programs.end(), "clCreateKernel") == 1);
    cl.clear_calls();
    REQUIRE(session.run() == CODL_OK);
    return cl.calls();
  };
  const auto count = [](const std::vector<std::string>& calls, const char* name) {
    return std::count(calls.begin(), calls.end(), name);
  };
  const std::vector<std::string> before = calls_of_run();
  add_reshapes_in_place(plan);
  const std::vector<std::string> after = calls_of_run();
  CHECK(count(after, "clEnqueueNDRangeKernel") == count(before, "clEnqueueNDRangeKernel"));
  // The end of the run waits for the queue's last step.
  CHECK(count(after, "clEnqueueMarkerWithWaitList") == 1);
}

TEST_CASE("the marker of a step in its place waits for what the step waits for") {
  TestPlan plan = relu_plan({.half = GpuHalf::Separate});
  add_reshapes_in_place(plan);
  std::vector<TestStep>& steps = plan.variants[0].steps;
  const auto upload = std::find_if(steps.begin(), steps.end(), [](const TestStep& step) {
    return step.kind == StepKind::Upload;
  });
  REQUIRE(upload != steps.end());
  // Stands next to the upload, whose kernel then waits for nothing itself.
  const auto index = static_cast<uint32_t>(upload - steps.begin());
  TestStep reshape = steps[steps.size() - 2];
  reshape.waits = {index};
  steps.resize(steps.size() - 2);
  for (TestStep& step : steps) {
    if (step.queue == Queue::Gpu) step.waits.clear();
    for (uint32_t& wait : step.waits) wait += wait > index ? 1 : 0;
  }
  steps.insert(steps.begin() + index + 1, reshape);
  const OpenPlan open(plan);
  FakeCl cl;
  ReluSession session(open, ReluSession::defaults(), &cl.api());
  REQUIRE(session.status == CODL_OK);
  REQUIRE(session.run() == CODL_OK);
  CHECK(cl.marker_waits() == 1);
}

TEST_CASE("an event is polled until it is complete, or for as long as was said") {
  static int polls_left = 0;
  rt::ClApi api;
  api.clGetEventInfo = [](cl_event, cl_event_info, size_t, void* out, size_t*) {
    *static_cast<cl_int*>(out) = polls_left-- > 0 ? CL_RUNNING : CL_COMPLETE;
    return cl_int{CL_SUCCESS};
  };
  cl_int state = CL_QUEUED;
  polls_left = 5;
  CHECK(rt::poll_event(api, nullptr, 0, rt::kPollForever, &state) == CL_SUCCESS);
  CHECK(state == CL_COMPLETE);
  CHECK(polls_left == -1);
  polls_left = 5;
  CHECK(rt::poll_event(api, nullptr, 0, -1, &state) == CL_SUCCESS);
  CHECK(state == CL_RUNNING);
  api.clGetEventInfo = [](cl_event, cl_event_info, size_t, void* out, size_t*) {
    *static_cast<cl_int*>(out) = -5;
    return cl_int{CL_SUCCESS};
  };
  CHECK(rt::poll_event(api, nullptr, 0, rt::kPollForever, &state) == CL_SUCCESS);
  CHECK(state == -5);
}

TEST_CASE("with user events the GPU queue is enqueued before the CPU queue starts") {
  const OpenPlan plan(relu_plan({.half = GpuHalf::FineSvm, .gate = Gate::UserEvent}));
  FakeCl cl;
  ReluSession session(plan, ReluSession::defaults(), &cl.api());
  REQUIRE(session.status == CODL_OK);
  cl.clear_calls();
  REQUIRE(session.run() == CODL_OK);
  const std::vector<std::string> expected = {
      "clCreateUserEvent", "clEnqueueNDRangeKernel", "clFlush",        "clSetUserEventStatus",
      "clGetEventInfo",    "clWaitForEvents",        "clReleaseEvent", "clReleaseEvent"};
  CHECK(cl.calls() == expected);
}

TEST_CASE("a driver that unmaps only what is mapped runs without user events") {
  for (GpuHalf half : {GpuHalf::SubBuffer, GpuHalf::SubBufferImages}) {
    const OpenPlan plan(relu_plan({.half = half, .gate = Gate::UserEvent}));
    const FakeDevice refuses{.takes_early_unmap = false};
    const FakeDevice copies{.has_host_memory = false};
    for (const FakeDevice& device : {FakeDevice{}, refuses, copies}) {
      FakeCl cl(device);
      {
        Options options = ReluSession::defaults();
        options.require_variant = 1;
        ReluSession session(plan, options, &cl.api());
        REQUIRE(session.status == CODL_OK);
        cl.clear_calls();
        for (int round = 0; round < 3; ++round) REQUIRE(session.run(round) == CODL_OK);
        CHECK((cl.count("clCreateUserEvent") != 0) ==
              (device.takes_early_unmap && device.has_host_memory));
      }
      CHECK(cl.live_count() == 0);
    }
  }
}

TEST_CASE("weights are used in place where GPU and CPU share memory, else copied") {
  TestPlan plan = relu_plan({.half = GpuHalf::FineSvm, .dims = {1, 16, 4, 4}});
  // The GPU adds a constant to its half: y = x + w.
  std::vector<float> weights(16 * 4 * 4, 0.0f);
  const uint32_t blob = add_blob(plan, "w", weights);
  TestVariant& variant = plan.variants[0];
  variant.tensors.push_back({.name = "w",
                             .storage = Storage::Weights,
                             .dims = {1, 16, 4, 4},
                             .layout = Layout::Nhwc,
                             .row_begin = 0,
                             .row_end = 4,
                             .index = blob,
                             .bytes = weights.size() * 4});
  TestStep& step = variant.steps[1];
  step.kernel = 16;  // binary_f32_cl_buffer
  step.params = params_bytes(BinaryParams{.kind = kBinaryAdd});
  step.operands.insert(step.operands.begin() + 1,
                       static_cast<uint32_t>(variant.tensors.size() - 1));
  step.part_dim = SplitDim::None;
  step.part = {};
  name_kernels(plan);
  const OpenPlan open(plan);
  for (bool has_host_memory : {true, false}) {
    FakeCl cl(FakeDevice{.has_host_memory = has_host_memory});
    ReluSession session(open, ReluSession::defaults(), &cl.api());
    REQUIRE(session.status == CODL_OK);
    REQUIRE(session.info().variant == std::string("coexec"));
    CHECK(session.info().weight_copy_bytes == (has_host_memory ? 0 : weights.size() * 4));
  }
}

// ---- errors -------------------------------------------------------------------------------------

TEST_CASE("a program that does not build is reported with the compiler's error") {
  const OpenPlan plan(relu_plan({}));
  FakeCl cl;
  {
    ReluSession session(plan, ReluSession::defaults(), &cl.api());
    REQUIRE(session.status == CODL_OK);
  }
  int build_call = 0;
  while (cl.calls()[static_cast<size_t>(build_call)] != "clBuildProgram") ++build_call;
  cl.clear_calls();
  cl.fail_at(build_call, CL_BUILD_PROGRAM_FAILURE);
  ReluSession session(plan, ReluSession::defaults(), &cl.api());
  CHECK(session.info().fallback_reason ==
        std::string("clBuildProgram (unary_f32_cl_buffer): OpenCL error -11: error: as the test "
                    "asked"));
}

TEST_CASE("a command that ends abnormally fails the run") {
  const OpenPlan plan(relu_plan({}));
  FakeCl cl;
  ReluSession session(plan, ReluSession::defaults(), &cl.api());
  cl.device.event_state = CL_OUT_OF_RESOURCES;
  CHECK(session.run() == CODL_DEVICE_ERROR);
  CHECK(session.diag.message == std::string("a command of the GPU queue: OpenCL error -5"));
}

}  // namespace
}  // namespace codl::test
