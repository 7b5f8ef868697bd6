// Tests sessions on the CPU, and what they do if OpenCL does not meet the plan's needs.
#include "runtime/src/session.h"

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"
#include "test/support/thread_faults.h"

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

TEST_CASE("a session works with the threads that the system grants, and says so") {
  const OpenPlan plan(relu_cpu_plan({2, 7, 31, 5}, 2));
  for (int granted = 0; granted <= 3; ++granted) {
    const GrantedThreads threads(granted);
    Lines said;
    Options options = ReluSession::defaults();
    options.thread_count = 4;
    options.log = &said.log;
    ReluSession session(plan, options);
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    REQUIRE(session.run() == CODL_OK);
    CHECK(session.is_right());
    CHECK(session.info().thread_count == 1 + granted);
    CHECK(session.info().wanted_thread_count == 4);
    std::vector<std::string> lines;
    if (granted < 3)
      lines.push_back("CPU threads: expected 4, found " + std::to_string(1 + granted) +
                      ": the system grants no more");
    CHECK(said.lines == lines);
  }
}

TEST_CASE("the default number of workers is the plan's, at most the cores allowed") {
  const OpenPlan one(relu_cpu_plan({1, 4, 4, 4}, 1));
  CHECK(ReluSession(one, ReluSession::defaults()).info().thread_count == 1);
  const OpenPlan many(relu_cpu_plan({1, 4, 4, 4}, 64));
  CHECK(ReluSession(many, ReluSession::defaults()).info().thread_count <= rt::allowed_core_count());
}

int32_t first_allowed_core() {
  int32_t core = 0;
  while (rt::first_unusable_core(&core, 1) >= 0) ++core;
  return core;
}

// Returns the end of the first worker's share of 100 tasks.
int64_t first_share(const ReluSession& session) {
  INFO(session.diag.message);
  REQUIRE(session.status == CODL_OK);
  return session.get()->pool.share_end(100, 0);
}

TEST_CASE("the plan's speeds hold for its number of workers, and as many cores") {
  TestPlan made = relu_cpu_plan({2, 7, 31, 5}, 3);
  made.worker_speeds = {10000, 3000, 7000};
  const OpenPlan plan(made);
  const int32_t cores[] = {first_allowed_core(), first_allowed_core(), first_allowed_core()};
  Options options = ReluSession::defaults();
  options.thread_count = 3;
  CHECK(first_share(ReluSession(plan, options)) == 50);
  options.cpu_cores = cores;
  options.cpu_core_count = 3;
  CHECK(first_share(ReluSession(plan, options)) == 50);
  options.cpu_core_count = 2;
  CHECK(first_share(ReluSession(plan, options)) == 33);
  options = ReluSession::defaults();
  options.thread_count = 2;
  CHECK(first_share(ReluSession(plan, options)) == 50);
  options.thread_count = 4;
  CHECK(first_share(ReluSession(plan, options)) == 25);
  // Whatever the shares are, the result is the same.
  options.thread_count = 3;
  ReluSession session(plan, options);
  for (int round = 0; round < 20; ++round) {
    REQUIRE(session.run(round) == CODL_OK);
    CHECK(session.is_right());
  }
  const OpenPlan alike(relu_cpu_plan({2, 7, 31, 5}, 3));
  CHECK(first_share(ReluSession(alike, options)) == 33);
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

// Returns a plan for found[0, n) of int64[3, 4] along dim 0, with n from a blob, as a NonZero
// leaves it. Bools go in and out beside it.
TestPlan extent_plan(int64_t count) {
  TestPlan plan;
  plan.inputs = {{.name = "x", .dims = {3, 4}, .bytes = 96, .dtype = DType::I64},
                 {.name = "mask", .dims = {5}, .bytes = 5, .dtype = DType::Bool},
                 {.name = "none", .dims = {2, 0}, .bytes = 0, .dtype = DType::F16}};
  plan.outputs = {{.name = "found", .dims = {3, 4}, .bytes = 96, .dtype = DType::I64},
                  {.name = "mask.out", .dims = {5}, .bytes = 5, .dtype = DType::Bool},
                  {.name = "found.count", .dims = {}, .bytes = 8, .dtype = DType::I64}};
  plan.visible_outputs = 2;
  plan.extents = {{.output = 0, .dim = 0, .count_output = 2}};
  std::vector<float> words(2);
  std::memcpy(words.data(), &count, sizeof(count));
  add_blob(plan, "n", words);

  const auto tensor = [&](Storage storage, uint32_t index, const TestIo& like) {
    return TestTensor{.name = like.name,
                      .storage = storage,
                      .dims = like.dims,
                      .index = index,
                      .bytes = like.bytes,
                      .dtype = like.dtype};
  };
  TestVariant variant;
  variant.tensors = {
      tensor(Storage::Input, 0, plan.inputs[0]),    tensor(Storage::Output, 0, plan.outputs[0]),
      tensor(Storage::Input, 1, plan.inputs[1]),    tensor(Storage::Output, 1, plan.outputs[1]),
      tensor(Storage::Weights, 0, plan.outputs[2]), tensor(Storage::Output, 2, plan.outputs[2])};
  for (uint32_t i = 0; i < variant.tensors.size(); i += 2) {
    TestStep step;
    for (const KernelInfo& kernel : kKernelInfos)
      if (std::strcmp(kernel.symbol, "convert_any_cpu") == 0) step.kernel = kernel.id;
    step.operands = {i, i + 1};
    step.name = "copy";
    variant.steps.push_back(step);
  }
  plan.variants = {variant};
  name_kernels(plan);
  return plan;
}

TEST_CASE("an output's extent is what its hidden output counts, clamped to the plan's") {
  for (int64_t count : {int64_t{2}, int64_t{0}, int64_t{3}, int64_t{4}, int64_t{-1}, INT64_MAX}) {
    const OpenPlan plan(extent_plan(count));
    CHECK(codl_plan_output_count(plan.get()) == 2);
    codl_tensor_info_t info;
    CHECK(codl_plan_output(plan.get(), 2, &info) == CODL_INVALID_ARGUMENT);
    codl_session_t* session = nullptr;
    codl_diag_t diag = {};
    REQUIRE(codl_session_create(plan.get(), nullptr, &session, &diag) == CODL_OK);
    int64_t x[12];
    int64_t found[12] = {};
    uint8_t mask[8] = {0, 1, 1, 0, 1};
    uint8_t mask_out[8] = {};
    for (int i = 0; i < 12; ++i) x[i] = i * i;
    const codl_buffer_t inputs[] = {{x, 96}, {mask, 5}, {nullptr, 0}};
    const codl_buffer_t outputs[] = {{found, 96}, {mask_out, 5}};
    const codl_status_t status = codl_session_run(session, inputs, 3, outputs, 2, &diag);
    INFO(diag.message);
    REQUIRE(status == CODL_OK);
    CHECK(std::memcmp(found, x, sizeof(x)) == 0);
    CHECK(std::memcmp(mask_out, mask, sizeof(mask)) == 0);

    int64_t dims[CODL_MAX_RANK];
    int32_t rank = 0;
    REQUIRE(codl_session_get_output_dims(session, 0, dims, CODL_MAX_RANK, &rank) == CODL_OK);
    REQUIRE(rank == 2);
    CHECK(dims[0] == (count < 0 ? 0 : count > 3 ? 3 : count));
    CHECK(dims[1] == 4);
    REQUIRE(codl_session_get_output_dims(session, 1, dims, 1, &rank) == CODL_OK);
    CHECK(rank == 1);
    CHECK(dims[0] == 5);
    CHECK(codl_session_get_output_dims(session, 0, dims, 1, &rank) == CODL_INVALID_ARGUMENT);
    CHECK(codl_session_get_output_dims(session, 2, dims, 8, &rank) == CODL_INVALID_ARGUMENT);
    CHECK(rank == 0);

    codl_buffer_t misaligned[] = {{found, 96}, {mask_out, 5}};
    misaligned[0].data = reinterpret_cast<uint8_t*>(found) + 4;
    CHECK(codl_session_run(session, inputs, 3, misaligned, 2, &diag) == CODL_INVALID_ARGUMENT);
    CHECK(std::string(diag.message).find("output found: expected data aligned to 8") == 0);
    codl_session_destroy(session);
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
    CHECK(times[i].queue == 0);
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
  check_fallback({}, {{.has_platform = false},
                      "on a platform, found no platform (no OpenCL driver is installed)"});
  check_fallback({}, {{.has_device = false}, "on a platform, found none on fake platform"});
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

TEST_CASE("where a work-group has no room on the device, the CPU variant runs and says why") {
  const auto limit = [](const char* expected, int most) {
    return std::string("device fake device: unary_f32_cl_buffer: expected ") + expected +
           " in a work-group, found a limit of " + std::to_string(most);
  };
  check_fallback({}, {{.max_group_items = 31}, limit("32 work-items", 31)});
  check_fallback({}, {{.kernel_group_items = 16}, limit("32 work-items", 16)});
  check_fallback({}, {{.group_local_bytes = 1024, .kernel_local_bytes = 1025},
                      limit("1025 bytes of local memory", 1024)});
  check_fallback({}, {{.max_group_side = 8}, limit("32 work-items along a side", 8)});
  FakeCl cl;
  cl.device.max_group_items = cl.device.kernel_group_items = 32;
  cl.device.kernel_local_bytes = cl.device.group_local_bytes;
  const OpenPlan plan(relu_plan({}));
  CHECK(ReluSession(plan, ReluSession::defaults(), &cl.api()).info().variant ==
        std::string("coexec"));
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
             Catch::Contains("a device like mali on a platform like platform, found fake device on "
                             "fake platform"));
  cl.device.type = CL_DEVICE_TYPE_CPU;
  CHECK(ReluSession(plan, ReluSession::defaults(), &cl.api()).info().variant ==
        std::string("coexec"));
}

TEST_CASE("coexec is a plan's first variant where none is called so") {
  const OpenPlan plan(relu_cpu_plan({1, 4, 2, 2}, 1));
  Options options = ReluSession::defaults();
  options.variant = "coexec";
  ReluSession session(plan, options);
  CHECK(session.info().variant == std::string("cpu"));
  CHECK(codl_session_set_variant(session.get(), "coexec", &session.diag) == CODL_OK);
  CHECK(codl_session_set_variant(session.get(), "gpu", &session.diag) == CODL_INVALID_ARGUMENT);
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
