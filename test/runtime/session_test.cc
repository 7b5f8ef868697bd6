// Sessions on the CPU, and what they do where OpenCL is not as the plan wants it.
#include "runtime/src/session.h"

#include <string>
#include <thread>
#include <vector>

#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

using Options = codl_session_options_t;

TEST_CASE("a CPU plan runs, with any number of workers") {
  const OpenPlan plan(relu_cpu_plan({2, 7, 31, 5}, 2));
  for (int32_t threads : {0, 1, 2, 5}) {
    Options options = ReluSession::defaults();
    options.thread_count = threads;
    ReluSession session(plan, options);
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    for (int round = 0; round < 20; ++round) {
      REQUIRE(session.run(round) == CODL_OK);
      CHECK(session.is_right());
    }
    const codl_session_info_t info = session.info();
    CHECK(info.variant == std::string("cpu"));
    CHECK(info.fallback_reason == std::string());
    CHECK(info.opencl_device == std::string());
    CHECK(info.thread_count >= 1);
    CHECK((threads == 0 || info.thread_count == threads));
    CHECK(info.host_bytes > 0);
    CHECK(info.load_us > 0);
  }
}

TEST_CASE("the default number of workers is the plan's, at most the cores allowed") {
  const OpenPlan one(relu_cpu_plan({1, 4, 4, 4}, 1));
  CHECK(ReluSession(one, ReluSession::defaults()).info().thread_count == 1);
  const OpenPlan many(relu_cpu_plan({1, 4, 4, 4}, 64));
  CHECK(ReluSession(many, ReluSession::defaults()).info().thread_count <= rt::allowed_core_count());
}

TEST_CASE("sessions of one plan run in threads of their own") {
  const OpenPlan plan(relu_cpu_plan({1, 5, 16, 6}, 2));
  std::vector<std::thread> threads;
  bool is_right[4] = {};
  for (bool& result : is_right)
    threads.emplace_back([&plan, &result] {
      ReluSession session(plan, ReluSession::defaults());
      result = session.status == CODL_OK;
      for (int round = 0; round < 50 && result; ++round)
        result = session.run(round) == CODL_OK && session.is_right();
    });
  for (std::thread& thread : threads) thread.join();
  for (bool result : is_right) CHECK(result);
}

TEST_CASE("one session may be run from one thread after another") {
  const OpenPlan plan(relu_cpu_plan({1, 5, 16, 6}, 2));
  ReluSession session(plan, ReluSession::defaults());
  for (int round = 0; round < 4; ++round)
    std::thread([&session, round] { (void)(session.run(round) == CODL_OK); }).join();
  CHECK(session.is_right());
}

TEST_CASE("a run takes no memory") {
  CountingAllocator allocator;
  {
    const OpenPlan plan(relu_cpu_plan({1, 5, 16, 6}, 2), allocator.get());
    Options options = ReluSession::defaults();
    options.allocator = allocator.get();
    options.record_timeline = 1;
    ReluSession session(plan, options);
    REQUIRE(session.status == CODL_OK);
    const int64_t before = allocator.allocation_count;
    for (int round = 0; round < 3; ++round) REQUIRE(session.run(round) == CODL_OK);
    CHECK(allocator.allocation_count == before);
  }
  CHECK(allocator.live_count == 0);
  CHECK(allocator.live_bytes == 0);
}

TEST_CASE("a session that runs out of memory releases what it has, wherever that happens") {
  FakeCl cl;
  for (int64_t fail_at = 0;; ++fail_at) {
    const OpenPlan plan(relu_plan({}));
    CountingAllocator allocator;
    allocator.fail_at = fail_at;
    Options options = ReluSession::defaults();
    options.allocator = allocator.get();
    options.record_timeline = 1;
    codl_status_t status = CODL_OK;
    {
      ReluSession session(plan, options, &cl.api());
      status = session.status;
      if (status != CODL_OK) CHECK(std::string(session.diag.message).find("no memory") == 0);
    }
    CHECK(allocator.live_count == 0);
    CHECK(allocator.live_bytes == 0);
    CHECK(cl.live_count() == 0);
    if (status == CODL_OK) break;
    CHECK(status == CODL_OUT_OF_MEMORY);
  }
}

TEST_CASE("wrong options and buffers are named") {
  const OpenPlan plan(relu_plan({}));
  const auto message_of = [&plan](const Options& options) {
    ReluSession session(plan, options);
    CHECK(session.status == CODL_INVALID_ARGUMENT);
    CHECK(session.get() == nullptr);
    return std::string(session.diag.message);
  };
  Options options = ReluSession::defaults();
  options.variant = "turbo";
  CHECK(message_of(options) == "variant: expected one of the plan's, found turbo");
  options = ReluSession::defaults();
  options.thread_count = 65;
  CHECK(message_of(options) == "thread_count: expected 0 to 64, found 65");
  options = ReluSession::defaults();
  const int32_t cores[] = {-1};
  options.cpu_cores = cores;
  options.cpu_core_count = 1;
  CHECK(message_of(options) == "cpu_cores: expected cores that this thread may use, found -1");
  options = ReluSession::defaults();
  options.gpu_core_count = 2;
  CHECK(message_of(options) == "gpu_cores: expected 2 core numbers, found null");
  options.struct_size = 1;
  CHECK(message_of(options).find("codl_session_options_t") == 0);

  options = ReluSession::defaults();
  options.variant = "cpu";
  ReluSession session(plan, options);
  REQUIRE(session.status == CODL_OK);
  codl_buffer_t buffer = {session.x.data(), session.x.size() * 4};
  codl_buffer_t wrong = {session.y.data(), 12};
  codl_diag_t diag;
  CHECK(codl_session_run(session.get(), &buffer, 1, &wrong, 1, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message == std::string("output y: expected 13320 bytes, found 12"));
  CHECK(codl_session_run(session.get(), &buffer, 0, &buffer, 1, &diag) == CODL_INVALID_ARGUMENT);
  CHECK(diag.message == std::string("inputs: expected 1, found 0"));
  wrong = {nullptr, buffer.bytes};
  CHECK(codl_session_run(session.get(), &wrong, 1, &buffer, 1, nullptr) == CODL_INVALID_ARGUMENT);
  CHECK(codl_session_run(nullptr, &buffer, 1, &buffer, 1, nullptr) == CODL_INVALID_ARGUMENT);
  codl_session_destroy(nullptr);
}

TEST_CASE("pinned workers compute the same") {
  const OpenPlan plan(relu_cpu_plan({1, 5, 16, 6}, 2));
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof(set), &set) == 0);
  int32_t core = 0;
  while (!CPU_ISSET(static_cast<size_t>(core), &set)) ++core;
  Options options = ReluSession::defaults();
  options.thread_count = 2;
  options.cpu_cores = &core;
  options.cpu_core_count = 1;
  ReluSession session(plan, options);
  REQUIRE(session.status == CODL_OK);
  REQUIRE(session.run() == CODL_OK);
  CHECK(session.is_right());
}

TEST_CASE("the timeline of a run has every step, in the order of the list") {
  const OpenPlan plan(relu_cpu_plan({1, 5, 16, 6}, 2));
  Options options = ReluSession::defaults();
  size_t count = 99;
  ReluSession silent(plan, options);
  codl_session_timeline(silent.get(), &count);
  CHECK(count == 0);
  options.record_timeline = 1;
  ReluSession session(plan, options);
  REQUIRE(session.run() == CODL_OK);
  const codl_step_time_t* times = codl_session_timeline(session.get(), &count);
  REQUIRE(count == 3);
  CHECK(times[1].kernel == std::string("unary_f32_cpu"));
  for (size_t i = 0; i < count; ++i) {
    CHECK(times[i].lane == 0);
    CHECK(times[i].start_ns <= times[i].end_ns);
    if (i > 0) CHECK(times[i - 1].end_ns <= times[i].start_ns);
  }
}

// ---- where the GPU cannot be used ---------------------------------------------------------------

struct Obstacle {
  FakeDevice device;
  std::string reason;  // contained in fallback_reason
};

void check_fallback(const ReluPlanOptions& plan_options, const Obstacle& obstacle) {
  const OpenPlan plan(relu_plan(plan_options));
  FakeCl cl(obstacle.device);
  {
    ReluSession session(plan, ReluSession::defaults(), &cl.api());
    REQUIRE(session.status == CODL_OK);
    CHECK(session.info().variant == std::string("cpu"));
    CHECK_THAT(session.info().fallback_reason, Catch::Contains(obstacle.reason));
    CHECK(cl.live_count() == 0);
    REQUIRE(session.run() == CODL_OK);
    CHECK(session.is_right());
  }
  Options options = ReluSession::defaults();
  options.require_variant = 1;
  ReluSession session(plan, options, &cl.api());
  CHECK(session.status == CODL_NO_DEVICE);
  CHECK(session.get() == nullptr);
  CHECK_THAT(session.diag.message, Catch::Contains(obstacle.reason));
  CHECK(cl.live_count() == 0);
}

TEST_CASE("without what the variant needs, the CPU variant runs and says why") {
  check_fallback({}, {{.has_platform = false}, "found 0 platforms and none"});
  check_fallback({}, {{.has_device = false}, "found 1 platforms and none"});
  check_fallback({}, {{.has_fine_svm = false}, "device fake device has no fine-grained SVM"});
  check_fallback({.half = GpuHalf::FineSvmImages},
                 {{.has_images = false}, "device fake device has no images"});
  check_fallback({.half = GpuHalf::FineSvmImages},
                 {{.max_image_side = 8}, "expected images of 50 x 10, found a limit of 8 x 8"});
  check_fallback({.half = GpuHalf::Separate},
                 {{.max_allocation_bytes = 100}, "found a limit of 100"});
  check_fallback({.half = GpuHalf::SubBuffer},
                 {{.base_alignment_bits = 8 * 65536}, "to be a multiple of 65536"});
}

TEST_CASE("platform and device are chosen by parts of their names, and a GPU first") {
  const OpenPlan plan(relu_plan({}));
  FakeCl cl;
  Options options = ReluSession::defaults();
  options.opencl_platform = "platform";
  options.opencl_device = "fake";
  {
    ReluSession session(plan, options, &cl.api());
    CHECK(session.info().variant == std::string("coexec"));
    CHECK(session.info().opencl_platform == std::string("fake platform"));
    CHECK(session.info().opencl_device == std::string("fake device"));
  }
  options.opencl_device = "mali";
  CHECK_THAT(ReluSession(plan, options, &cl.api()).info().fallback_reason,
             Catch::Contains("a device like mali on a platform like platform"));
  cl.device.type = CL_DEVICE_TYPE_CPU;
  CHECK(ReluSession(plan, ReluSession::defaults(), &cl.api()).info().variant ==
        std::string("coexec"));
}

TEST_CASE("a plan without a CPU variant needs its device") {
  TestPlan only_gpu = relu_plan({});
  only_gpu.variants.pop_back();
  name_kernels(only_gpu);
  const OpenPlan plan(only_gpu);
  FakeCl cl(FakeDevice{.has_device = false});
  CHECK(ReluSession(plan, ReluSession::defaults(), &cl.api()).status == CODL_NO_DEVICE);
}

}  // namespace
}  // namespace codl::test
