#include "schema/verify_plan.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel_table.h"
#include "test/support/catch.h"
#include "test/support/plan_builder_for_tests.h"

namespace codl {
namespace {

using test::TestPlan;
using test::TestStep;
using test::TestTensor;
using test::TestVariant;

// Every plan here computes y = relu(x) of one small value.
const std::vector<int32_t> kDims = {1, 6, 4, 5};
constexpr uint64_t kPlainBytes = 1 * 6 * 4 * 5 * 4;  // n * c * h * w * sizeof(float)
constexpr uint64_t kNhwcBytes = 1 * 4 * 5 * 8 * 4;   // n * h * w * round_up(c, 4) * sizeof(float)

uint16_t kernel_id(std::string_view symbol) {
  for (const KernelInfo& info : kKernelInfos)
    if (info.symbol == symbol) return info.id;
  throw std::runtime_error("no kernel " + std::string(symbol));
}

TestTensor io_tensor(Storage storage) {
  return {.name = storage == Storage::Input ? "x" : "y",
          .storage = storage,
          .dims = kDims,
          .bytes = kPlainBytes};
}

TestTensor nhwc_tensor(std::string name, Storage storage, uint64_t offset_bytes) {
  return {.name = std::move(name),
          .storage = storage,
          .dims = kDims,
          .layout = Layout::Nhwc,
          .row_begin = 0,
          .row_end = 4,
          .offset_bytes = offset_bytes,
          .bytes = kNhwcBytes};
}

TestTensor image_tensor(std::string name, uint32_t index) {
  TestTensor tensor = nhwc_tensor(std::move(name), Storage::Image, 0);
  tensor.layout = Layout::Image2d;
  tensor.index = index;
  tensor.bytes = 0;
  return tensor;
}

TestStep kernel_step(std::string_view symbol, std::vector<uint32_t> operands,
                     std::vector<uint32_t> waits = {}) {
  const KernelInfo& info = *find_kernel(kernel_id(symbol));
  TestStep step;
  step.queue = info.processor == Processor::Cpu ? Queue::Cpu : Queue::Gpu;
  step.kernel = info.id;
  if (info.op == OpKind::Unary) step.params = test::params_bytes(UnaryParams{.kind = kUnaryRelu});
  if (info.op == OpKind::Binary) step.params = test::params_bytes(BinaryParams{.kind = kBinaryAdd});
  step.operands = std::move(operands);
  step.waits = std::move(waits);
  step.name = symbol;
  return step;
}

TestStep move_step(StepKind kind, std::vector<uint32_t> operands, std::vector<uint32_t> waits = {},
                   MapAccess access = MapAccess::Read) {
  TestStep step;
  step.kind = kind;
  step.queue = kind == StepKind::Map || kind == StepKind::Unmap ? Queue::Gpu : Queue::Transfer;
  step.operands = std::move(operands);
  step.waits = std::move(waits);
  step.map_access = access;
  step.name = "move";
  return step;
}

TestPlan plan_of(TestVariant variant) {
  TestPlan plan;
  plan.inputs = {{.name = "x", .dims = kDims, .bytes = kPlainBytes}};
  plan.outputs = {{.name = "y", .dims = kDims, .bytes = kPlainBytes}};
  plan.variants = {std::move(variant)};
  test::name_kernels(plan);
  return plan;
}

// Has x -> t1 -> relu in two halves of rows -> t2; t2 + constant -> t3 -> y.
TestPlan cpu_plan() {
  TestVariant variant;
  variant.host_bytes = 4096;
  variant.tensors = {io_tensor(Storage::Input),
                     nhwc_tensor("t1", Storage::Host, 0),
                     nhwc_tensor("t2", Storage::Host, 1024),
                     nhwc_tensor("t3", Storage::Host, 2048),
                     io_tensor(Storage::Output),
                     nhwc_tensor("c", Storage::Weights, 0)};
  variant.steps = {kernel_step("convert_f32_cpu", {0, 1}),    //
                   kernel_step("unary_f32_cpu", {1, 2}),      // rows 0 to 2
                   kernel_step("unary_f32_cpu", {1, 2}),      // rows 2 to 4
                   kernel_step("binary_f32_cpu", {2, 5, 3}),  //
                   kernel_step("convert_f32_cpu", {3, 4})};
  variant.steps[1].part_dim = variant.steps[2].part_dim = SplitDim::Height;
  variant.steps[1].part = {0, 2};
  variant.steps[2].part = {2, 4};
  TestPlan plan = plan_of(variant);
  test::add_blob(plan, "c", std::vector<float>(kNhwcBytes / 4, 0.5f));
  return plan;
}

// Adds to cpu_plan(): windows t7 and t8 of t9. The second is pooled from the first, and a Concat of
// them leaves both where they are.
TestPlan windows_plan() {
  TestPlan plan = cpu_plan();
  TestVariant& variant = plan.variants[0];
  constexpr uint64_t kPixels = 4 * 5;
  const auto map = [](std::string name, Storage storage, uint64_t offset_bytes, int32_t channels,
                      int32_t pixel_stride) {
    TestTensor tensor = nhwc_tensor(std::move(name), storage, offset_bytes);
    tensor.dims[1] = channels;
    tensor.pixel_stride = pixel_stride;
    const int32_t pixel = pixel_stride != 0 ? pixel_stride : channels;
    tensor.bytes =
        ((kPixels - 1) * static_cast<uint64_t>(pixel) + static_cast<uint64_t>(channels)) *
        sizeof(float);
    return tensor;
  };
  variant.host_bytes = 4096 + kPixels * 32 * sizeof(float);
  variant.tensors.push_back(map("d", Storage::Weights, 0, 16, 0));
  variant.tensors.back().index = 1;
  variant.tensors.push_back(map("t7", Storage::Host, 4096, 16, 32));
  variant.tensors.push_back(map("t8", Storage::Host, 4096 + 64, 16, 32));
  variant.tensors.push_back(map("t9", Storage::Host, 4096, 32, 0));
  Pool2dParams pool;
  pool.kind = kPool2dMax;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 1;
  pool.dilation_h = pool.dilation_w = 1;
  for (uint32_t window : {7, 8}) {
    variant.steps.push_back(kernel_step("pool2d_f32_cpu", {window - 1, window}));
    variant.steps.back().params = test::params_bytes(pool);
  }
  variant.steps.push_back(kernel_step("concat_f32_cpu", {7, 8, 9}));
  variant.steps.back().params = test::params_bytes(ConcatParams{.axis = 1});
  test::add_blob(plan, "d", std::vector<float>(kPixels * 16, 0.5f));
  test::name_kernels(plan);
  return plan;
}

TestTensor plain_tensor(std::string name, Storage storage, uint64_t offset_bytes,
                        std::vector<int32_t> dims) {
  TestTensor tensor = {.name = std::move(name),
                       .storage = storage,
                       .dims = std::move(dims),
                       .offset_bytes = offset_bytes,
                       .bytes = sizeof(float)};
  for (int32_t dim : tensor.dims) tensor.bytes *= static_cast<uint64_t>(dim);
  return tensor;
}

// Takes the middle rows of a matrix of 4.
SliceParams slice_of_rows() {
  SliceParams slice;
  slice.step_0 = slice.step_1 = 1;
  slice.start_0 = 1;
  slice.count_0 = 2;
  slice.count_1 = 16;
  return slice;
}

// Adds to cpu_plan(): t6; t7, a Reshape of it, and t8, a Slice of that, both in its place.
TestPlan in_place_plan() {
  TestPlan plan = cpu_plan();
  TestVariant& variant = plan.variants[0];
  variant.host_bytes = 8192;
  variant.tensors.push_back(plain_tensor("t6", Storage::Host, 4096, {64}));
  variant.tensors.push_back(plain_tensor("t7", Storage::Host, 4096, {4, 16}));
  variant.tensors.push_back(plain_tensor("t8", Storage::Host, 4096 + 64, {2, 16}));
  variant.steps.push_back(kernel_step("reshape_f32_cpu", {6, 7}));
  variant.steps.push_back(kernel_step("slice_any_cpu", {7, 8}));
  variant.steps.back().params = test::params_bytes(slice_of_rows());
  test::name_kernels(plan);
  return plan;
}

// The host writes t1 and reads t2 while they are mapped; the GPU works in between.
TestPlan sub_buffer_plan() {
  TestVariant variant;
  variant.name = "coexec";
  variant.sharing = Sharing::SubBuffer;
  variant.shared_bytes = 4096;
  variant.tensors = {io_tensor(Storage::Input), nhwc_tensor("t1", Storage::Shared, 0),
                     nhwc_tensor("t2", Storage::Shared, 1024), io_tensor(Storage::Output)};
  variant.steps = {move_step(StepKind::Map, {1}, {}, MapAccess::ReadWrite),
                   kernel_step("convert_f32_cpu", {0, 1}, {0}),
                   move_step(StepKind::Unmap, {1}, {1}),
                   kernel_step("unary_f32_cl_buffer", {1, 2}),
                   move_step(StepKind::Map, {2}),
                   kernel_step("convert_f32_cpu", {2, 3}, {4}),
                   move_step(StepKind::Unmap, {2}, {5})};
  return plan_of(variant);
}

// Both processors write to the same memory. t4 is computed on the CPU; t5 is a Slice of it in its
// place, from the first row on.
TestPlan shared_in_place_plan() {
  TestVariant variant;
  variant.name = "coexec";
  variant.sharing = Sharing::FineSvm;
  variant.shared_bytes = 16384;
  variant.tensors = {io_tensor(Storage::Input),
                     nhwc_tensor("t1", Storage::Shared, 0),
                     nhwc_tensor("t2", Storage::Shared, 1024),
                     io_tensor(Storage::Output),
                     plain_tensor("t4", Storage::Shared, 4096, {4, 256}),
                     plain_tensor("t5", Storage::Shared, 4096, {2, 256}),
                     plain_tensor("c", Storage::Weights, 0, {4, 256})};
  variant.steps = {kernel_step("convert_f32_cpu", {0, 1}),
                   kernel_step("unary_f32_cl_buffer", {1, 2}, {0}),
                   kernel_step("convert_f32_cpu", {2, 3}, {1}),
                   kernel_step("unary_f32_cpu", {6, 4}), kernel_step("slice_any_cpu", {4, 5})};
  SliceParams slice = slice_of_rows();
  slice.start_0 = 0;
  slice.count_1 = 256;
  variant.steps.back().params = test::params_bytes(slice);
  TestPlan plan = plan_of(variant);
  test::add_blob(plan, "c", std::vector<float>(4 * 256, 0.5f));
  return plan;
}

// Goes up, through two images, and down again.
TestPlan separate_plan() {
  TestVariant variant;
  variant.name = "coexec";
  variant.sharing = Sharing::Separate;
  variant.gate = Gate::UserEvent;
  variant.host_bytes = 2048;
  variant.device_bytes = 2048;
  variant.images = {{.width = 10, .height = 4}, {.width = 16, .height = 8}};
  variant.tensors = {io_tensor(Storage::Input),
                     nhwc_tensor("t1", Storage::Host, 0),
                     nhwc_tensor("t1d", Storage::Device, 0),
                     image_tensor("t1i", 0),
                     image_tensor("t2i", 1),
                     nhwc_tensor("t2d", Storage::Device, 1024),
                     nhwc_tensor("t2", Storage::Host, 1024),
                     io_tensor(Storage::Output)};
  variant.steps = {kernel_step("convert_f32_cpu", {0, 1}),
                   move_step(StepKind::Upload, {1, 2}, {0}),
                   kernel_step("convert_f32_cl_to_image", {2, 3}, {1}),
                   kernel_step("unary_f32_cl_image", {3, 4}),
                   kernel_step("convert_f32_cl_from_image", {4, 5}),
                   move_step(StepKind::Download, {5, 6}, {4}),
                   kernel_step("convert_f32_cpu", {6, 7}, {5})};
  return plan_of(variant);
}

// Adds to separate_plan(): a Reshape of a device tensor in its place.
TestPlan device_in_place_plan() {
  TestPlan plan = separate_plan();
  TestVariant& variant = plan.variants[0];
  variant.device_bytes = 4096;
  variant.tensors.push_back(plain_tensor("t8d", Storage::Device, 2048, {64}));
  variant.tensors.push_back(plain_tensor("t9d", Storage::Device, 2048, {4, 16}));
  variant.steps.push_back(kernel_step("reshape_f32_cl_buffer", {8, 9}));
  test::name_kernels(plan);
  return plan;
}

// Adds to separate_plan(): windows t9 and t10 of t11, both pooled from t8. A Concat of them leaves
// both where they are.
TestPlan windows_plan_of(Storage storage) {
  TestPlan plan = separate_plan();
  TestVariant& variant = plan.variants[0];
  const bool is_image = storage == Storage::Image;
  constexpr uint64_t kPixels = 4 * 5;
  const auto map = [&](std::string name, bool is_first, int32_t channels, int32_t pixel_stride,
                       int32_t first_channel) {
    TestTensor tensor = is_image ? image_tensor(std::move(name), is_first ? 2 : 3)
                                 : nhwc_tensor(std::move(name), storage, is_first ? 2048 : 4096);
    tensor.dims[1] = channels;
    tensor.pixel_stride = pixel_stride;
    tensor.first_channel = first_channel;
    const auto pixel = static_cast<uint64_t>(pixel_stride != 0 ? pixel_stride : channels);
    if (!is_image)
      tensor.bytes =
          ((kPixels - 1) * pixel + static_cast<uint64_t>(first_channel + channels)) * sizeof(float);
    return tensor;
  };
  variant.device_bytes = 4096 + kPixels * 32 * sizeof(float);
  variant.images.push_back({.width = 40, .height = 4});
  variant.images.push_back({.width = 40, .height = 4});
  variant.tensors.push_back(map("t8", true, 16, 0, 0));
  variant.tensors.push_back(map("t9", false, 16, 32, 0));
  variant.tensors.push_back(map("t10", false, 16, 32, 16));
  variant.tensors.push_back(map("t11", false, 32, 0, 0));
  Pool2dParams pool;
  pool.kind = kPool2dMax;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 1;
  pool.dilation_h = pool.dilation_w = 1;
  for (uint32_t window : {9, 10}) {
    variant.steps.push_back(
        kernel_step(is_image ? "pool2d_f32_cl_image" : "pool2d_f32_cl_buffer", {8, window}));
    variant.steps.back().params = test::params_bytes(pool);
  }
  variant.steps.push_back(
      kernel_step(is_image ? "concat_f32_cl_image" : "concat_f32_cl_buffer", {9, 10, 11}));
  variant.steps.back().params = test::params_bytes(ConcatParams{.axis = 1});
  test::name_kernels(plan);
  return plan;
}

TestPlan device_windows_plan() { return windows_plan_of(Storage::Device); }
TestPlan image_windows_plan() { return windows_plan_of(Storage::Image); }

TestTensor as_halves(TestTensor tensor) {
  tensor.dtype = DType::F16;
  tensor.bytes /= 2;
  return tensor;
}

// Goes up, through halves in two images and in a buffer, and down again.
TestPlan halves_plan() {
  TestPlan plan = separate_plan();
  TestVariant& variant = plan.variants[0];
  variant.device_bytes = 3072;
  for (test::TestImage& image : variant.images) image.dtype = DType::F16;
  for (size_t i : {3, 4}) variant.tensors[i].dtype = DType::F16;
  variant.tensors.push_back(as_halves(nhwc_tensor("t3d", Storage::Device, 2048)));
  variant.steps[4].operands = {4, 8};
  variant.steps.insert(variant.steps.begin() + 5, kernel_step("unary_f32_cl_buffer", {8, 5}));
  variant.steps[6].waits = {5};
  variant.steps[7].waits = {6};
  test::name_kernels(plan);
  return plan;
}

// Replaces the contracts where a test is about another rule.
const char* accept_all(const kernels::StepShape&, kernels::StepNeeds*) { return nullptr; }
const char* refuse_all(const kernels::StepShape&, kernels::StepNeeds*) { return "another step"; }

PlanFault verify(const std::vector<uint8_t>& file, VerifyLevel level = VerifyLevel::All,
                 CheckStep check_step = accept_all) {
  // The copy has the exact size, so that ASan sees a read after it, and is 8-byte aligned as
  // required.
  const std::unique_ptr<uint64_t[]> bytes(new uint64_t[(file.size() + 7) / 8]);
  std::copy(file.begin(), file.end(), reinterpret_cast<uint8_t*>(bytes.get()));
  const plan::PlanDef* plan = nullptr;
  const PlanFault fault = verify_plan(bytes.get(), file.size(), level, check_step, &plan);
  CHECK((plan != nullptr) == fault.ok());
  CHECK((fault.expected == nullptr) == fault.ok());
  return fault;
}

// Holds one rule: a change that breaks it, and the verifier's expectation.
struct BadExample {
  const char* expected;
  std::function<void(TestPlan& plan, TestVariant& variant)> break_rule;
};

void check_refused(TestPlan (*make_plan)(), const char* where,
                   std::initializer_list<BadExample> examples,
                   PlanFault::Kind kind = PlanFault::Corrupt) {
  for (const BadExample& example : examples) {
    TestPlan plan = make_plan();
    example.break_rule(plan, plan.variants[0]);
    const PlanFault fault = verify(test::to_bytes(plan));
    INFO("rule: " << example.expected);
    REQUIRE_FALSE(fault.ok());
    CHECK(std::string(fault.expected) == example.expected);
    CHECK(std::string(fault.where) == where);
    CHECK(fault.kind == kind);
  }
}

// ---- valid plans --------------------------------------------------------------------------------

TEST_CASE("the valid plans of this file are accepted, by the contracts too") {
  for (TestPlan (*make_plan)() :
       {cpu_plan, windows_plan, in_place_plan, sub_buffer_plan, shared_in_place_plan, separate_plan,
        device_in_place_plan, device_windows_plan, image_windows_plan, halves_plan}) {
    const std::vector<uint8_t> file = test::to_bytes(make_plan());
    for (CheckStep check_step : {CheckStep{accept_all}, CheckStep{kernels::check_step}}) {
      const PlanFault fault = verify(file, VerifyLevel::All, check_step);
      INFO((fault.expected ? fault.expected : "") << " step " << fault.index);
      CHECK(fault.ok());
    }
  }
}

TEST_CASE("a step and its operands are seen by the contract as the plan has them") {
  static kernels::StepShape seen;
  static kernels::OperandShape output;
  const CheckStep record = [](const kernels::StepShape& step, kernels::StepNeeds*) -> const char* {
    if (step.kernel->op != OpKind::Unary) return nullptr;
    seen = step;
    output = step.output();
    return "to stop here";
  };
  const PlanFault fault = verify(test::to_bytes(cpu_plan()), VerifyLevel::All, record);
  CHECK(fault.index == 1);
  CHECK(fault.variant == 0);
  CHECK(seen.kernel->symbol == std::string("unary_f32_cpu"));
  CHECK(seen.operand_count == 2);
  CHECK(seen.part_dim == SplitDim::Height);
  CHECK(seen.part == Range{0, 2});
  CHECK(output.rank == 4);
  CHECK(output.dims[1] == 6);
  CHECK(output.layout == Layout::Nhwc);
  CHECK(output.row_end == 4);
  CHECK(output.bytes == kNhwcBytes);
}

TEST_CASE("structure alone does not look at the checksum") {
  std::vector<uint8_t> file = test::to_bytes(cpu_plan());
  file.back() ^= 1;
  CHECK(verify(file, VerifyLevel::Structure).ok());
  CHECK(std::string(verify(file).expected) == "checksum of the file's bytes");
}

// ---- one bad example per rule -------------------------------------------------------------------

TEST_CASE("each rule of the head refuses its bad example") {
  struct BadHead {
    const char* expected;
    void (*break_rule)(PlanHead& head);
  };
  const BadHead examples[] = {
      {"magic \"CODL\" at the start of the file", [](PlanHead& h) { h.magic[0] = 'X'; }},
      {"file_bytes equal to the size of the file", [](PlanHead& h) { ++h.file_bytes; }},
      {"table_offset 64", [](PlanHead& h) { h.table_offset = 128; }},
      {"table_bytes inside the file", [](PlanHead& h) { h.table_bytes = ~uint64_t{0}; }},
      {"table_bytes inside the file", [](PlanHead& h) { h.table_bytes = h.file_bytes - 63; }},
      {"data_offset a multiple of 65536", [](PlanHead& h) { h.data_offset += 4096; }},
      {"data_offset behind the table and inside the file", [](PlanHead& h) { h.data_offset = 0; }},
      {"data_offset behind the table and inside the file",
       [](PlanHead& h) { h.data_offset = ~uint64_t{65535}; }},
      {"data_bytes up to the end of the file", [](PlanHead& h) { --h.data_bytes; }},
      {"reserved 0", [](PlanHead& h) { h.reserved = 1; }},
      {"checksum of the file's bytes", [](PlanHead& h) { ++h.checksum; }},
      {"a well-formed FlatBuffer whose tables stand in one place each",
       [](PlanHead& h) { h.table_bytes = 16; }},
  };
  for (const BadHead& example : examples) {
    std::vector<uint8_t> file = test::to_bytes(cpu_plan());
    PlanHead head = test::read_head(file);
    example.break_rule(head);
    test::write_head(file, head);
    const PlanFault fault = verify(file);
    INFO("rule: " << example.expected);
    REQUIRE_FALSE(fault.ok());
    CHECK(std::string(fault.expected) == example.expected);
    CHECK(fault.kind == PlanFault::Corrupt);
  }
}

TEST_CASE("a file of another format version is told from a damaged one") {
  std::vector<uint8_t> file = test::to_bytes(cpu_plan());
  PlanHead head = test::read_head(file);
  head.version = kPlanVersion + 1;
  head.reserved = 7;  // a later version may use it
  test::write_head(file, head);
  const PlanFault fault = verify(file);
  CHECK(fault.kind == PlanFault::Version);
  CHECK(fault.found == kPlanVersion + 1);
}

TEST_CASE("bytes that are not 8-byte aligned are refused") {
  const std::vector<uint8_t> file = test::to_bytes(cpu_plan());
  std::vector<uint64_t> storage(file.size() / 8 + 2);
  uint8_t* bytes = reinterpret_cast<uint8_t*>(storage.data()) + 4;
  std::memcpy(bytes, file.data(), file.size());
  const plan::PlanDef* plan = nullptr;
  const PlanFault fault = verify_plan(bytes, file.size(), VerifyLevel::All, accept_all, &plan);
  CHECK(std::string(fault.expected) == "bytes aligned to 8");
}

TEST_CASE("a plan that names kernels of another build is told from a damaged one") {
  const auto fault_of = [](void (*break_rule)(TestPlan & plan)) {
    TestPlan plan = cpu_plan();
    break_rule(plan);
    return verify(test::to_bytes(plan));
  };
  const PlanFault unknown = fault_of([](TestPlan& p) { p.kernels[0].id = kKernelCount + 1; });
  CHECK(unknown.kind == PlanFault::Kernel);
  CHECK(std::string(unknown.expected) == "a kernel of this build");
  CHECK(unknown.found == kKernelCount + 1);

  const PlanFault revision = fault_of([](TestPlan& p) { ++p.kernels[0].revision; });
  CHECK(revision.kind == PlanFault::Kernel);
  CHECK(std::string(revision.expected) == "the kernel revision of this build");

  const PlanFault step = fault_of([](TestPlan& p) { p.variants[0].steps[0].kernel = 0; });
  CHECK(step.kind == PlanFault::Kernel);
  CHECK(std::string(step.where) == "step");
}

TEST_CASE("what only a later build can know is told from damage") {
  check_refused(cpu_plan, "variant", {{"no needs", [](auto&, auto& v) { v.needs = {1}; }}},
                PlanFault::Version);
  check_refused(cpu_plan, "tensor",
                {{"at most one scale",
                  [](auto&, auto& v) {
                    v.tensors[1].scales = {0.5f, 1};
                  }},
                 {"at most one zero point for each scale",
                  [](auto&, auto& v) { v.tensors[1].zero_points = {1}; }},
                 {"scale_dim 0", [](auto&, auto& v) { v.tensors[1].scale_dim = 1; }}},
                PlanFault::Version);
  check_refused(separate_plan, "step",
                {{"kinds of waits that this build knows",
                  [](auto&, auto& v) { v.steps[1].wait_kinds = {2}; }}},
                PlanFault::Version);
  check_refused(separate_plan, "step",
                {{"no flags beside copies", [](auto&, auto& v) { v.steps[1].wait_kinds = {1}; }}});
  check_refused(separate_plan, "step", {{"a wait_kind for each wait", [](auto&, auto& v) {
                                           v.steps[1].wait_kinds = {0, 0};
                                         }}});
  check_refused(shared_in_place_plan, "step", {{"no flags with max_ahead_us", [](auto&, auto& v) {
                                                  v.max_ahead_us = 1;
                                                  v.steps[1].wait_kinds = {1};
                                                }}});
  TestPlan plan = separate_plan();
  plan.variants[0].steps[1].wait_kinds = {static_cast<uint8_t>(WaitKind::Event)};
  CHECK(verify(test::to_bytes(plan)).ok());
  plan = shared_in_place_plan();
  for (const size_t step : {1, 2})
    plan.variants[0].steps[step].wait_kinds = {static_cast<uint8_t>(WaitKind::Flag)};
  CHECK(verify(test::to_bytes(plan)).ok());
}

TEST_CASE("each rule of the plan's own fields refuses its bad example") {
  check_refused(
      cpu_plan, "plan",
      {{"cpu_threads of at most 64", [](auto& p, auto&) { p.cpu_threads = kMaxThreads + 1; }}});
  check_refused(
      cpu_plan, "entry",
      {{"at least one output", [](auto& p, auto&) { p.outputs.clear(); }},
       {"between 1 and 64 variants", [](auto& p, auto&) { p.variants.clear(); }},
       {"between 1 and 64 variants", [](auto& p, auto&) { p.variants.resize(kMaxVariants + 1); }}});
}

// Makes a plan of two entries, of which the second has maps of 5 rows in place of 4.
TestPlan two_entries() {
  TestPlan plan = cpu_plan(), other = cpu_plan();
  plan.entry_name = "height=4";
  other.entry_name = "height=5";
  for (auto* ios : {&other.inputs, &other.outputs}) std::swap((*ios)[0].dims[2], (*ios)[0].dims[3]);
  for (TestTensor& tensor : other.variants[0].tensors) {
    std::swap(tensor.dims[2], tensor.dims[3]);
    if (tensor.row_end != 0) tensor.row_end = tensor.dims[2];
  }
  other.variants[0].steps[2].part.end = 5;
  plan.others.push_back(other);
  return plan;
}

TEST_CASE("each rule of entries refuses its bad example, and the fault says which entry it is in") {
  CHECK(verify(test::to_bytes(two_entries()), VerifyLevel::All, kernels::check_step).ok());
  check_refused(two_entries, "plan",
                {{"between 1 and 64 entries", [](auto& p, auto&) { p.entry_count = kMaxEntries; }},
                 {"between 1 and 64 entries", [](auto& p, auto&) {
                    p.entry_count = 0;
                    p.others.clear();
                  }}});
  check_refused(cpu_plan, "entry",
                {{"an empty name of the only entry", [](auto& p, auto&) { p.entry_name = "x"; }}});
  const auto other_name = [](size_t bytes) {
    return [bytes](auto& p, auto&) { p.others[0].entry_name = std::string(bytes, 'x'); };
  };
  check_refused(two_entries, "entry",
                {{"a name of 1 to 255 bytes", other_name(0)},
                 {"a name of 1 to 255 bytes", other_name(kMaxNameBytes + 1)},
                 {"a name that no other entry has",
                  [](auto& p, auto&) { p.others[0].entry_name = p.entry_name; }},
                 {"shapes that no other entry has",
                  [](auto& p, auto&) { (p.others[0] = p).entry_name = "same"; }},
                 {"as many inputs as the first entry",
                  [](auto& p, auto&) {
                    p.others[0].inputs.push_back({"z", {2}, 8});
                  }},
                 {"as many outputs as the first entry", [](auto& p, auto&) {
                    p.others[0].outputs.push_back({"z", {2}, 8});
                  }}});
  check_refused(two_entries, "input",
                {{"the name that it has in the first entry",
                  [](auto& p, auto&) { p.others[0].inputs[0].name = "other"; }},
                 {"the dtype that it has in the first entry",
                  [](auto& p, auto&) { p.others[0].inputs[0].dtype = DType::I32; }}});
  check_refused(two_entries, "output",
                {{"the name that it has in the first entry",
                  [](auto& p, auto&) { p.others[0].outputs[0].name = "other"; }}});

  // All that is checked of the first is checked of the others.
  TestPlan plan = two_entries();
  plan.others[0].variants[0].steps[1].operands[0] = 99;
  const PlanFault fault = verify(test::to_bytes(plan));
  CHECK(std::string(fault.expected) == "operands that name tensors of the variant");
  CHECK(fault.entry == 1);
  CHECK(fault.variant == 0);
  CHECK(fault.index == 1);
  plan = two_entries();
  plan.others[0].variants[0].tensors[1].bytes += 4;
  CHECK(verify(test::to_bytes(plan)).entry == 1);
}

TEST_CASE("each rule of the workers' speeds refuses its bad example") {
  const auto three_workers = [] {
    TestPlan plan = cpu_plan();
    plan.cpu_threads = 3;
    plan.worker_speeds = {10000, 4261, 1};
    return plan;
  };
  CHECK(verify(test::to_bytes(three_workers())).expected == nullptr);
  check_refused(
      three_workers, "plan",
      {{"as many worker_speeds as cpu_threads", [](auto& p, auto&) { p.cpu_threads = 2; }},
       {"as many worker_speeds as cpu_threads", [](auto& p, auto&) { p.cpu_threads = 0; }},
       {"10000 of the first worker", [](auto& p, auto&) { p.worker_speeds[0] = 9999; }},
       {"worker_speeds between 1 and 10000", [](auto& p, auto&) { p.worker_speeds[2] = 0; }},
       {"worker_speeds between 1 and 10000", [](auto& p, auto&) { p.worker_speeds[1] = 10001; }}});
}

TEST_CASE("each rule of inputs and outputs refuses its bad example") {
  check_refused(
      cpu_plan, "input",
      {{"a name", [](auto& p, auto&) { p.inputs[0].name = ""; }},
       {"a dtype of types.h", [](auto& p, auto&) { p.inputs[0].dtype = DType{0}; }},
       {"a dtype of types.h", [](auto& p, auto&) { p.inputs[0].dtype = DType{kDTypeEnd}; }},
       {"a dtype of types.h", [](auto& p, auto&) { p.inputs[0].dtype = DType::Any; }},
       {"rank of at most 8", [](auto& p, auto&) { p.inputs[0].dims.assign(9, 1); }},
       {"dims between 0 and 2^24", [](auto& p, auto&) { p.inputs[0].dims[0] = kMaxDim + 1; }},
       {"dims between 0 and 2^24", [](auto& p, auto&) { p.inputs[0].dims[0] = -1; }},
       {"bytes equal to the product of the dims", [](auto& p, auto&) { p.inputs[0].dims[0] = 0; }},
       {"at most 2^30 elements",
        [](auto& p, auto&) {
          p.inputs[0].dims = {kMaxDim, kMaxDim, kMaxDim, kMaxDim};
        }},
       {"bytes equal to the product of the dims", [](auto& p, auto&) { ++p.inputs[0].bytes; }}});
  check_refused(cpu_plan, "output", {{"bytes equal to the product of the dims", [](auto& p, auto&) {
                                        p.outputs[0].dtype = DType::I64;
                                      }}});
}

// cpu_plan() with a hidden output that counts rows of y; no step writes it.
TestPlan extent_plan() {
  TestPlan plan = cpu_plan();
  plan.outputs.push_back({.name = "y.count", .dims = {}, .bytes = 8, .dtype = DType::I64});
  plan.visible_outputs = 1;
  plan.extents = {{.output = 0, .dim = 1, .count_output = 1},
                  {.output = 0, .dim = 2, .count_output = 1}};
  return plan;
}

TEST_CASE("each rule of extents and hidden outputs refuses its bad example") {
  CHECK(verify(test::to_bytes(extent_plan())).ok());
  check_refused(
      extent_plan, "entry",
      {{"visible_outputs among the outputs", [](auto& p, auto&) { p.visible_outputs = 3; }}});
  check_refused(extent_plan, "output",
                {{"dtype I64 of a hidden output",
                  [](auto& p, auto&) {
                    p.outputs[1] = {.name = "n", .dims = {2}, .bytes = 8, .dtype = DType::F32};
                  }},
                 {"one element of a hidden output",
                  [](auto& p, auto&) {
                    p.outputs[1] = {.name = "n", .dims = {2}, .bytes = 16, .dtype = DType::I64};
                  }},
                 {"one element of a hidden output", [](auto& p, auto&) {
                    p.outputs[1] = {.name = "n", .dims = {0}, .bytes = 0, .dtype = DType::I64};
                  }}});
  check_refused(
      extent_plan, "extent",
      {{"a visible output", [](auto& p, auto&) { p.extents[0].output = 1; }},
       {"a hidden output as the count", [](auto& p, auto&) { p.extents[0].count_output = 0; }},
       {"a hidden output as the count", [](auto& p, auto&) { p.extents[0].count_output = 2; }},
       {"a hidden output as the count", [](auto& p, auto&) { p.visible_outputs = 0; }},
       {"a dim of the output", [](auto& p, auto&) { p.extents[0].dim = 4; }},
       {"a dim of the output", [](auto& p, auto&) { p.extents[0].dim = -1; }},
       {"extents by ascending output and dim", [](auto& p, auto&) { p.extents[1] = p.extents[0]; }},
       {"extents by ascending output and dim",
        [](auto& p, auto&) { std::swap(p.extents[0], p.extents[1]); }}});
}

// extent_plan() with two states, which the application has neither side of; no step uses them.
TestPlan state_plan() {
  TestPlan plan = extent_plan();
  for (const char* name : {"h", "c"}) {
    plan.inputs.push_back({.name = name, .dims = {2, 3}, .bytes = 24, .dtype = DType::F32});
    plan.outputs.insert(plan.outputs.end() - 1, plan.inputs.back());
  }
  plan.visible_outputs = 3;
  for (auto& extent : plan.extents) extent.count_output = 3;
  plan.states = {{.input = 1, .output = 2}, {.input = 2, .output = 1}};
  for (TestVariant& variant : plan.variants) variant.needs = {1};
  return plan;
}

TEST_CASE("each rule of states refuses its bad example") {
  CHECK(verify(test::to_bytes(state_plan())).ok());
  check_refused(
      state_plan, "state",
      {{"an input", [](auto& p, auto&) { p.states[1].input = 3; }},
       {"states by ascending input", [](auto& p, auto&) { std::swap(p.states[0], p.states[1]); }},
       {"states by ascending input", [](auto& p, auto&) { p.states[1].input = 1; }},
       {"a visible output", [](auto& p, auto&) { p.states[0].output = 3; }},
       {"an output of its own", [](auto& p, auto&) { p.states[0].output = 1; }},
       {"the input's dtype", [](auto& p, auto&) { p.outputs[2].dtype = DType::I32; }},
       {"the input's dims",
        [](auto& p, auto&) {
          p.outputs[2].dims = {3, 2};
        }},
       {"the input's dims", [](auto& p, auto&) { p.outputs[2].dims = {6}; }},
       {"an output whose dims data do not decide",
        [](auto& p, auto&) { p.extents[1] = {.output = 1, .dim = 0, .count_output = 3}; }}});
  check_refused(state_plan, "entry", {{"at most 1024 states", [](auto& p, auto&) {
                                         p.states.resize(1025, {1, 1});
                                       }}});
  check_refused(state_plan, "variant",
                {{"a need of states", [](auto&, auto& v) { v.needs.clear(); }}});
  check_refused(state_plan, "variant",
                {{"no needs but states",
                  [](auto&, auto& v) {
                    v.needs = {1, 2};
                  }},
                 {"a need of states", [](auto&, auto& v) { v.needs = {2}; }}},
                PlanFault::Version);
}

TEST_CASE("entries have the same states") {
  const auto two = [] {
    TestPlan plan = state_plan();
    plan.entry_name = "few";
    TestPlan other = plan;
    other.entry_name = "many";
    // No step reads it, so that its dims may be any.
    for (TestPlan* one : {&plan, &other})
      one->inputs.push_back({.name = "n", .dims = {1}, .bytes = 4, .dtype = DType::F32});
    other.inputs.back() = {.name = "n", .dims = {2}, .bytes = 8, .dtype = DType::F32};
    plan.others.push_back(other);
    return plan;
  };
  CHECK(verify(test::to_bytes(two())).ok());
  check_refused(
      two, "entry",
      {{"the first entry's states", [](auto& p, auto&) { p.others[0].states.pop_back(); }}});
  check_refused(two, "state",
                {{"the first entry's state",
                  [](auto& p, auto&) {
                    TestPlan& other = p.others[0];
                    std::swap(other.states[0].output, other.states[1].output);
                  }},
                 {"the first entry's state", [](auto& p, auto&) {
                    TestPlan& other = p.others[0];
                    for (auto* ios : {&other.inputs, &other.outputs}) {
                      (*ios)[1].dims = {3, 3};
                      (*ios)[1].bytes = 36;
                    }
                    other.states[0].output = 1, other.states[1].output = 2;
                  }}});
}

TEST_CASE("an input or output without elements is one that no tensor stands for") {
  TestPlan plan = cpu_plan();
  plan.inputs.push_back({.name = "none", .dims = {0, 3}, .bytes = 0, .dtype = DType::F16});
  CHECK(verify(test::to_bytes(plan)).ok());
  check_refused(cpu_plan, "tensor", {{"dims between 1 and 2^24", [](auto& p, auto& v) {
                                        p.inputs[0].dims[0] = 0;
                                        p.inputs[0].bytes = 0;
                                        v.tensors[0].dims[0] = 0;
                                        v.tensors[0].bytes = 0;
                                      }}});
}

TEST_CASE("each rule of blobs refuses its bad example") {
  check_refused(
      cpu_plan, "blob",
      {{"offset_bytes a multiple of 4096", [](auto& p, auto&) { p.blobs[0].offset_bytes = 64; }},
       {"offset_bytes inside the data section",
        [](auto& p, auto&) { p.blobs[0].offset_bytes = uint64_t{1} << 63; }},
       {"bytes inside the data section", [](auto& p, auto&) { ++p.blobs[0].bytes; }},
       {"bytes inside the data section", [](auto& p, auto&) { p.blobs[0].bytes = ~uint64_t{0}; }},
       {"bytes inside the data section", [](auto& p, auto&) { p.blobs[0].bytes = 0; }}});
}

TEST_CASE("kernels are listed once each, in order, and all of them") {
  check_refused(cpu_plan, "kernel",
                {{"kernel ids in ascending order",
                  [](auto& p, auto&) { std::swap(p.kernels[0], p.kernels[1]); }},
                 {"kernel ids in ascending order",
                  [](auto& p, auto&) { p.kernels.push_back(p.kernels.back()); }}});
  check_refused(
      cpu_plan, "step",
      {{"a kernel that the plan's list names", [](auto& p, auto&) { p.kernels.clear(); }}});
}

TEST_CASE("a time that is none is told by its value, or by the nearest that is a whole number") {
  const std::pair<float, int64_t> examples[] = {
      {-1, -1},
      {-7.5f, -7},
      {-0.25f, -1},
      {3e38f, INT64_MAX},
      {-3e38f, INT64_MIN},
      {std::numeric_limits<float>::quiet_NaN(), INT64_MIN}};
  for (const auto& [us, found] : examples) {
    TestPlan plan = cpu_plan();
    plan.variants[0].predicted_us = us;
    CHECK(verify(test::to_bytes(plan)).found == found);
    plan = cpu_plan();
    plan.variants[0].steps[1].predicted_us = us;
    CHECK(verify(test::to_bytes(plan)).found == found);
  }
}

TEST_CASE("each rule of a variant refuses its bad example") {
  check_refused(
      cpu_plan, "variant",
      {{"a name of 1 to 255 bytes", [](auto&, auto& v) { v.name = ""; }},
       {"a name of 1 to 255 bytes", [](auto&, auto& v) { v.name.assign(256, 'v'); }},
       {"a known sharing", [](auto&, auto& v) { v.sharing = Sharing{9}; }},
       {"a known gate", [](auto&, auto& v) { v.gate = Gate{9}; }},
       {"predicted_us from 0 to 3e38", [](auto&, auto& v) { v.predicted_us = -1; }},
       {"predicted_us from 0 to 3e38",
        [](auto&, auto& v) { v.predicted_us = std::numeric_limits<float>::quiet_NaN(); }},
       {"max_ahead_us from 0 to 3e38", [](auto&, auto& v) { v.max_ahead_us = -1; }},
       {"max_ahead_us from 0 to 3e38",
        [](auto&, auto& v) { v.max_ahead_us = std::numeric_limits<float>::infinity(); }},
       {"gate HostEnqueue where max_ahead_us is a bound",
        [](auto&, auto& v) {
          v.max_ahead_us = 1;
          v.gate = Gate::UserEvent;
        }},
       {"no recorded steps with max_ahead_us",
        [](auto&, auto& v) {
          v.max_ahead_us = 1;
          v.is_recorded = true;
        }},
       {"a name that no other variant has",
        [](auto& p, auto& v) {
          const TestVariant copy = v;
          p.variants.push_back(copy);
        }},
       {"host_bytes of at most 2^40", [](auto&, auto& v) { v.host_bytes = kMaxArenaBytes + 1; }},
       {"no shared or device memory without a GPU step",
        [](auto&, auto& v) { v.device_bytes = 1024; }},
       {"no shared or device memory without a GPU step",
        [](auto&, auto& v) { v.images = {{.width = 1, .height = 1}}; }}});
  check_refused(separate_plan, "variant",
                {{"shared_bytes of at most 2^40",
                  [](auto&, auto& v) { v.shared_bytes = kMaxArenaBytes + 1; }},
                 {"device_bytes of at most 2^40",
                  [](auto&, auto& v) { v.device_bytes = kMaxArenaBytes + 1; }},
                 {"shared_bytes 0 unless sharing is FineSvm or SubBuffer",
                  [](auto&, auto& v) { v.shared_bytes = 1024; }}});
  check_refused(
      separate_plan, "image",
      {{"width between 1 and 65536 texels", [](auto&, auto& v) { v.images[0].width = 0; }},
       {"an image of F32, F16 or I8", [](auto&, auto& v) { v.images[0].dtype = DType::I64; }},
       {"an image of F32, F16 or I8", [](auto&, auto& v) { v.images[0].dtype = DType{0}; }},
       {"height between 1 and 65536 texels",
        [](auto&, auto& v) { v.images[0].height = kMaxImageSide + 1; }},
       {"at most 2^30 elements",
        [](auto&, auto& v) { v.images[0] = {.width = kMaxImageSide, .height = kMaxImageSide}; }}});
}

TEST_CASE("each rule of quantised elements refuses its bad example") {
  // One scale serves bytes in an arena.
  const auto quantised = [](auto& variant, float scale, std::vector<int32_t> zero_points) {
    TestTensor& tensor = variant.tensors[1];
    tensor.dtype = DType::I8;
    tensor.bytes = kNhwcBytes / sizeof(float);
    tensor.scales = {scale};
    tensor.zero_points = std::move(zero_points);
  };
  const char* const kScale = "a scale that is positive and finite";
  const char* const kZeroPoint = "a zero point in [-128, 127]";
  check_refused(
      cpu_plan, "tensor",
      {{kScale, [&](auto&, auto& v) { quantised(v, 0, {}); }},
       {kScale, [&](auto&, auto& v) { quantised(v, -1, {}); }},
       {kScale, [&](auto&, auto& v) { quantised(v, std::numeric_limits<float>::infinity(), {}); }},
       {kScale, [&](auto&, auto& v) { quantised(v, std::numeric_limits<float>::quiet_NaN(), {}); }},
       {kZeroPoint, [&](auto&, auto& v) { quantised(v, 1, {-129}); }},
       {kZeroPoint, [&](auto&, auto& v) { quantised(v, 1, {128}); }},
       {"elements of I8 with a scale", [](auto&, auto& v) { v.tensors[1].scales = {1}; }},
       {"elements with a scale in an arena or an image", [&](auto&, auto& v) {
          quantised(v, 1, {});
          v.tensors[1].storage = Storage::Weights;
        }}});
}

TEST_CASE("each rule of a tensor's shape refuses its bad example") {
  check_refused(
      cpu_plan, "tensor",
      {{"a dtype of types.h", [](auto&, auto& v) { v.tensors[1].dtype = DType{0}; }},
       {"a dtype of types.h", [](auto&, auto& v) { v.tensors[1].dtype = DType{kDTypeEnd}; }},
       {"a known layout", [](auto&, auto& v) { v.tensors[1].layout = Layout::Any; }},
       {"a known storage", [](auto&, auto& v) { v.tensors[1].storage = Storage{7}; }},
       {"a layout that its storage can hold",
        [](auto&, auto& v) { v.tensors[1].layout = Layout::Image2d; }},
       {"a layout that its storage can hold",
        [](auto&, auto& v) { v.tensors[1].layout = Layout::Packed; }},
       {"a layout that its storage can hold",
        [](auto&, auto& v) { v.tensors[0].layout = Layout::Nhwc; }},
       {"rank of at most 8", [](auto&, auto& v) { v.tensors[1].dims.assign(9, 1); }},
       {"dims between 1 and 2^24", [](auto&, auto& v) { v.tensors[1].dims[3] = 0; }},
       {"at most 2^30 elements", [](auto&, auto& v) { v.tensors[1].dims[0] = 1 << 24; }},
       // 2^29 elements fit, but 4 lanes for the one channel do not.
       {"at most 2^30 elements, pad lanes included",
        [](auto&, auto& v) {
          v.tensors[1].dims = {1 << 24, 1, 4, 1 << 3};
        }},
       {"rank 4 in this layout",
        [](auto&, auto& v) {
          v.tensors[1].dims = {1, 6, 4};
        }},
       {"row_begin and row_end 0 in this layout", [](auto&, auto& v) { v.tensors[0].row_end = 4; }},
       {"rows [row_begin, row_end) inside the value",
        [](auto&, auto& v) { v.tensors[1].row_end = 5; }},
       {"rows [row_begin, row_end) inside the value",
        [](auto&, auto& v) { v.tensors[1].row_end = 0; }},
       {"rows [row_begin, row_end) inside the value",
        [](auto&, auto& v) { v.tensors[1].row_begin = -1; }},
       {"bytes equal to the elements stored (0 in an image)",
        [](auto&, auto& v) { v.tensors[1].row_begin = 1; }},
       {"bytes equal to the elements stored (0 in an image)",
        [](auto&, auto& v) { v.tensors[1].bytes -= 4; }}});
}

TEST_CASE("each rule of a tensor's place refuses its bad example") {
  check_refused(
      cpu_plan, "tensor",
      {{"offset_bytes 0 outside an arena", [](auto&, auto& v) { v.tensors[0].offset_bytes = 64; }},
       {"index of an input or output of the plan", [](auto&, auto& v) { v.tensors[0].index = 1; }},
       {"index of an input or output of the plan", [](auto&, auto& v) { v.tensors[4].index = 1; }},
       {"dtype of the input or output",
        [](auto&, auto& v) {
          v.tensors[0].dtype = DType::I64;
          v.tensors[0].bytes *= 2;
        }},
       {"rank of the input or output",
        [](auto&, auto& v) {
          v.tensors[0].dims = {6, 4, 5};
        }},
       {"dims of the input or output",
        [](auto&, auto& v) {
          v.tensors[0].dims = {1, 4, 6, 5};
        }},
       {"index 0 in an arena", [](auto&, auto& v) { v.tensors[1].index = 1; }},
       {"offset_bytes a multiple of the arena's alignment (host 64, else 1024)",
        [](auto&, auto& v) { v.tensors[1].offset_bytes = 32; }},
       {"offset_bytes + bytes inside the arena",
        [](auto&, auto& v) { v.host_bytes = 2048 + kNhwcBytes - 1; }},
       {"offset_bytes + bytes inside the arena",
        [](auto&, auto& v) { v.tensors[1].offset_bytes = ~uint64_t{63}; }},
       {"index of a blob of the plan", [](auto&, auto& v) { v.tensors[5].index = 1; }},
       {"bytes equal to the blob's", [](auto& p, auto&) { p.blobs[0].bytes -= 4; }},
       {"bytes equal to the blob's", [](auto&, auto& v) {
          v.tensors[5].layout = Layout::Packed;
          v.tensors[5].row_end = 0;
          v.tensors[5].bytes += 64;
        }}});
  check_refused(
      separate_plan, "tensor",
      {{"offset_bytes a multiple of the arena's alignment (host 64, else 1024)",
        [](auto&, auto& v) { v.tensors[5].offset_bytes = 64; }},
       {"offset_bytes + bytes inside the arena", [](auto&, auto& v) { v.device_bytes = 1024; }},
       {"index of an image of the variant", [](auto&, auto& v) { v.tensors[3].index = 2; }},
       {"the dtype of the image", [](auto&, auto& v) { v.tensors[3].dtype = DType::I64; }},
       {"the dtype of the image", [](auto&, auto& v) { v.tensors[3].dtype = DType::F16; }},
       {"the dtype of the image", [](auto&, auto& v) { v.images[0].dtype = DType::F16; }},
       {"an image at least as wide", [](auto&, auto& v) { v.images[0].width = 9; }},
       {"an image at least as high", [](auto&, auto& v) { v.images[0].height = 3; }},
       {"bytes equal to the elements stored (0 in an image)",
        [](auto&, auto& v) { v.tensors[3].bytes = kNhwcBytes; }}});
  check_refused(
      sub_buffer_plan, "tensor",
      {{"offset_bytes + bytes inside the arena", [](auto&, auto& v) { v.shared_bytes = 1024; }}});
}

const char* const kFirst =
    "first_channel 0 in the host arena, else a multiple of 4, the window in the map";

TEST_CASE("each rule of a window of channels refuses its bad example") {
  const char* const kLayout = "pixel_stride and first_channel 0 in this layout";
  const char* const kStride = "pixel_stride 0, or a multiple of 4, the window's channels or more";
  const char* const kHost = "a window of channels in the host arena or memory of the GPU alone";
  check_refused(windows_plan, "tensor",
                {{kStride, [](auto&, auto& v) { v.tensors[7].pixel_stride = 34; }},
                 {kStride, [](auto&, auto& v) { v.tensors[7].pixel_stride = 12; }},
                 {kStride, [](auto&, auto& v) { v.tensors[7].pixel_stride = -16; }},
                 {kStride, [](auto&, auto& v) { v.tensors[7].pixel_stride = kMaxDim + 4; }},
                 {"at most 2^30 elements, pad lanes included",
                  [](auto&, auto& v) {
                    v.tensors[7].dims = {1 << 10, 16, 4, 1 << 10};
                    v.tensors[7].pixel_stride = 1 << 20;
                  }},
                 {"a window of whole panels of 16, of whole texels in memory of the GPU",
                  [](auto&, auto& v) { v.tensors[7].dims[1] = 12; }},
                 {kFirst, [](auto&, auto& v) { v.tensors[8].first_channel = 16; }},
                 {"first_channel 0 without a window",
                  [](auto&, auto& v) { v.tensors[9].first_channel = 16; }},
                 {kHost, [](auto&, auto& v) { v.tensors[6].pixel_stride = 32; }},
                 {kLayout, [](auto&, auto& v) { v.tensors[0].pixel_stride = 32; }},
                 {kLayout, [](auto&, auto& v) { v.tensors[0].first_channel = 16; }},
                 {"bytes equal to the elements stored (0 in an image)",
                  [](auto&, auto& v) { v.tensors[7].pixel_stride = 48; }}});
  const char* const kPlace = "a window of a Concat's output at its place in it";
  check_refused(windows_plan, "step",
                {{"an output that shares no byte with an input",
                  [](auto&, auto& v) { v.tensors[8].offset_bytes = 4096; }},
                 {kPlace,
                  [](auto&, auto& v) {
                    v.steps[6].operands[0] = 6;
                    v.tensors[8].offset_bytes = 4096;
                  }},
                 {kPlace,
                  [](auto&, auto& v) {
                    v.steps.back().operands = {8, 7, 9};
                  }},
                 {kPlace, [](auto&, auto& v) { v.tensors[9].offset_bytes = 2048; }},
                 {"an output that shares no byte with an input", [](auto&, auto& v) {
                    v.steps.back().kernel = kernel_id("binary_f32_cpu");
                    v.steps.back().params = test::params_bytes(BinaryParams{});
                  }}});
}

TEST_CASE("each rule of a window on the GPU refuses its bad example") {
  const char* const kShares = "an output that shares no byte with an input";
  const char* const kPlace = "a window of a Concat's output at its place in it";
  const auto move_window = [](TestTensor& window) {
    window.first_channel -= 4;
    if (window.bytes != 0) window.bytes -= 4 * sizeof(float);
  };
  for (TestPlan (*make_plan)() : {device_windows_plan, image_windows_plan}) {
    const bool is_image = make_plan == image_windows_plan;
    INFO(is_image);
    check_refused(
        make_plan, "tensor",
        {{kFirst, [](auto&, auto& v) { v.tensors[10].first_channel = -4; }},
         {kFirst, [](auto&, auto& v) { v.tensors[10].first_channel = 14; }},
         {kFirst, [](auto&, auto& v) { v.tensors[10].first_channel = 20; }},
         {kFirst, [](auto&, auto& v) { v.tensors[10].first_channel = INT32_MAX - 3; }},
         {"a window of whole panels of 16, of whole texels in memory of the GPU",
          [](auto&, auto& v) { v.tensors[10].dims[1] = 14; }},
         {"at most 2^30 elements, pad lanes included",
          [](auto&, auto& v) {
            v.tensors[10].dims = {1 << 10, 16, 4, 1 << 10};
            v.tensors[10].pixel_stride = 1 << 20;
          }},
         {is_image ? "an image at least as wide" : "offset_bytes + bytes inside the arena",
          [](auto&, auto& v) {
            v.images.back().width = 39;
            v.device_bytes = 4096 + 20 * 32 * 4 - 1;
          }}});
    check_refused(make_plan, "step",
                  {{kPlace,
                    [](auto&, auto& v) {
                      v.steps.back().operands = {10, 9, 11};
                    }},
                   {kPlace,
                    [&](auto&, auto& v) {
                      v.tensors[11].index = is_image ? 2 : 0;
                      v.tensors[11].offset_bytes = is_image ? 0 : 1024;
                    }},
                   {kPlace, [&](auto&, auto& v) { move_window(v.tensors[10]); }},
                   {kShares, [&](auto&, auto& v) {
                      v.steps[8].operands = {9, 10};
                      move_window(v.tensors[10]);
                    }}});
    // A kernel may read some channels of a buffer and write others of it, but not of an image.
    TestPlan plan = make_plan();
    plan.variants[0].steps[8].operands = {9, 10};
    CHECK(verify(test::to_bytes(plan)).ok() == !is_image);
  }
  check_refused(device_windows_plan, "step",
                {{"no windows of channels to copy",
                  [](auto&, auto& v) { v.tensors[2].dims[1] = v.tensors[2].pixel_stride = 8; }}});
}

TEST_CASE("an output in its input is refused where it is not what the input has there") {
  const char* const kRule = "an output that shares no byte with an input";
  const auto set_slice = [](TestVariant& v, auto change) {
    SliceParams slice = slice_of_rows();
    change(slice);
    v.steps.back().params = test::params_bytes(slice);
  };
  check_refused(
      in_place_plan, "step",
      {{kRule, [](auto&, auto& v) { v.tensors[7].offset_bytes += 64; }},
       {kRule, [](auto&, auto& v) { v.tensors[8].offset_bytes += 64; }},
       {kRule, [](auto&, auto& v) { v.tensors[8].offset_bytes -= 64; }},
       {kRule, [&](auto&, auto& v) { set_slice(v, [](auto& s) { s.start_0 = 2; }); }},
       {kRule, [&](auto&, auto& v) { set_slice(v, [](auto& s) { s.start_0 = -1; }); }},
       {kRule, [&](auto&, auto& v) { set_slice(v, [](auto& s) { s.start_0 = INT32_MAX; }); }},
       {kRule, [&](auto&, auto& v) { set_slice(v, [](auto& s) { s.step_0 = 2; }); }},
       {kRule, [&](auto&, auto& v) { set_slice(v, [](auto& s) { s.step_1 = -1; }); }},
       {kRule, [&](auto&, auto& v) { set_slice(v, [](auto& s) { s.count_0 = 3; }); }},
       // It takes not all of the columns, so it is no run of memory.
       {kRule, [&](auto&, auto& v) {
          v.tensors[8].dims = {2, 8};
          v.tensors[8].bytes = 2 * 8 * sizeof(float);
          set_slice(v, [](auto& s) { s.count_1 = 8; });
        }}});
  // A Slice in place needs the host's arena, or the whole beginning in the device's.
  check_refused(device_in_place_plan, "step",
                {{kRule,
                  [](auto&, auto& v) {
                    v.tensors[9].dims = {2, 16}, v.tensors[9].bytes = 128;
                  }},
                 {kRule, [](auto& p, auto& v) {
                    v.tensors[8].dims = {8, 256};
                    v.tensors[8].bytes = 8192;
                    v.tensors[9].dims = {4, 256};
                    v.tensors[9].bytes = 4096;
                    v.tensors[9].offset_bytes = 2048 + 1024;
                    v.device_bytes = 16384;
                    SliceParams slice = slice_of_rows();
                    slice.count_0 = 4;
                    slice.count_1 = 256;
                    v.steps.back() = kernel_step("slice_f32_cl_buffer", {8, 9});
                    v.steps.back().params = test::params_bytes(slice);
                    test::name_kernels(p);
                  }}});
  // In memory that both processors share it needs the whole beginning, too, whatever the Slice's
  // start.
  const auto set_start = [](TestVariant& v, int32_t start, uint64_t offset_bytes) {
    v.tensors[5].offset_bytes = 4096 + offset_bytes;
    SliceParams slice = slice_of_rows();
    slice.start_0 = start;
    slice.count_1 = 256;
    v.steps.back().params = test::params_bytes(slice);
  };
  check_refused(shared_in_place_plan, "step",
                {{kRule, [&](auto&, auto& v) { set_start(v, 1, 1024); }},
                 {kRule, [&](auto&, auto& v) { set_start(v, 1, 0); }},
                 {kRule, [&](auto&, auto& v) { set_start(v, 0, 1024); }},
                 {kRule, [&](auto&, auto& v) { set_start(v, 2, 2048); }},
                 {kRule, [&](auto&, auto& v) { set_start(v, -4, 0); }},
                 {kRule, [&](auto&, auto& v) { set_start(v, INT32_MIN, 0); }},
                 {kRule, [&](auto&, auto& v) { set_start(v, INT32_MAX, 1024); }}});
  TestPlan plan = in_place_plan();
  for (size_t i : {6, 7, 8}) plan.variants[0].tensors[i].storage = Storage::Input;
  CHECK(!verify(test::to_bytes(plan)).ok());
}

TEST_CASE("a step in its place is seen by the contract as one") {
  const auto count_in = [](const TestPlan& plan) {
    static int count;
    count = 0;
    const CheckStep record = [](const kernels::StepShape& step, kernels::StepNeeds*) {
      count += step.is_in_place;
      return static_cast<const char*>(nullptr);
    };
    CHECK(verify(test::to_bytes(plan), VerifyLevel::All, record).ok());
    return count;
  };
  TestPlan plan = in_place_plan();
  CHECK(count_in(plan) == 2);
  CHECK(count_in(device_in_place_plan()) == 1);
  CHECK(count_in(shared_in_place_plan()) == 1);
  CHECK(count_in(windows_plan()) == 0);
  for (size_t i : {6, 7, 8}) plan.variants[0].tensors[i].offset_bytes = 4096 + (i - 6) * 1024;
  CHECK(count_in(plan) == 0);
}

TEST_CASE("halves lie wherever the kernels that touch them take them") {
  // A CPU step reads halves and writes floats: its contract refuses that, not the tensor.
  TestPlan on_cpu = cpu_plan();
  on_cpu.variants[0].tensors[1] = as_halves(on_cpu.variants[0].tensors[1]);
  CHECK(verify(test::to_bytes(on_cpu)).ok());
  const PlanFault refused = verify(test::to_bytes(on_cpu), VerifyLevel::All, kernels::check_step);
  CHECK(std::string(refused.where) == "step");
  CHECK(refused.index == 1);
  check_refused(halves_plan, "tensor",
                {{"bytes equal to the elements stored (0 in an image)",
                  [](auto&, auto& v) { v.tensors[8].bytes *= 2; }},
                 {"the dtype of the image",  // two tensors in one image, of two dtypes
                  [](auto&, auto& v) {
                    v.tensors[4].index = 0;
                    v.tensors[4].dtype = DType::F32;
                  }}});
  check_refused(halves_plan, "step",
                {{"operands of one dtype, layout and rank",
                  [](auto&, auto& v) { v.tensors[2] = as_halves(v.tensors[2]); }},
                 {"operands of one dtype, layout and rank",
                  [](auto&, auto& v) { v.steps[6].operands[0] = 8; }}});
  // Contracts refuse these: halves that are no map, and a kernel that takes none.
  const auto fault_of = [](auto break_rule) {
    TestPlan plan = halves_plan();
    break_rule(plan.variants[0]);
    return verify(test::to_bytes(plan), VerifyLevel::All, kernels::check_step);
  };
  const PlanFault plain = fault_of([](TestVariant& v) {
    TestTensor& tensor = v.tensors[8];
    tensor.layout = Layout::Plain;
    tensor.row_end = 0;
    tensor.bytes = kPlainBytes / 2;
  });
  CHECK(std::string(plain.expected) == "input and output of one layout");
  CHECK(std::string(plain.where) == "step");
  const PlanFault other = fault_of([](TestVariant& v) { v.tensors[8].dtype = DType::BF16; });
  CHECK(std::string(other.expected) == "operands of a dtype that the kernel takes");
}

TEST_CASE("each rule of a kernel step refuses its bad example") {
  check_refused(
      cpu_plan, "step",
      {{"a known kind", [](auto&, auto& v) { v.steps[1].kind = StepKind{9}; }},
       {"a known queue", [](auto&, auto& v) { v.steps[1].queue = Queue{9}; }},
       {"a known map_access", [](auto&, auto& v) { v.steps[1].map_access = MapAccess{9}; }},
       {"predicted_us from 0 to 3e38",
        [](auto&, auto& v) { v.steps[1].predicted_us = std::numeric_limits<float>::infinity(); }},
       {"steps of queue Cpu only in a variant without sharing",
        [](auto&, auto& v) { v.steps[1].queue = Queue::Gpu; }},
       {"at most 16 operands", [](auto&, auto& v) { v.steps[1].operands.assign(17, 1); }},
       {"at least one operand", [](auto&, auto& v) { v.steps[1].operands.clear(); }},
       {"operands that name tensors of the variant",
        [](auto&, auto& v) { v.steps[1].operands[0] = 6; }},
       {"the queue of the kernel's processor",
        [](auto& p, auto& v) {
          v.sharing = Sharing::FineSvm;
          v.steps[1].kernel = kernel_id("unary_f32_cl_buffer");
          test::name_kernels(p);
        }},
       {"at most 8 tile numbers", [](auto&, auto& v) { v.steps[1].tile.assign(9, 1); }},
       {"params as long as the operator's parameters",
        [](auto&, auto& v) { v.steps[1].params.pop_back(); }},
       {"params as long as the operator's parameters",
        [](auto&, auto& v) { v.steps[0].params.assign(4, 0); }},
       {"an output that shares no byte with an input",
        [](auto&, auto& v) {
          v.steps[1].operands = {1, 1};
        }},
       {"an output that shares no byte with an input",
        [](auto&, auto& v) { v.tensors[2].offset_bytes = 576; }}});  // t1 is [0, 640)
}

TEST_CASE("each queue touches only the storage that is its own") {
  const char* const kRule =
      "operands in storage that the queue may read, an output that it may write";
  check_refused(cpu_plan, "step",
                {{kRule,
                  [](auto&, auto& v) {
                    v.steps[1].operands = {1, 0};
                  }},  // writes Input
                 {kRule,
                  [](auto&, auto& v) {
                    v.steps[1].operands = {4, 2};
                  }},  // reads Output
                 {kRule, [](auto&, auto& v) {
                    v.steps[1].operands = {1, 5};
                  }}});  // writes Weights
  check_refused(separate_plan, "step",
                {{kRule,
                  [](auto&, auto& v) {
                    v.steps[0].operands = {0, 2};
                  }},  // CPU writes Device
                 {kRule,
                  [](auto&, auto& v) {
                    v.steps[0].operands = {3, 1};
                  }},  // CPU reads Image
                 {kRule,
                  [](auto&, auto& v) {
                    v.steps[2].operands = {1, 3};
                  }},  // GPU reads Host
                 {kRule,
                  [](auto&, auto& v) {
                    v.steps[2].operands = {0, 3};
                  }},  // GPU reads Input
                 {kRule,
                  [](auto&, auto& v) {
                    v.steps[4].operands = {4, 7};
                  }},  // GPU writes Output
                 {kRule, [](auto&, auto& v) {
                    v.steps[4].operands = {4, 6};
                  }}});  // GPU writes Host
}

TEST_CASE("each rule of a part refuses its bad example") {
  const auto channels_part = [](int32_t channels, Range part) {
    return [=](auto&, TestVariant& v) {
      for (size_t i = 1; i <= 2; ++i) {
        v.tensors[i].dims[1] = channels;
        v.tensors[i].bytes = static_cast<uint64_t>(4 * 5 * round_up(channels, 4) * 4);
      }
      v.tensors[2].offset_bytes = 1 << 16;
      v.host_bytes = 1 << 17;
      v.steps[1].part_dim = SplitDim::OutputChannel;
      v.steps[1].part = part;
    };
  };
  check_refused(
      cpu_plan, "step",
      {{"a known part_dim", [](auto&, auto& v) { v.steps[1].part_dim = SplitDim{3}; }},
       {"part [0, 0) without a part_dim",
        [](auto&, auto& v) { v.steps[1].part_dim = SplitDim::None; }},
       {"part inside the rows the operand holds", [](auto&, auto& v) { v.steps[1].part.end = 5; }},
       {"part inside the rows the operand holds",
        [](auto&, auto& v) {
          v.steps[1].part = {2, 2};
        }},
       {"part inside the rows the operand holds",
        [](auto&, auto& v) { v.steps[1].part.begin = -1; }},
       {"part inside the rows the operand holds",
        [](auto&, auto& v) {
          v.tensors[2].row_begin = 1;  // the output holds rows 1 to 4 only
          v.tensors[2].bytes = kNhwcBytes / 4 * 3;
        }},
       {"part inside the channels", channels_part(40, {16, 41})},
       {"part_begin a multiple of 16", channels_part(40, {8, 32})},
       {"part_end a multiple of 16 or the last channel", channels_part(40, {16, 39})},
       {"owned_begin and owned_end in order", [](auto&, auto& v) {
          v.steps[1].owned = {2, 1};
        }}});
}

TEST_CASE("rows need rank 4 and channels rank 2") {
  const auto plain_rank_1 = [](SplitDim dim) {
    return [=](TestPlan& p, TestVariant& v) {
      p.outputs[0] = {.name = "y", .dims = {480}, .bytes = 1920};
      v.tensors[4].dims = {480};
      v.tensors[4].bytes = 1920;
      v.steps[4].part_dim = dim;
      v.steps[4].part = {0, 1};
    };
  };
  check_refused(
      cpu_plan, "step",
      {{"rank 4 for a part of the rows", plain_rank_1(SplitDim::Height)},
       {"rank of at least 2 for a part of the channels", plain_rank_1(SplitDim::OutputChannel)}});
}

TEST_CASE("what the contract refuses is refused in its words") {
  const PlanFault fault = verify(test::to_bytes(cpu_plan()), VerifyLevel::All, refuse_all);
  CHECK(std::string(fault.expected) == "another step");
  CHECK(std::string(fault.where) == "step");
  CHECK(fault.index == 0);
}

TEST_CASE("each rule of waits refuses its bad example") {
  check_refused(
      sub_buffer_plan, "step",
      {{"waits for earlier steps", [](auto&, auto& v) { v.steps[2].waits = {5}; }},
       {"waits for earlier steps", [](auto&, auto& v) { v.steps[2].waits = {2}; }},
       {"waits for earlier steps", [](auto&, auto& v) { v.steps[2].waits = {1000}; }},
       {"waits for steps of other queues", [](auto&, auto& v) { v.steps[3].waits = {2}; }},
       {"waits in ascending order",
        [](auto&, auto& v) {
          v.steps[5].waits = {4, 4};
        }},
       {"waits in ascending order", [](auto&, auto& v) {
          v.steps[5].waits = {4, 3};
        }}});
}

TEST_CASE("each rule of who holds a sub-buffer refuses its bad example") {
  check_refused(
      sub_buffer_plan, "step",
      {{"a tensor that is not mapped yet",
        [](auto&, auto& v) { v.steps[2] = move_step(StepKind::Map, {1}); }},
       {"a tensor that is mapped",
        [](auto&, auto& v) { v.steps[0] = move_step(StepKind::Unmap, {1}); }},
       {"a tensor that is mapped",
        [](auto&, auto& v) { v.steps[6] = move_step(StepKind::Unmap, {1}); }},
       {"shared operands of a CPU step mapped",
        [](auto&, auto& v) {
          v.steps[1].operands = {0, 2};
        }},
       {"a wait for the Map of each shared operand of a CPU step",
        [](auto&, auto& v) { v.steps[1].waits.clear(); }},
       {"a wait for the Map of each shared operand of a CPU step",
        [](auto&, auto& v) { v.steps[5].waits = {3}; }},
       {"a wait for the last CPU step that touches the tensor",
        [](auto&, auto& v) { v.steps[2].waits.clear(); }},
       {"an output mapped for writing",
        [](auto&, auto& v) { v.steps[0].map_access = MapAccess::Read; }},
       {"operands of a GPU step not mapped, or inputs mapped for reading",
        // It reads t1 before its unmap.
        [](auto&, auto& v) { std::swap(v.steps[2], v.steps[3]); }},
       {"operands of a GPU step not mapped, or inputs mapped for reading",
        // It writes t2, mapped for reading.
        [](auto&, auto& v) { std::swap(v.steps[3], v.steps[4]); }},
       {"a tensor that shares no byte with a mapped one",
        [](auto&, auto& v) {
          v.tensors.push_back(nhwc_tensor("t1 by another name", Storage::Shared, 0));
          v.steps = {move_step(StepKind::Map, {1}), move_step(StepKind::Map, {4})};
        }},
       {"at most 256 tensors mapped at the same time", [](auto&, auto& v) {
          v.shared_bytes = 1 << 20;
          v.steps.clear();
          for (uint32_t i = 0; i <= kMaxMapped; ++i) {
            v.tensors.push_back(nhwc_tensor("t", Storage::Shared, 2048 + 1024 * uint64_t{i}));
            v.steps.push_back(move_step(StepKind::Map, {4 + i}));
          }
        }}});
  check_refused(
      sub_buffer_plan, "variant",
      {{"every mapped tensor unmapped at the end", [](auto&, auto& v) { v.steps.pop_back(); }}});
}

// Makes `step_count` GPU steps of 16 operands beside `mapped_count` mapped sub-buffers; each
// operand is compared with all of these.
TestPlan crowded_plan(uint32_t step_count, uint32_t mapped_count) {
  TestPlan plan = sub_buffer_plan();
  TestVariant& variant = plan.variants[0];
  variant.shared_bytes = 4096 + 1024 * uint64_t{mapped_count};
  std::vector<TestStep> steps;
  const auto tensor_of = [](uint32_t i) { return 4 + i; };
  for (uint32_t i = 0; i < mapped_count; ++i) {
    variant.tensors.push_back(nhwc_tensor("t", Storage::Shared, 2048 + 1024 * uint64_t{i}));
    steps.push_back(move_step(StepKind::Map, {tensor_of(i)}, {}, MapAccess::ReadWrite));
  }
  std::vector<uint32_t> operands(kernels::kMaxOperands, 1);
  operands.back() = 2;
  steps.insert(steps.end(), step_count, kernel_step("unary_f32_cl_buffer", operands));
  for (uint32_t i = 0; i < mapped_count; ++i)
    steps.push_back(move_step(StepKind::Unmap, {tensor_of(i)}));
  variant.steps = std::move(steps);
  test::name_kernels(plan);
  return plan;
}

double verify_seconds(const TestPlan& plan) {
  const std::vector<uint8_t> file = test::to_bytes(plan);
  double least = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(verify(file, VerifyLevel::Structure).ok());
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

TEST_CASE("the time of verification does not grow with what is mapped", "[long]") {
  // The factor was measured as 1.3; it was 20 where every mapped tensor was looked at.
  CHECK(verify_seconds(crowded_plan(5000, kMaxMapped)) < 5 * verify_seconds(crowded_plan(5000, 1)));
}

TEST_CASE("sub-buffers are mapped and unmapped in any order, as a list of them is") {
  // Compares with a list that is searched from its start.
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    TestPlan plan = sub_buffer_plan();
    TestVariant& variant = plan.variants[0];
    variant.shared_bytes = 4096 + 64 * 1024;
    variant.steps.clear();
    struct Held {
      uint32_t tensor;
      bool to_write;
    };
    std::vector<Held> held;
    // Tensors have one unit or three, so that some share bytes.
    for (uint64_t i = 0; i < 24; ++i) {
      TestTensor tensor = nhwc_tensor("t", Storage::Shared, 1024 * i);
      if (i % 3 == 0) {
        tensor.dims[2] = tensor.row_end = tensor.row_end * 3;
        tensor.bytes *= 3;
      }
      variant.tensors.push_back(tensor);
    }
    const auto share = [&](uint32_t a, uint32_t b) {
      const TestTensor& x = variant.tensors[a];
      const TestTensor& y = variant.tensors[b];
      return x.offset_bytes < y.offset_bytes + y.bytes && y.offset_bytes < x.offset_bytes + x.bytes;
    };
    bool is_right = true;
    for (int i = 0; i < 40 && is_right; ++i) {
      const uint32_t tensor = 4 + static_cast<uint32_t>(random() % 24);
      const auto found =
          std::find_if(held.begin(), held.end(), [&](const Held& h) { return h.tensor == tensor; });
      const bool is_shared = std::any_of(held.begin(), held.end(),
                                         [&](const Held& h) { return share(h.tensor, tensor); });
      const bool is_written = std::any_of(held.begin(), held.end(), [&](const Held& h) {
        return h.to_write && share(h.tensor, tensor);
      });
      // Most steps are right, so that rounds are long.
      const bool may_be_wrong = random() % 50 == 0;
      switch (random() % 3) {
        case 0:
          if (is_shared && !may_be_wrong) break;
          is_right = !is_shared;
          held.push_back({tensor, random() % 2 == 0});
          variant.steps.push_back(
              move_step(StepKind::Map, {tensor}, {},
                        held.back().to_write ? MapAccess::Write : MapAccess::Read));
          break;
        case 1:
          if (found == held.end() && !may_be_wrong) break;
          is_right = found != held.end();
          variant.steps.push_back(move_step(StepKind::Unmap, {tensor}));
          if (is_right) held.erase(found);
          break;
        default:
          // Tensor 1 lies after all of them.
          variant.tensors[1].offset_bytes = 60 * 1024;
          if (is_written && !may_be_wrong) break;
          is_right = !is_written;
          variant.steps.push_back(kernel_step("unary_f32_cl_buffer", {tensor, 1}));
      }
    }
    for (const Held& h : held) variant.steps.push_back(move_step(StepKind::Unmap, {h.tensor}));
    test::name_kernels(plan);
    INFO("round " << round);
    CHECK(verify(test::to_bytes(plan), VerifyLevel::Structure).ok() == is_right);
  }
}

TEST_CASE("the GPU may read what is mapped for reading") {
  TestPlan plan = sub_buffer_plan();
  TestVariant& variant = plan.variants[0];
  // The GPU computes t3 = relu(t2) while the host reads t2.
  variant.tensors.push_back(nhwc_tensor("t3", Storage::Shared, 2048));
  variant.steps.insert(variant.steps.begin() + 6, kernel_step("unary_f32_cl_buffer", {2, 4}));
  CHECK(verify(test::to_bytes(plan)).ok());
}

TEST_CASE("a wait of an earlier CPU step orders the later ones too") {
  TestPlan plan = sub_buffer_plan();
  plan.variants[0].steps.insert(plan.variants[0].steps.begin() + 6,
                                kernel_step("convert_f32_cpu", {2, 3}));
  plan.variants[0].steps[7].waits = {6};
  CHECK(verify(test::to_bytes(plan)).ok());
}

TEST_CASE("each rule of Map and Unmap steps refuses its bad example") {
  check_refused(
      sub_buffer_plan, "step",
      {{"kernel 0", [](auto&, auto& v) { v.steps[0].kernel = 1; }},
       {"no params", [](auto&, auto& v) { v.steps[0].params.assign(4, 0); }},
       {"no tile", [](auto&, auto& v) { v.steps[0].tile = {1}; }},
       {"1 operand to map or unmap, 2 to upload or download",
        [](auto&, auto& v) {
          v.steps[0].operands = {1, 2};
        }},
       {"queue Gpu", [](auto&, auto& v) { v.steps[0].queue = Queue::Cpu; }},
       {"sharing SubBuffer to map and unmap", [](auto&, auto& v) { v.sharing = Sharing::FineSvm; }},
       {"an operand in the shared arena", [](auto&, auto& v) { v.steps[0].operands = {0}; }},
       {"no part", [](auto&, auto& v) { v.steps[0].part_dim = SplitDim::Height; }}});
}

TEST_CASE("each rule of Upload and Download steps refuses its bad example") {
  check_refused(separate_plan, "step",
                {{"queue Transfer",
                  [](auto&, auto& v) {
                    v.steps[1].queue = Queue::Gpu;
                    v.steps[2].waits.clear();
                  }},
                 {"1 operand to map or unmap, 2 to upload or download",
                  [](auto&, auto& v) { v.steps[1].operands = {1}; }},
                 {"sharing Separate to upload and download",
                  [](auto&, auto& v) { v.sharing = Sharing::FineSvm; }},
                 {"operand 0 on the side that the step reads",
                  [](auto&, auto& v) { v.steps[1].kind = StepKind::Download; }},
                 {"operand 1 on the side that the step writes",
                  [](auto&, auto& v) {
                    v.steps[1].operands = {1, 6};
                  }},
                 {"operands of one dtype, layout and rank",
                  [](auto&, auto& v) {
                    v.tensors[2].layout = Layout::Plain;
                    v.tensors[2].row_end = 0;
                    v.tensors[2].bytes = kPlainBytes;
                  }},
                 {"operands of the same dims",
                  [](auto&, auto& v) {
                    v.tensors[2].dims = {1, 5, 4, 5};
                  }},
                 {"operands that hold the same rows",
                  [](auto&, auto& v) {
                    v.tensors[2].row_end = 3;
                    v.tensors[2].bytes = kNhwcBytes / 4 * 3;
                  }},
                 {"part inside the rows the operand holds", [](auto&, auto& v) {
                    v.tensors[2].row_end = 3;
                    v.tensors[2].bytes = kNhwcBytes / 4 * 3;
                    v.steps[1].part_dim = SplitDim::Height;
                    v.steps[1].part = {2, 4};
                  }}});
}

TEST_CASE("rows that both sides hold are copied between different windows") {
  TestPlan plan = separate_plan();
  TestVariant& variant = plan.variants[0];
  variant.tensors[2].row_begin = 1;
  variant.tensors[2].bytes = kNhwcBytes / 4 * 3;
  variant.steps[1].part_dim = SplitDim::Height;
  variant.steps[1].part = {1, 3};
  CHECK(verify(test::to_bytes(plan)).ok());
}

// Makes a plan of one entry, whose tables the test has made. `text_bytes`: size of its texts, which
// only make it larger.
std::vector<uint8_t> file_of_entry(flatbuffers::FlatBufferBuilder& builder,
                                   flatbuffers::Offset<plan::EntryDef> entry,
                                   size_t text_bytes = 0) {
  const auto text = builder.CreateString(std::string(text_bytes, 'x'));
  const auto blobs = builder.CreateVector(std::vector<flatbuffers::Offset<plan::BlobDef>>{});
  const auto kernels = builder.CreateVector(std::vector<flatbuffers::Offset<plan::KernelUse>>{});
  const auto entries =
      builder.CreateVector(std::vector<flatbuffers::Offset<plan::EntryDef>>{entry});
  builder.Finish(
      plan::CreatePlanDef(builder, text, text, text, text, 1, 0, blobs, kernels, entries));
  return test::to_bytes({builder.GetBufferPointer(), builder.GetSize()}, {});
}

TEST_CASE("every string and vector must be present") {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::CreatePlanDef(builder));
  const std::vector<uint8_t> file =
      test::to_bytes({builder.GetBufferPointer(), builder.GetSize()}, {});
  CHECK(std::string(verify(file).expected) ==
        "device, codlc_version, model_hash and profile_hash present");

  builder.Clear();
  const auto text = builder.CreateString("");
  builder.Finish(plan::CreatePlanDef(builder, text, text, text, text));
  const std::vector<uint8_t> strings_only =
      test::to_bytes({builder.GetBufferPointer(), builder.GetSize()}, {});
  CHECK(std::string(verify(strings_only).expected) == "blobs, kernels and entries present");

  builder.Clear();
  CHECK(std::string(verify(file_of_entry(builder, plan::CreateEntryDef(builder))).expected) ==
        "name, inputs, outputs and variants present");
}

// Makes a plan of one variant likewise.
std::vector<uint8_t> file_of_variant(flatbuffers::FlatBufferBuilder& builder,
                                     flatbuffers::Offset<plan::VariantDef> variant,
                                     size_t text_bytes = 0) {
  const std::vector<int32_t> dims = {1};
  const auto io = plan::CreateIoDefDirect(builder, "y", static_cast<uint8_t>(DType::F32), &dims, 4);
  const std::vector<flatbuffers::Offset<plan::IoDef>> inputs, outputs = {io};
  const std::vector<flatbuffers::Offset<plan::VariantDef>> variants = {variant};
  const auto entry =
      plan::CreateEntryDefDirect(builder, "", &inputs, &outputs, 0, nullptr, &variants);
  return file_of_entry(builder, entry, text_bytes);
}

TEST_CASE("every vector of a variant and of a step must be present") {
  flatbuffers::FlatBufferBuilder builder;
  const auto bare_variant = plan::CreateVariantDef(builder, builder.CreateString("v"));
  CHECK(std::string(verify(file_of_variant(builder, bare_variant)).expected) ==
        "images, tensors and steps present");

  builder.Clear();
  const std::vector<flatbuffers::Offset<plan::StepDef>> steps = {plan::CreateStepDef(builder)};
  const std::vector<flatbuffers::Offset<plan::ImageDef>> images;
  const std::vector<flatbuffers::Offset<plan::TensorDef>> tensors;
  const auto variant =
      plan::CreateVariantDefDirect(builder, "v", 0, 0, 0, 0, 0, &images, &tensors, &steps);
  CHECK(std::string(verify(file_of_variant(builder, variant)).expected) ==
        "name, params, operands, tile and waits present");
}

TEST_CASE("no file can name one table too often, a small one not even as often as the limits",
          "[long]") {
  struct Example {
    uint32_t step_count;
    uint32_t tensor_count;
    size_t text_bytes;
    const char* expected;
  };
  const char* const one_place = "a well-formed FlatBuffer whose tables stand in one place each";
  // References to one table take 4 bytes each; the example asks for 12 bytes.
  for (const Example& example :
       {Example{1000, 0, 0, one_place}, Example{0, 1000, 0, one_place},
        Example{kMaxSteps, 0, 0, one_place}, Example{0, kMaxTensors, 0, one_place},
        Example{kMaxSteps + 1, 0, 8 * size_t{kMaxSteps}, "at most 2^20 steps in all variants"},
        Example{0, kMaxTensors + 1, 8 * size_t{kMaxTensors},
                "at most 2^20 tensors in all variants"}}) {
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<flatbuffers::Offset<plan::ImageDef>> images;
    const std::vector<flatbuffers::Offset<plan::StepDef>> steps(example.step_count,
                                                                plan::CreateStepDef(builder));
    const std::vector<flatbuffers::Offset<plan::TensorDef>> tensors(example.tensor_count,
                                                                    plan::CreateTensorDef(builder));
    const auto variant =
        plan::CreateVariantDefDirect(builder, "v", 0, 0, 0, 0, 0, &images, &tensors, &steps);
    const std::vector<uint8_t> file = file_of_variant(builder, variant, example.text_bytes);
    CHECK(std::string(verify(file).expected) == example.expected);
  }
}

// ---- damage -------------------------------------------------------------------------------------

// Verifies at the level that lets damage reach the later checks, with the real contracts.
void check_opens_or_fails(const std::vector<uint8_t>& file) {
  CHECK_NOTHROW(verify(file, VerifyLevel::Structure, kernels::check_step));
}

TEST_CASE("every flipped byte of the head and the tables opens or fails cleanly", "[long]") {
  for (TestPlan (*make_plan)() : {cpu_plan, sub_buffer_plan, separate_plan, halves_plan}) {
    std::vector<uint8_t> file = test::to_bytes(make_plan());
    const PlanHead head = test::read_head(file);
    for (size_t i = 0; i < head.table_offset + head.table_bytes; ++i) {
      for (uint8_t mask : {0x01, 0x02, 0x10, 0x80, 0xff}) {
        file[i] ^= mask;
        check_opens_or_fails(file);
        file[i] ^= mask;
      }
    }
  }
}

TEST_CASE("the checksum finds every flipped byte behind the head") {
  std::vector<uint8_t> file = test::to_bytes(sub_buffer_plan());
  const PlanHead head = test::read_head(file);
  const plan::PlanDef* plan = nullptr;
  std::vector<uint64_t> aligned(file.size() / 8);
  std::memcpy(aligned.data(), file.data(), file.size());
  auto* bytes = reinterpret_cast<uint8_t*>(aligned.data());
  size_t accepted = 0;
  for (size_t i = sizeof(PlanHead); i < file.size(); ++i) {
    // Padding far after the table is sampled: it is 60 KB of zeros.
    if (i > head.table_offset + head.table_bytes + 64 && i % 61 != 0) continue;
    bytes[i] ^= 0x40;
    if (verify_plan(bytes, file.size(), VerifyLevel::All, accept_all, &plan).ok()) ++accepted;
    bytes[i] ^= 0x40;
  }
  CHECK(accepted == 0);
}

TEST_CASE("every truncation fails cleanly") {
  const std::vector<uint8_t> file = test::to_bytes(cpu_plan());
  for (size_t size = 0; size < file.size(); size += size < 4096 ? 1 : 97) {
    const std::vector<uint8_t> shorter(file.begin(), file.begin() + static_cast<int64_t>(size));
    CHECK_FALSE(verify(shorter, VerifyLevel::Structure, kernels::check_step).ok());
  }
}

TEST_CASE("a table cut short behind a right head fails cleanly") {
  std::vector<uint8_t> file = test::to_bytes(separate_plan());
  PlanHead head = test::read_head(file);
  for (head.table_bytes -= 1; head.table_bytes > 0; --head.table_bytes) {
    test::write_head(file, head);
    check_opens_or_fails(file);
  }
}

TEST_CASE("random bytes fail cleanly") {
  constexpr uint32_t kSeed = 20;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> table(8 + random() % 512);
    for (uint8_t& byte : table) byte = static_cast<uint8_t>(random());
    CHECK_FALSE(verify(test::to_bytes(table, {}), VerifyLevel::Structure, accept_all).ok());
  }
}

TEST_CASE("several random bytes in the tables at once open or fail cleanly", "[long]") {
  constexpr uint32_t kSeed = 21;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  for (TestPlan (*make_plan)() : {cpu_plan, sub_buffer_plan, separate_plan, halves_plan}) {
    const std::vector<uint8_t> file = test::to_bytes(make_plan());
    const PlanHead head = test::read_head(file);
    for (int round = 0; round < 3000; ++round) {
      std::vector<uint8_t> damaged = file;
      for (uint32_t i = random() % 4 + 1; i > 0; --i)
        damaged[head.table_offset + random() % head.table_bytes] = static_cast<uint8_t>(random());
      check_opens_or_fails(damaged);
    }
  }
}

}  // namespace
}  // namespace codl
