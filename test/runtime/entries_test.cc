// Tests sessions of plans with several entries: the input's dims say which runs, in memory of the
// largest, and no run allocates.
#include <algorithm>
#include <string>
#include <vector>

#include "codl/policy.h"
#include "test/runtime/gpu_halves.h"
#include "test/runtime/relu_session.h"
#include "test/support/counting_allocator.h"
#include "test/support/fake_cl.h"

namespace codl::test {
namespace {

// Makes a plan of a relu for maps of these dims, an entry each.
TestPlan plan_of_entries(std::vector<TestPlan> entries) {
  for (TestPlan& entry : entries)
    entry.entry_name = "width=" + std::to_string(entry.inputs[0].dims[3]);
  TestPlan plan = entries.front();
  plan.others.assign(entries.begin() + 1, entries.end());
  name_kernels(plan);
  return plan;
}

TestPlan cpu_entries(const std::vector<int32_t>& widths) {
  std::vector<TestPlan> entries;
  for (const int32_t width : widths) entries.push_back(relu_cpu_plan({1, 20, 6, width}, 1));
  return plan_of_entries(entries);
}

codl_shape_t shape_of_width(int64_t width, int64_t channels = 20) {
  return {4, {1, channels, 6, width}};
}

codl_status_t set_shape(ReluSession& session, const codl_shape_t& shape) {
  return codl_session_set_shapes(session.get(), &shape, 1, &session.diag);
}

// Runs at a width and says whether the result is right.
bool runs_at(ReluSession& session, int64_t width, int round) {
  if (set_shape(session, shape_of_width(width)) != CODL_OK) return false;
  session.x.resize(static_cast<size_t>(1 * 20 * 6 * width));
  session.y.resize(session.x.size());
  return session.run(round) == CODL_OK && session.is_right();
}

TEST_CASE("a plan tells of all its entries, and of the first where none is named") {
  const OpenPlan plan(cpu_entries({5, 9}));
  CHECK(codl_plan_entry_count(plan.get()) == 2);
  CHECK(std::string(codl_plan_entry_name(plan.get(), 1)) == "width=9");
  CHECK(std::string(codl_plan_entry_name(plan.get(), 2)).empty());
  codl_tensor_info_t info;
  REQUIRE(codl_plan_input(plan.get(), 0, &info) == CODL_OK);
  CHECK(info.dims[3] == 5);
  REQUIRE(codl_plan_entry_input(plan.get(), 1, 0, &info) == CODL_OK);
  CHECK(info.dims[3] == 9);
  CHECK(info.bytes == 1 * 20 * 6 * 9 * 4);
  REQUIRE(codl_plan_entry_output(plan.get(), 1, 0, &info) == CODL_OK);
  CHECK(info.dims[3] == 9);
  CHECK(codl_plan_entry_output(plan.get(), 2, 0, &info) == CODL_INVALID_ARGUMENT);
  CHECK(codl_plan_entry_input(plan.get(), 0, 1, &info) == CODL_INVALID_ARGUMENT);
  CHECK(codl_plan_entry_variant_count(plan.get(), 1) == 1);
  CHECK(codl_plan_entry_variant_count(plan.get(), 2) == 0);
  codl_variant_info_t variant;
  REQUIRE(codl_plan_entry_variant(plan.get(), 1, 0, &variant) == CODL_OK);
  CHECK(std::string(variant.name) == "cpu");
  CHECK(codl_plan_entry_variant(plan.get(), 1, 1, &variant) == CODL_INVALID_ARGUMENT);
  // The only one has no name.
  const OpenPlan one(relu_cpu_plan({1, 20, 6, 5}, 1));
  CHECK(codl_plan_entry_count(one.get()) == 1);
  CHECK(std::string(codl_plan_entry_name(one.get(), 0)).empty());
}

TEST_CASE("a session takes the entry by the dims it is told, and allocates nothing for it") {
  CountingAllocator allocator;
  {
    const OpenPlan plan(cpu_entries({5, 9, 3}), allocator.get());
    codl_session_options_t options = ReluSession::defaults();
    options.allocator = allocator.get();
    ReluSession session(plan, options);
    REQUIRE(session.status == CODL_OK);
    CHECK(session.info().entry == 0);
    CHECK(session.info().entry_count == 3);
    const int64_t allocations = allocator.allocation_count;
    for (int round = 0; round < 20; ++round) {
      const size_t entry = static_cast<size_t>(round * 7 % 3);
      const int64_t width = std::vector<int64_t>{5, 9, 3}[entry];
      CAPTURE(round);
      CHECK(runs_at(session, width, round));
      CHECK(session.info().entry == entry);
      int64_t dims[4] = {};
      int32_t rank = 0;
      REQUIRE(codl_session_get_output_dims(session.get(), 0, dims, 4, &rank) == CODL_OK);
      CHECK(dims[3] == width);
    }
    CHECK(allocator.allocation_count == allocations);
  }
  CHECK(allocator.live_count == 0);
}

TEST_CASE("a session has the memory of its largest entry") {
  const auto info_of = [](const std::vector<int32_t>& widths) {
    const OpenPlan plan(cpu_entries(widths));
    return ReluSession(plan, ReluSession::defaults()).info();
  };
  const OpenPlan alone(relu_cpu_plan({1, 20, 6, 1000}, 1));
  const codl_session_info_t largest = ReluSession(alone, ReluSession::defaults()).info();
  CHECK(info_of({5, 1000, 30}).host_bytes == largest.host_bytes);
  CHECK(info_of({1000, 5}).host_bytes == largest.host_bytes);
  CHECK(info_of({5, 30}).host_bytes < largest.host_bytes);
}

TEST_CASE("dims that no entry has are refused with those that there are") {
  const OpenPlan plan(cpu_entries({5, 9}));
  ReluSession session(plan, ReluSession::defaults());
  REQUIRE(runs_at(session, 9, 1));
  CHECK(set_shape(session, shape_of_width(6)) == CODL_INVALID_ARGUMENT);
  CHECK(std::string(session.diag.message) ==
        "input shapes: expected 1x20x6x5 or 1x20x6x9, found 1x20x6x6");
  CHECK(set_shape(session, shape_of_width(9, 21)) == CODL_INVALID_ARGUMENT);
  for (const int32_t rank : {-1, 0, 3, 5, 1000}) {
    codl_shape_t shape = shape_of_width(9);
    shape.rank = rank;
    CHECK(set_shape(session, shape) == CODL_INVALID_ARGUMENT);
  }
  const codl_shape_t shapes[] = {shape_of_width(9), shape_of_width(9)};
  CHECK(codl_session_set_shapes(session.get(), shapes, 2, &session.diag) == CODL_INVALID_ARGUMENT);
  CHECK(std::string(session.diag.message) == "inputs: expected 1 shapes, found 2");
  CHECK(codl_session_set_shapes(session.get(), nullptr, 1, nullptr) == CODL_INVALID_ARGUMENT);
  CHECK(codl_session_set_shapes(nullptr, shapes, 1, nullptr) == CODL_INVALID_ARGUMENT);
  // It stays with its entry.
  CHECK(session.info().entry == 1);
  CHECK(session.run(2) == CODL_OK);
  CHECK(session.is_right());
  // Buffers of another entry are refused.
  session.x.resize(1 * 20 * 6 * 5);
  session.y.resize(session.x.size());
  CHECK(session.run(3) == CODL_INVALID_ARGUMENT);
  // A plan of one entry takes its own dims.
  const OpenPlan one(relu_cpu_plan({1, 20, 6, 5}, 1));
  ReluSession alone(one, ReluSession::defaults());
  CHECK(set_shape(alone, shape_of_width(5)) == CODL_OK);
  CHECK(set_shape(alone, shape_of_width(6)) == CODL_INVALID_ARGUMENT);
}

TEST_CASE("a variant is set for every entry; one that lacks it stays with its own") {
  std::vector<TestPlan> entries = {relu_cpu_plan({1, 20, 6, 5}, 1),
                                   relu_cpu_plan({1, 20, 6, 9}, 1)};
  for (TestPlan& entry : entries) {
    entry.variants.push_back(entry.variants[0]);
    entry.variants.back().name = "other";
  }
  entries[1].variants.push_back(entries[1].variants[0]);
  entries[1].variants.back().name = "third";
  const OpenPlan plan(plan_of_entries(entries));
  codl_session_options_t options = ReluSession::defaults();
  options.variant_count = CODL_ALL_VARIANTS;
  options.variant = "third";  // the first entry lacks it, and begins with its first
  ReluSession session(plan, options);
  REQUIRE(session.status == CODL_OK);
  const auto used_at = [&](int64_t width) {
    CHECK(runs_at(session, width, 1));
    return std::string(session.info().variant);
  };
  CHECK(used_at(5) == "cpu");
  CHECK(session.info().variant_count == 2);
  CHECK(used_at(9) == "third");
  CHECK(session.info().variant_count == 3);
  codl_variant_state_t state;
  REQUIRE(codl_session_variant(session.get(), 2, &state) == CODL_OK);
  CHECK(std::string(state.name) == "third");
  CHECK(state.run_count == 1);
  CHECK(codl_session_variant(session.get(), 3, &state) == CODL_INVALID_ARGUMENT);
  REQUIRE(codl_session_set_variant(session.get(), "other", nullptr) == CODL_OK);
  CHECK(used_at(5) == "other");
  CHECK(used_at(9) == "other");
  REQUIRE(codl_session_set_variant(session.get(), "third", nullptr) == CODL_OK);
  CHECK(used_at(5) == "other");
  CHECK(used_at(9) == "third");
  CHECK(codl_session_set_variant(session.get(), "none", nullptr) == CODL_INVALID_ARGUMENT);
  options.variant = "none";
  CHECK(ReluSession(plan, options).status == CODL_INVALID_ARGUMENT);
}

TEST_CASE("a policy is of one entry, because times at other shapes look like load") {
  const OpenPlan plan(cpu_entries({5, 9}));
  ReluSession session(plan, ReluSession::defaults());
  codl_policy_t* policy = nullptr;
  CHECK(codl_policy_create(session.get(), &policy, &session.diag) == CODL_INVALID_ARGUMENT);
  CHECK(policy == nullptr);
  CHECK(std::string(session.diag.message) ==
        "policy: expected a session of a plan of one input shape, found 2");
}

TEST_CASE("entries with GPU steps take turns in the same buffers and images") {
  if (machine_opencl() == nullptr) return;
  for (const GpuHalf half : halves_here()) {
    CAPTURE(static_cast<int>(half));
    std::vector<TestPlan> entries;
    for (const int32_t width : {5, 9, 3})
      entries.push_back(relu_plan({.half = half, .dims = {1, 20, 6, width}, .cut_row = 3}));
    const OpenPlan plan(plan_of_entries(entries));
    codl_session_options_t options = ReluSession::defaults();
    options.require_variant = 1;
    options.fallback = CODL_FALLBACK_PER_RUN;
    ReluSession session(plan, options);
    INFO(session.diag.message);
    REQUIRE(session.status == CODL_OK);
    const OpenPlan alone(entries[1]);
    ReluSession largest(alone, options);
    CHECK(session.info().shared_bytes == largest.info().shared_bytes);
    CHECK(session.info().device_bytes == largest.info().device_bytes);
    CHECK(session.info().image_bytes == largest.info().image_bytes);
    for (int round = 0; round < 6; ++round)
      CHECK(runs_at(session, std::vector<int64_t>{9, 5, 3}[static_cast<size_t>(round % 3)], round));
  }
}

TEST_CASE("without a GPU every entry falls back to its CPU variant") {
  std::vector<TestPlan> entries = {relu_plan({.dims = {1, 20, 6, 5}, .cut_row = 3}),
                                   relu_plan({.dims = {1, 20, 6, 9}, .cut_row = 3})};
  FakeCl cl(FakeDevice{.has_device = false});
  const OpenPlan plan(plan_of_entries(entries));
  ReluSession session(plan, ReluSession::defaults(), &cl.api());
  REQUIRE(session.status == CODL_OK);
  CHECK(std::string(session.info().variant) == "cpu");
  CHECK(runs_at(session, 9, 1));
  CHECK(runs_at(session, 5, 2));
  entries[1].variants.pop_back();
  const OpenPlan half(plan_of_entries(entries));
  CHECK(ReluSession(half, ReluSession::defaults(), &cl.api()).status == CODL_NO_DEVICE);
}

}  // namespace
}  // namespace codl::test
