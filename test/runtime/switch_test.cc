// Tests sessions whose variants alternate: results, allocations and memory, whatever fails or is
// cancelled between.
#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

using Options = codl_session_options_t;

// Makes a plan whose variants differ in how they share memory, in their gates and in their cuts,
// with "cpu" at the end.
TestPlan plan_of_many(const std::vector<GpuHalf>& halves) {
  TestPlan plan = relu_plan({});
  const TestVariant cpu = plan.variants.back();
  plan.variants.clear();
  for (const GpuHalf half : halves)
    for (const Gate gate : kGates) {
      const auto count = static_cast<int32_t>(plan.variants.size());
      plan.variants.push_back(
          relu_plan({.half = half, .gate = gate, .cut_row = 1 + count % 7}).variants.front());
      plan.variants.back().name = "v" + std::to_string(count);
      plan.variants.back().predicted_us = 10.0f + static_cast<float>(count);
    }
  plan.variants.push_back(cpu);
  plan.kernels = relu_plan({}).kernels;
  for (const GpuHalf half : halves)
    for (const TestKernelUse& use : relu_plan({.half = half}).kernels) {
      bool is_known = false;
      for (const TestKernelUse& known : plan.kernels) is_known = is_known || known.id == use.id;
      if (!is_known) plan.kernels.push_back(use);
    }
  std::sort(plan.kernels.begin(), plan.kernels.end(),
            [](const TestKernelUse& a, const TestKernelUse& b) { return a.id < b.id; });
  return plan;
}

std::vector<std::string> names_of(const TestPlan& plan) {
  std::vector<std::string> names;
  for (const TestVariant& variant : plan.variants) names.push_back(variant.name);
  return names;
}

// Holds a session that prepares all variants.
class ManyVariants {
 public:
  explicit ManyVariants(const std::vector<GpuHalf>& halves)
      : test_plan(plan_of_many(halves)), names(names_of(test_plan)), plan(test_plan) {
    for (const std::string& name : names) pointers_.push_back(name.c_str());
    options = ReluSession::defaults();
    options.require_variant = 1;
    options.variants = pointers_.data();
    options.variant_count = pointers_.size();
  }
  const TestPlan test_plan;
  const std::vector<std::string> names;
  const OpenPlan plan;
  Options options;

 private:
  std::vector<const char*> pointers_;
};

codl_status_t switch_to(ReluSession& session, const std::string& name) {
  return codl_session_set_variant(session.get(), name.c_str(), &session.diag);
}

TEST_CASE("variants that are switched between at random compute what each computes alone") {
  if (machine_opencl() == nullptr) return;
  const ManyVariants many(halves_here());
  ReluSession session(many.plan, many.options);
  INFO(session.diag.message);
  REQUIRE(session.status == CODL_OK);
  CHECK(session.info().variant_count == many.names.size());
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const std::string& name = many.names[random() % many.names.size()];
    REQUIRE(switch_to(session, name) == CODL_OK);
    CHECK(session.info().variant == name);
    const codl_status_t status = session.run(round);
    INFO("round " << round << ", " << name << ": " << session.diag.message);
    REQUIRE(status == CODL_OK);
    REQUIRE(session.is_right());
  }
}

TEST_CASE("a switch allocates nothing, makes no OpenCL object and calls no driver") {
  const ManyVariants many({kHalves, kHalves + 8});
  FakeCl cl;
  CountingAllocator allocator;
  {
    Options options = many.options;
    options.allocator = allocator.get();
    ReluSession session(many.plan, options, &cl.api());
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    const int64_t allocations = allocator.allocation_count;
    const int live = cl.live_count();
    const int programs = cl.count("clCreateProgramWithSource");
    for (int round = 0; round < 100; ++round) {
      cl.clear_calls();
      REQUIRE(switch_to(session, many.names[static_cast<size_t>(round) % many.names.size()]) ==
              CODL_OK);
      CHECK(cl.calls().empty());
      REQUIRE(session.run(round) == CODL_OK);
      CHECK(cl.count("clCreateKernel") + cl.count("clCreateBuffer") + cl.count("clSVMAlloc") +
                cl.count("clCreateProgramWithSource") + cl.count("clBuildProgram") ==
            0);
      CHECK(cl.live_count() == live);
    }
    CHECK(allocator.allocation_count == allocations);
    CHECK(programs <= 16);  // fewer than one for each variant and step
  }
  CHECK(cl.live_count() == 0);
  CHECK(allocator.live_count == 0);
  CHECK(allocator.live_bytes == 0);
}

TEST_CASE("variants of a session lie in the same memory: the largest of each kind, not the sum") {
  const ManyVariants many({kHalves, kHalves + 8});
  uint64_t host = 0, svm = 0, shared = 0, device = 0, images = 0;
  for (const TestVariant& variant : many.test_plan.variants) {
    host = std::max(host, variant.host_bytes);
    uint64_t& arena = variant.sharing == Sharing::FineSvm ? svm : shared;
    arena = std::max(arena, variant.shared_bytes);
    device = std::max(device, variant.device_bytes);
    uint64_t bytes = 0;
    for (const TestImage& image : variant.images)
      bytes += uint64_t{image.width} * image.height * 16;
    images = std::max(images, bytes);
  }
  FakeCl cl;
  CountingAllocator allocator;
  Options options = many.options;
  options.allocator = allocator.get();
  ReluSession session(many.plan, options, &cl.api());
  REQUIRE(session.status == CODL_OK);
  const codl_session_info_t info = session.info();
  CHECK(info.host_bytes == host);
  CHECK(info.shared_bytes == svm + shared);
  CHECK(info.device_bytes == device);
  // An image that several variants use is as wide and as high as each of them needs.
  CHECK(info.image_bytes >= images);
  CHECK(info.image_bytes < 2 * images);
  CHECK(cl.held().svm == static_cast<int64_t>(svm));
  CHECK(cl.held().host_visible == static_cast<int64_t>(shared));
  CHECK(cl.held().other_buffers == static_cast<int64_t>(device));
  CHECK(cl.held().images == static_cast<int64_t>(info.image_bytes));
  CHECK(static_cast<int64_t>(info.host_bytes + info.scratch_bytes + info.table_bytes) ==
        allocator.live_bytes);
}

TEST_CASE("creation gives everything back, whichever allocation of many variants fails") {
  const ManyVariants many({GpuHalf::FineSvm, GpuHalf::SeparateImages, GpuHalf::SubBuffer});
  for (int64_t fail_at = 0;; ++fail_at) {
    FakeCl cl;
    CountingAllocator allocator;
    allocator.fail_at = fail_at;
    bool is_over = false;
    {
      Options options = many.options;
      options.allocator = allocator.get();
      options.fallback = CODL_FALLBACK_PER_RUN;
      options.check_every = 2;
      const ReluSession session(many.plan, options, &cl.api());
      is_over = allocator.allocation_count <= fail_at;
      CHECK(session.status == (is_over ? CODL_OK : CODL_OUT_OF_MEMORY));
    }
    CHECK(allocator.live_count == 0);
    CHECK(cl.live_count() == 0);
    if (is_over) break;
  }
}

// Switches variants, and makes calls of the driver fail, at random.
void fail_at_random(FakeCl& cl, const ManyVariants& many, int32_t fallback, bool computes) {
  const bool falls_back = fallback == CODL_FALLBACK_PER_RUN;
  {
    Options options = many.options;
    options.fallback = fallback;
    ReluSession session(many.plan, options, &cl.api());
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    const int live = cl.live_count();
    std::mt19937 random(11);
    int failures = 0;
    for (int round = 0; round < 300; ++round) {
      const std::string& name = many.names[random() % many.names.size()];
      REQUIRE(switch_to(session, name) == CODL_OK);
      cl.clear_calls();
      // Two consecutive runs never fail, so that the device is not given up.
      const bool fails = round % 2 == 0;
      cl.fail_at(fails ? static_cast<int>(random() % 8) : -1, CL_OUT_OF_RESOURCES);
      const codl_status_t status = session.run(round);
      const bool has_failed = session.info().failed_runs > static_cast<uint64_t>(failures);
      cl.fail_at(-1, 0);
      INFO("round " << round << ", " << name << ": " << session.diag.message);
      CHECK((fails || !has_failed));
      failures += has_failed ? 1 : 0;
      REQUIRE(status == (has_failed && !falls_back ? CODL_DEVICE_ERROR : CODL_OK));
      if (status == CODL_OK && (computes || has_failed || name == "cpu")) CHECK(session.is_right());
      CHECK(cl.live_count() == live);
      CHECK(session.info().variant == name);
    }
    CHECK(failures > 50);
  }
  CHECK(cl.live_count() == 0);
}

TEST_CASE("variants take turns while calls of the driver fail") {
  const int32_t fallback = GENERATE(CODL_FALLBACK_NEVER, CODL_FALLBACK_PER_RUN);
  FakeCl fake;
  fail_at_random(fake, ManyVariants({kHalves, kHalves + 8}), fallback, false);
  if (machine_opencl() == nullptr) return;
  FakeCl real(*machine_opencl());
  fail_at_random(real, ManyVariants(halves_here()), fallback, true);
}

TEST_CASE("a lost device is lost to all variants that have its memory") {
  const ManyVariants many({GpuHalf::SubBuffer, GpuHalf::Separate});
  const int32_t fallback = GENERATE(CODL_FALLBACK_NEVER, CODL_FALLBACK_PER_RUN);
  FakeCl cl;
  CountingAllocator allocator;
  Options options = many.options;
  options.allocator = allocator.get();
  options.fallback = fallback;
  ReluSession session(many.plan, options, &cl.api());
  REQUIRE(session.status == CODL_OK);
  cl.clear_calls();
  cl.fail_at(3, CL_INVALID_COMMAND_QUEUE, 1 << 20);
  if (fallback == CODL_FALLBACK_PER_RUN) {
    REQUIRE(session.run() == CODL_OK);
    CHECK(session.is_right());
    CHECK(session.info().variant == std::string("cpu"));
    CHECK(switch_to(session, "v1") == CODL_DEVICE_ERROR);
    REQUIRE(session.run(1) == CODL_OK);
    CHECK(session.is_right());
    return;
  }
  REQUIRE(session.run() == CODL_DEVICE_ERROR);
  const std::string first = session.diag.message;
  cl.fail_at(-1, 0);
  for (const std::string& name : many.names) {
    REQUIRE(switch_to(session, name) == CODL_OK);
    cl.clear_calls();
    CHECK(session.run() == CODL_DEVICE_ERROR);
    CHECK(session.diag.message != std::string());
    CHECK(cl.calls().empty());
  }
}

// `api` null: this machine's OpenCL. `computes`: it computes, so that results can be checked.
void disturb_runs(const ManyVariants& many, const rt::ClApi* api, bool computes) {
  ReluSession session(many.plan, many.options, api);
  INFO(session.diag.message);
  REQUIRE(session.status == CODL_OK);
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 3; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      codl_session_info_t info = {};
      info.struct_size = sizeof(info);
      for (uint32_t i = 0; !is_over; ++i) {
        const std::string& name = many.names[random() % many.names.size()];
        codl_diag_t diag;
        bool is_right = codl_session_set_variant(session.get(), name.c_str(), &diag) == CODL_OK;
        is_right = codl_session_get_info(session.get(), &info) == CODL_OK && is_right;
        codl_variant_state_t state;
        is_right =
            codl_session_variant(session.get(), random() % many.names.size(), &state) == CODL_OK &&
            state.name != nullptr && is_right;
        if (i % 64 == 0) is_right = codl_session_cancel(session.get()) == CODL_OK && is_right;
        if (!is_right) ++wrong;
        std::this_thread::yield();
      }
    });
  int ended = 0;
  uint64_t switches = 0;
  std::string last;
  // Waits until the others have had their turns.
  for (int round = 0; round < 300 || switches < 10; ++round) {
    const std::string variant = session.info().variant;
    switches += variant != last ? 1 : 0;
    last = variant;
    const codl_status_t status = session.run(round);
    if (status == CODL_OK && computes && !session.is_right()) ++wrong;
    if (status != CODL_OK && status != CODL_CANCELLED) ++wrong;
    ended += status == CODL_OK ? 1 : 0;
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(ended > 0);
}

TEST_CASE("other threads switch, ask and cancel beside runs") {
  FakeCl fake;
  disturb_runs(ManyVariants({kHalves, kHalves + 8}), &fake.api(), false);
  if (machine_opencl() != nullptr) disturb_runs(ManyVariants(halves_here()), nullptr, true);
}

TEST_CASE("a session prepares one variant, those that are named, or all") {
  const ManyVariants many({GpuHalf::FineSvm, GpuHalf::Separate});
  FakeCl cl;
  Options options = ReluSession::defaults();
  {
    ReluSession session(many.plan, options, &cl.api());
    CHECK(session.info().variant_count == 1);
    CHECK(switch_to(session, "v0") == CODL_OK);
    CHECK(switch_to(session, "cpu") == CODL_INVALID_ARGUMENT);
    CHECK_THAT(session.diag.message,
               Catch::Contains("expected one that is prepared (v0), found cpu"));
  }
  options.variant_count = CODL_ALL_VARIANTS;
  {
    ReluSession session(many.plan, options, &cl.api());
    CHECK(session.info().variant_count == many.names.size());
    for (size_t i = 0; i < many.names.size(); ++i) {
      codl_variant_state_t state;
      REQUIRE(codl_session_variant(session.get(), i, &state) == CODL_OK);
      CHECK(state.needs_gpu == (state.name == std::string("cpu") ? 0 : 1));
      REQUIRE(switch_to(session, state.name) == CODL_OK);
      REQUIRE(session.run() == CODL_OK);
      REQUIRE(codl_session_variant(session.get(), i, &state) == CODL_OK);
      CHECK(state.run_count == 1);
    }
  }
  cl.device.has_device = false;
  {
    ReluSession session(many.plan, options, &cl.api());
    REQUIRE(session.status == CODL_OK);
    CHECK(session.info().variant_count == 1);
    CHECK(session.info().variant == std::string("cpu"));
    CHECK(session.info().fallback_reason != std::string());
  }
}

}  // namespace
}  // namespace codl::test
