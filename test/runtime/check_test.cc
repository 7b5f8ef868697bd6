// Tests checks during runs, on right drivers and on ones made wrong on purpose.
#include <cstring>
#include <string>
#include <vector>

#include "schema/half.h"
#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

using Options = codl_session_options_t;

// Now and then skips the last work-group (the last work-items, if the driver chooses groups) of a
// chosen kernel launch, so that its part of the output keeps an older run's numbers.
struct LazyDriver {
  rt::ClApi api;
  int launch = 0;          // number of a launch in a run
  int every = 1;           // runs
  int runs = 0;            // so far
  int launches = 0;        // in this run so far
  int each_launch_of = 1;  // so many consecutive launches count as one

  static LazyDriver*& current() {
    static LazyDriver* driver = nullptr;
    return driver;
  }

  explicit LazyDriver(const rt::ClApi& real) : api(real) {
    current() = this;
    real_ = real.clEnqueueNDRangeKernel;
    api.clEnqueueNDRangeKernel = enqueue;
  }
  LazyDriver(const LazyDriver&) = delete;
  LazyDriver& operator=(const LazyDriver&) = delete;
  ~LazyDriver() { current() = nullptr; }

  void begin_run() {
    ++runs;
    launches = 0;
  }

 private:
  static cl_int enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                        const size_t* offset, const size_t* global, const size_t* local,
                        cl_uint wait_count, const cl_event* waits, cl_event* event) {
    LazyDriver& driver = *current();
    size_t sizes[3] = {global[0], global[1], global[2]};
    if (driver.runs > 0 && driver.launches++ / driver.each_launch_of == driver.launch &&
        driver.runs % driver.every == 0) {
      int dim = 0;  // the one with most groups
      for (int i = 1; i < 3; ++i)
        if (sizes[i] / (local ? local[i] : 1) > sizes[dim] / (local ? local[dim] : 1)) dim = i;
      sizes[dim] -= local ? local[dim] : 1;
    }
    return driver.real_(queue, kernel, dims, offset, sizes, local, wait_count, waits, event);
  }

  decltype(rt::ClApi::clEnqueueNDRangeKernel) real_;
};

Options checking(int32_t every, int32_t fallback = CODL_FALLBACK_NEVER) {
  Options options = ReluSession::defaults();
  options.require_variant = 1;
  options.check_every = every;
  options.fallback = fallback;
  return options;
}

bool has_images(GpuHalf half) {
  return half == GpuHalf::FineSvmImages || half == GpuHalf::SubBufferImages ||
         half == GpuHalf::SeparateImages;
}

// Returns the number of GPU kernels of a relu plan.
int launch_count(GpuHalf half) { return has_images(half) ? 3 : 1; }

TEST_CASE("a right driver passes every check") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here())
    for (Gate gate : kGates) {
      INFO(describe(half, gate));
      const OpenPlan plan(relu_plan({.half = half, .gate = gate}));
      FakeCl cl(*machine_opencl());
      CountingAllocator allocator;
      {
        Options options = checking(1);
        options.allocator = allocator.get();
        ReluSession session(plan, options, &cl.api());
        REQUIRE(session.status == CODL_OK);
        CHECK(session.get()->current()->checker->step_count() ==
              static_cast<uint32_t>(launch_count(half)));
        const codl_session_info_t info = session.info();
        CHECK(static_cast<int64_t>(info.host_bytes + info.scratch_bytes + info.table_bytes) ==
              allocator.live_bytes);
        const int64_t allocations = allocator.allocation_count;
        const int live = cl.live_count();
        for (int round = 0; round < 20; ++round) {
          const codl_status_t status = session.run(round);
          INFO(session.diag.message);
          REQUIRE(status == CODL_OK);
          CHECK(session.is_right());
        }
        CHECK(allocator.allocation_count == allocations);
        CHECK(cl.live_count() == live);
      }
      CHECK(allocator.live_count == 0);
      CHECK(cl.live_count() == 0);
    }
}

TEST_CASE("a step in its place computes nothing to check or to test") {
  if (machine_opencl() == nullptr) return;
  TestPlan plan = relu_plan({.half = GpuHalf::Separate});
  add_reshapes_in_place(plan);
  const OpenPlan open(plan);
  FakeCl cl(*machine_opencl());
  ReluSession session(open, checking(1), &cl.api());
  REQUIRE(session.status == CODL_OK);
  CHECK(session.get()->current()->checker->step_count() == 1);
  for (int round = 0; round < 3; ++round) {
    const codl_status_t status = session.run(round);
    INFO(session.diag.message);
    CHECK(status == CODL_OK);
  }
}

TEST_CASE("a work-group that does not run is found, whichever kernel it is of", "[driver]") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here())
    for (Gate gate : kGates)
      for (int launch = 0; launch < launch_count(half); ++launch) {
        INFO(describe(half, gate) << ", launch " << launch);
        const OpenPlan plan(relu_plan({.half = half, .gate = gate}));
        LazyDriver driver(*machine_opencl());
        driver.launch = launch;
        constexpr int32_t kEvery = 3;
        ReluSession session(plan, checking(kEvery), &driver.api);
        REQUIRE(session.status == CODL_OK);
        int found = 0;
        for (int round = 1; round <= kEvery * launch_count(half); ++round) {
          driver.begin_run();
          const codl_status_t status = session.run(round);
          INFO(session.diag.message);
          CHECK((status == CODL_OK || status == CODL_WRONG_RESULT));
          if (status != CODL_WRONG_RESULT) continue;
          ++found;
          CHECK(round % kEvery == 0);
          CHECK_THAT(session.diag.message, Catch::Contains("_cl_"));
          CHECK_THAT(session.diag.message, Catch::Contains("expected"));
        }
        // Each round through the steps finds it once.
        CHECK(found == 1);
        CHECK(session.info().failed_runs == 1);
        driver.every = 1 << 30;
        driver.begin_run();
        REQUIRE(session.run() == CODL_OK);
        CHECK(session.is_right());
      }
}

TEST_CASE("a fault of one run in many is found, and the CPU goes on") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here()) {
    INFO(describe(half, Gate::UserEvent));
    const OpenPlan plan(relu_plan({.half = half, .gate = Gate::UserEvent}));
    LazyDriver driver(*machine_opencl());
    // Both numbers are coprime to the number of steps and to each other, so within so many runs
    // each step is checked in a wrong run.
    driver.every = 7;
    constexpr int32_t kEvery = 5;
    ReluSession session(plan, checking(kEvery, CODL_FALLBACK_PER_RUN), &driver.api);
    REQUIRE(session.status == CODL_OK);
    for (int round = 1; round <= driver.every * kEvery * launch_count(half); ++round) {
      driver.begin_run();
      REQUIRE(session.run(round) == CODL_OK);
      if (round % driver.every != 0) CHECK(session.is_right());
      if (session.info().failed_runs == 0) continue;
      CHECK(session.is_right());
      break;
    }
    CHECK(session.info().failed_runs == 1);
    CHECK(session.info().variant == std::string("cpu"));
    CHECK_THAT(session.info().fallback_reason, Catch::Contains("expected"));
    for (int round = 0; round < driver.every; ++round) {
      driver.begin_run();
      REQUIRE(session.run(round) == CODL_OK);
      CHECK(session.is_right());
      CHECK(driver.launches == 0);
    }
  }
}

TEST_CASE("a check computes all of a large step, with little memory") {
  if (machine_opencl() == nullptr || lacks_fine_svm()) return;
  // 2 MiB each way give five or more slices of half a MiB for inputs and results.
  const OpenPlan plan(relu_plan({.dims = {1, 16, 256, 128}, .cut_row = 4}));
  LazyDriver driver(*machine_opencl());
  constexpr int32_t kEvery = 4;
  ReluSession session(plan, checking(kEvery), &driver.api);
  REQUIRE(session.status == CODL_OK);
  CHECK(session.info().scratch_bytes < (1u << 20));
  for (int round = 1; round <= 5 * kEvery; ++round) {
    driver.begin_run();
    INFO("run " << round);
    CHECK(session.run(round) == (round % kEvery == 0 ? CODL_WRONG_RESULT : CODL_OK));
  }
}

// check_every promises to find a fault that is in every run within N x steps runs, and one that is
// in one run of K with the first check of its step in such a run.
TEST_CASE("a fault of one run in a thousand is found in the first such run that checks its step",
          "[driver]") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here()) {
    const int steps = launch_count(half);
    const int launch = steps - 1;
    INFO(describe(half, Gate::HostEnqueue));
    const OpenPlan plan(relu_plan({.half = half}));
    LazyDriver driver(*machine_opencl());
    driver.launch = launch;
    driver.every = 1000;
    ReluSession session(plan, checking(1), &driver.api);
    REQUIRE(session.status == CODL_OK);
    int found = 0;
    int round = 1;
    for (; round <= driver.every * steps && found == 0; ++round) {
      driver.begin_run();
      const codl_status_t status = session.run(round);
      REQUIRE((status == CODL_OK || status == CODL_WRONG_RESULT));
      if (status == CODL_WRONG_RESULT) found = round;
    }
    // A thousand and three are coprime, so within so many runs each step is checked in a wrong one.
    CHECK(found != 0);
    CHECK(found % driver.every == 0);
    CHECK_THAT(session.diag.message, Catch::Contains("_cl_"));
  }
}

struct Tested {
  std::vector<std::string> wrong, right;  // kernels
  static void keep(void* context, const codl_step_result_t* result) {
    Tested& self = *static_cast<Tested*>(context);
    (result->is_wrong != 0 ? self.wrong : self.right).push_back(result->kernel);
  }
};

TEST_CASE("the self-test names the kernel that is wrong, and none of a right driver", "[driver]") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here()) {
    const OpenPlan plan(relu_plan({.half = half}));
    for (int launch = -1; launch < launch_count(half); ++launch) {
      INFO(describe(half, Gate::HostEnqueue) << ", launch " << launch);
      LazyDriver driver(*machine_opencl());
      driver.launch = launch;
      ReluSession session(plan, checking(1000), &driver.api);
      REQUIRE(session.status == CODL_OK);
      // The first input of a wrong kernel shows the fault: each kernel before it runs on three.
      driver.runs = 1;
      driver.each_launch_of = 3;
      Tested tested;
      const codl_status_t status =
          codl_session_self_test(session.get(), Tested::keep, &tested, &session.diag);
      INFO(session.diag.message);
      CHECK(status == (launch < 0 ? CODL_OK : CODL_WRONG_RESULT));
      CHECK(tested.wrong.empty() == (launch < 0));
      CHECK(tested.wrong.size() + tested.right.size() == static_cast<size_t>(launch_count(half)));
      // The memory that the fault leaves does no harm.
      driver.launch = -1;
      REQUIRE(session.run() == CODL_OK);
      CHECK(session.is_right());
    }
  }
}

// Computes y = c / 16 x + c in channel c of 16, on the GPU or, as variant "cpu", on the CPU: maps
// and filters are halves.
TestPlan half_weights_plan() {
  const auto half_map = [](Storage storage, uint64_t offset_bytes) {
    return TestTensor{.name = "map",
                      .storage = storage,
                      .dims = {1, 16, 4, 4},
                      .layout = Layout::Nhwc,
                      .row_end = 4,
                      .offset_bytes = offset_bytes,
                      .bytes = 16 * 4 * 4 * 2,
                      .dtype = DType::F16};
  };
  TestPlan plan;
  std::vector<Half> filters;
  std::vector<float> biases;
  for (int c = 0; c < 16; ++c) {
    filters.emplace_back(c / 16.0);
    biases.push_back(static_cast<float>(c));
  }
  std::vector<float> bytes_of_filters(filters.size() / 2);
  std::memcpy(bytes_of_filters.data(), filters.data(), filters.size() * sizeof(Half));
  TestTensor io = {.name = "io", .dims = {1, 16, 4, 4}, .bytes = 16 * 4 * 4 * 4};
  TestVariant variant;
  variant.name = "gpu";
  variant.sharing = Sharing::Separate;
  variant.host_bytes = variant.device_bytes = 2048;
  for (Storage storage : {Storage::Input, Storage::Output}) {
    io.storage = storage;
    variant.tensors.push_back(io);
  }
  for (uint64_t offset_bytes : {0, 1024})
    for (Storage storage : {Storage::Host, Storage::Device})
      variant.tensors.push_back(half_map(storage, offset_bytes));
  variant.tensors.push_back({.name = "w",
                             .storage = Storage::Weights,
                             .dims = {16, 1, 1, 1},
                             .layout = Layout::Packed,
                             .index = add_blob(plan, "w", bytes_of_filters),
                             .bytes = 16 * 2,
                             .dtype = DType::F16});
  variant.tensors.push_back({.name = "b",
                             .storage = Storage::Weights,
                             .dims = {16},
                             .layout = Layout::Packed,
                             .index = add_blob(plan, "b", biases),
                             .bytes = 16 * 4});
  TestVariant on_cpu = variant;
  on_cpu.name = "cpu";
  on_cpu.sharing = Sharing::None;
  on_cpu.device_bytes = 0;
  for (TestTensor& tensor : on_cpu.tensors)
    if (tensor.storage == Storage::Device) tensor.storage = Storage::Host;
  const auto add_step = [](TestVariant& to, StepKind kind, Queue queue, const char* symbol,
                           std::vector<uint32_t> operands) {
    TestStep step;
    step.kind = kind;
    step.queue = queue;
    for (const KernelInfo& kernel : kKernelInfos)
      if (std::strcmp(kernel.symbol, symbol) == 0) step.kernel = kernel.id;
    step.operands = std::move(operands);
    if (std::strncmp(symbol, "depthwise", 9) == 0)
      step.params = params_bytes(
          DepthwiseConv2dParams{.stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1});
    if (!to.steps.empty() && to.steps.back().queue != queue)
      step.waits = {static_cast<uint32_t>(to.steps.size() - 1)};
    step.name = symbol;
    to.steps.push_back(step);
  };
  for (TestVariant* each : {&variant, &on_cpu})
    add_step(*each, StepKind::Kernel, Queue::Cpu, "convert_f32_cpu", {0, 2});
  add_step(variant, StepKind::Upload, Queue::Transfer, "", {2, 3});
  add_step(variant, StepKind::Kernel, Queue::Gpu, "depthwise_conv2d_f32_cl_buffer", {3, 6, 7, 5});
  add_step(variant, StepKind::Download, Queue::Transfer, "", {5, 4});
  add_step(on_cpu, StepKind::Kernel, Queue::Cpu, "depthwise_conv2d_f32_cpu", {2, 6, 7, 4});
  for (TestVariant* each : {&variant, &on_cpu})
    add_step(*each, StepKind::Kernel, Queue::Cpu, "convert_f32_cpu", {4, 1});
  plan.inputs = {{.name = "x", .dims = io.dims, .bytes = io.bytes}};
  plan.outputs = {{.name = "y", .dims = io.dims, .bytes = io.bytes}};
  plan.variants = {std::move(variant), std::move(on_cpu)};
  name_kernels(plan);
  return plan;
}

bool is_scaled(const ReluSession& session) {
  for (size_t i = 0; i < session.y.size(); ++i) {
    const auto c = static_cast<float>(i / 16);
    if (session.y[i] != c / 16 * session.x[i] + c) return false;
  }
  return true;
}

TEST_CASE("a step whose weights are halves is computed and checked by the same bytes") {
  const OpenPlan plan(half_weights_plan());
  Options on_cpu = ReluSession::defaults();
  on_cpu.variant = "cpu";
  ReluSession cpu_session(plan, on_cpu);
  REQUIRE(cpu_session.run() == CODL_OK);
  CHECK(is_scaled(cpu_session));
  if (machine_opencl() == nullptr) return;
  for (bool is_wrong : {false, true}) {
    LazyDriver driver(*machine_opencl());
    driver.launch = is_wrong ? 0 : -1;
    ReluSession session(plan, checking(1), &driver.api);
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    driver.begin_run();
    REQUIRE(session.run() == (is_wrong ? CODL_WRONG_RESULT : CODL_OK));
    CHECK((is_wrong || is_scaled(session)));
    Tested tested;
    driver.launch = -1;
    CHECK(codl_session_self_test(session.get(), Tested::keep, &tested, &session.diag) == CODL_OK);
    CHECK(tested.right == std::vector<std::string>{"depthwise_conv2d_f32_cl_buffer"});
  }
}

TEST_CASE("whichever call of a checked run fails, the CPU variant finishes it") {
  for (GpuHalf half : kHalves)
    for (Gate gate : kGates) {
      const OpenPlan plan(relu_plan({.half = half, .gate = gate}));
      for (int fail_at = 0;; ++fail_at) {
        FakeCl cl;
        INFO(describe(half, gate) << ", call " << fail_at);
        bool is_over = false;
        {
          ReluSession session(plan, checking(1, CODL_FALLBACK_PER_RUN), &cl.api());
          REQUIRE(session.status == CODL_OK);
          cl.clear_calls();
          cl.fail_at(fail_at, CL_OUT_OF_RESOURCES);
          // The simulated device computes nothing, so a step that does not fail is found to be
          // wrong.
          REQUIRE(session.run() == CODL_OK);
          is_over = static_cast<int>(cl.calls().size()) <= fail_at;
          if (session.info().failed_runs != 0) CHECK(session.is_right());
        }
        CHECK(cl.live_count() == 0);
        if (is_over) break;
      }
    }
}

}  // namespace
}  // namespace codl::test
