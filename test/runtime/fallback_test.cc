// Tests drivers that fail in a run: every call in turn, in the first and in a later run, with every
// kind of sharing, with and without a CPU variant to fall back to.
#include <atomic>
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

Options options_with(int32_t fallback, const Lines& said) {
  Options options = ReluSession::defaults();
  options.require_variant = 1;
  options.fallback = fallback;
  options.log = &said.log;
  return options;
}

// Lets each call of a run fail once, from run number `before` on, in a session that lives on.
// `computes`: the OpenCL behind `cl` computes, so that GPU results can be checked.
void fail_each_call_of_a_run(FakeCl& cl, bool computes, GpuHalf half, Gate gate, int32_t fallback,
                             int before) {
  const bool falls_back = fallback == CODL_FALLBACK_PER_RUN;
  const OpenPlan plan(relu_plan({.half = half, .gate = gate}));
  cl.fail_at(-1, 0);
  {
    Lines said;
    ReluSession session(plan, options_with(fallback, said), &cl.api());
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    said.lines.clear();  // forgets the line about a driver without early unmaps
    int round = 0;
    for (; round < before; ++round) REQUIRE(session.run(round) == CODL_OK);
    const int live = cl.live_count();
    uint64_t failures = 0;
    for (int fail_at = 0;; ++fail_at) {
      cl.clear_calls();
      cl.fail_at(fail_at, CL_OUT_OF_RESOURCES);
      const codl_status_t status = session.run(++round);
      const bool is_over = static_cast<int>(cl.calls().size()) <= fail_at;
      const std::string call = is_over ? "none" : cl.calls()[static_cast<size_t>(fail_at)];
      INFO(describe(half, gate) << ", fallback " << fallback << ", run " << round << ", call "
                                << fail_at << ": " << call);
      cl.fail_at(-1, 0);
      if (is_over || call.find("clRelease") == 0) {  // releases never fail
        CHECK(status == CODL_OK);
      } else {
        ++failures;
        CHECK(status == (falls_back ? CODL_OK : CODL_DEVICE_ERROR));
        if (falls_back) CHECK(session.is_right());
        if (!falls_back) CHECK_THAT(session.diag.message, Catch::Contains("OpenCL error -5"));
      }
      CHECK(cl.live_count() == live);
      CHECK(session.info().failed_runs == failures);
      // The device does the next run again.
      cl.clear_calls();
      const codl_status_t next = session.run(++round);
      INFO("next run: " << session.diag.message);
      REQUIRE(next == CODL_OK);
      CHECK(!cl.calls().empty());
      if (computes) CHECK(session.is_right());
      if (is_over) break;
    }
    CHECK(failures > 0);
    CHECK(said.lines.size() == 1);
    CHECK(session.info().variant == std::string("coexec"));
    CHECK_THAT(session.info().run_failure, Catch::Contains("OpenCL error -5"));
  }
  CHECK(cl.live_count() == 0);
}

TEST_CASE("whichever call of a run fails, the run says so, the next one is right, nothing leaks") {
  for (GpuHalf half : kHalves)
    for (Gate gate : kGates)
      for (int32_t fallback : {CODL_FALLBACK_NEVER, CODL_FALLBACK_PER_RUN}) {
        FakeCl cl;
        fail_each_call_of_a_run(cl, false, half, gate, fallback, 0);
      }
}

TEST_CASE("a real queue comes back from every failed call, in the first run and in a later one",
          "[driver]") {
  if (machine_opencl() == nullptr) return;
  for (GpuHalf half : halves_here())
    for (Gate gate : kGates)
      for (int32_t fallback : {CODL_FALLBACK_NEVER, CODL_FALLBACK_PER_RUN}) {
        FakeCl cl(*machine_opencl());
        fail_each_call_of_a_run(cl, true, half, gate, fallback,
                                fallback == CODL_FALLBACK_NEVER ? 0 : 3);
      }
}

TEST_CASE("a device that is lost in a run is given up, and the CPU goes on") {
  for (GpuHalf half : kHalves)
    for (Gate gate : kGates)
      for (int fail_at = 0;; ++fail_at) {
        const OpenPlan plan(relu_plan({.half = half, .gate = gate}));
        FakeCl cl;
        CountingAllocator allocator;
        Lines said;
        Options options = options_with(CODL_FALLBACK_PER_RUN, said);
        options.allocator = allocator.get();
        bool is_over = false;
        {
          ReluSession session(plan, options, &cl.api());
          REQUIRE(session.status == CODL_OK);
          const int live = cl.live_count();
          cl.clear_calls();
          cl.fail_at(fail_at, CL_INVALID_COMMAND_QUEUE, 1 << 20);
          INFO(describe(half, gate) << ", from call " << fail_at << " on");
          for (int round = 0; round < 5; ++round) {
            REQUIRE(session.run(round) == CODL_OK);
            is_over = is_over || static_cast<int>(cl.calls().size()) <= fail_at;
            if (is_over) break;
            if (session.info().failed_runs > 0) CHECK(session.is_right());
            CHECK(cl.live_count() == live);
          }
          if (!is_over) {
            // clFinish fails, too, so nobody knows what the device still does.
            CHECK(session.info().failed_runs == 1);
            CHECK(session.info().variant == std::string("cpu"));
            CHECK(session.info().fallback_reason == std::string(session.info().run_failure));
            CHECK(said.lines.size() == 2);
            cl.clear_calls();
            REQUIRE(session.run() == CODL_OK);
            CHECK(cl.calls().empty());
          }
        }
        // If the device did not return, the memory that it may still write to stays.
        CHECK(cl.frees_in_use() == 0);
        CHECK(cl.live_count() == cl.svm_count());
        CHECK(allocator.live_count <= (cl.has_failed() ? 1 : 0));
        if (is_over) break;
      }
}

TEST_CASE("a device that fails in three runs one after the other is given up") {
  const OpenPlan plan(relu_plan({}));
  FakeCl cl;
  Lines said;
  ReluSession session(plan, options_with(CODL_FALLBACK_PER_RUN, said), &cl.api());
  REQUIRE(session.status == CODL_OK);
  const auto run = [&](cl_int state) {
    cl.device.event_state = state;
    return session.run() == CODL_OK && (state == CL_COMPLETE || session.is_right());
  };
  for (cl_int state : {CL_OUT_OF_RESOURCES, CL_OUT_OF_RESOURCES, CL_COMPLETE, CL_OUT_OF_RESOURCES,
                       CL_OUT_OF_RESOURCES})
    CHECK(run(state));
  CHECK(session.info().variant == std::string("coexec"));
  CHECK(run(CL_OUT_OF_RESOURCES));
  CHECK(session.info().variant == std::string("cpu"));
  CHECK(session.info().failed_runs == 5);
  CHECK(session.info().run_failure == std::string("a command of the GPU queue: OpenCL error -5"));
  REQUIRE(said.lines.size() == 2);
  CHECK_THAT(said.lines[0], Catch::Contains("it is finished on the CPU"));
  CHECK_THAT(said.lines[1], Catch::Contains("not used any more"));
}

TEST_CASE("a run that falls back takes no memory, and what the session holds is what it says") {
  const OpenPlan plan(relu_plan({}));
  for (int32_t records : {0, 1}) {
    CountingAllocator allocator;
    {
      FakeCl cl;
      Lines said;
      Options options = options_with(CODL_FALLBACK_PER_RUN, said);
      options.allocator = allocator.get();
      options.record_timeline = records;
      ReluSession session(plan, options, &cl.api());
      REQUIRE(session.status == CODL_OK);
      const codl_session_info_t info = session.info();
      CHECK(static_cast<int64_t>(info.host_bytes + info.scratch_bytes + info.table_bytes) ==
            allocator.live_bytes);
      const int64_t allocations = allocator.allocation_count;
      cl.clear_calls();
      cl.fail_at(0, CL_OUT_OF_RESOURCES);
      REQUIRE(session.run() == CODL_OK);
      CHECK(session.info().failed_runs == 1);
      CHECK(allocator.allocation_count == allocations);
      size_t count = 0;
      const codl_step_time_t* times = codl_session_timeline(session.get(), &count);
      CHECK(count == (records != 0 ? 3u : 0u));  // the CPU variant's
      for (size_t i = 0; i < count; ++i) CHECK(times[i].queue == 0);
    }
    CHECK(allocator.live_count == 0);
  }
}

TEST_CASE("a session that is to fall back says what it lacks, and no memory leaks anywhere") {
  TestPlan only_gpu = relu_plan({});
  only_gpu.variants.pop_back();
  name_kernels(only_gpu);
  const OpenPlan plan(only_gpu);
  FakeCl cl;
  Lines said;
  const ReluSession without(plan, options_with(CODL_FALLBACK_PER_RUN, said), &cl.api());
  CHECK(without.status == CODL_INVALID_ARGUMENT);
  CHECK(without.diag.message == std::string("fallback: expected a plan with a CPU variant, "
                                            "found none"));
  for (int64_t fail_at = 0;; ++fail_at) {
    const OpenPlan both(relu_plan({}));
    CountingAllocator allocator;
    allocator.fail_at = fail_at;
    Options options = options_with(CODL_FALLBACK_PER_RUN, said);
    options.allocator = allocator.get();
    codl_status_t status = CODL_OK;
    {
      const ReluSession session(both, options, &cl.api());
      status = session.status;
    }
    CHECK(allocator.live_count == 0);
    CHECK(allocator.live_bytes == 0);
    if (status == CODL_OK) break;
    CHECK(status == CODL_OUT_OF_MEMORY);
  }
}

TEST_CASE("a run is cancelled from another thread, and the next one is right") {
  const bool has_device = machine_opencl() != nullptr;
  for (GpuHalf half : has_device ? halves_here() : std::vector<GpuHalf>())
    for (Gate gate : kGates) {
      INFO(describe(half, gate));
      // The run is long enough to be cancelled.
      const OpenPlan plan(relu_plan({.half = half, .gate = gate, .dims = {1, 64, 128, 128}}));
      Lines said;
      ReluSession session(plan, options_with(CODL_FALLBACK_PER_RUN, said));
      REQUIRE(session.status == CODL_OK);
      std::atomic<bool> is_over{false};
      std::thread other([&] {
        while (!is_over) {
          (void)codl_session_cancel(session.get());
          std::this_thread::yield();
        }
      });
      int cancelled = 0;
      for (int round = 0; round < 2000 && cancelled < 5; ++round) {
        const codl_status_t status = session.run(round);
        if (status == CODL_OK) CHECK(session.is_right());
        if (status != CODL_OK) CHECK(status == CODL_CANCELLED);
        if (status == CODL_CANCELLED) ++cancelled;
      }
      is_over = true;
      other.join();
      CHECK(cancelled == 5);
      CHECK(session.info().failed_runs == 0);
      REQUIRE(session.run() == CODL_OK);
      CHECK(session.is_right());
    }
}

TEST_CASE("falling back when a session is made is said once") {
  const OpenPlan plan(relu_plan({}));
  FakeCl cl(FakeDevice{.has_fine_svm = false});
  Lines said;
  Options options = options_with(CODL_FALLBACK_PER_RUN, said);
  options.require_variant = 0;
  ReluSession session(plan, options, &cl.api());
  REQUIRE(session.status == CODL_OK);
  REQUIRE(session.run() == CODL_OK);
  REQUIRE(said.lines.size() == 1);
  CHECK_THAT(said.lines[0], Catch::Contains("device fake device has no fine-grained SVM"));
}

}  // namespace
}  // namespace codl::test
