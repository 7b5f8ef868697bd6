#include "compiler/schedule/concat_windows.h"

#include "compiler/memory/memory_plan.h"
#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

Schedule schedule_on(const char* processor, const ir::Graph& graph, const DeviceProfile& profile) {
  PartitionOptions options;
  options.strategy = processor;
  const LatencyPredictor predictor(profile);
  const PartitionPlan plan = test::value_of(partition(graph, predictor, options));
  return test::value_of(make_schedule(graph, plan, predictor, processor));
}

Schedule cpu_schedule(const ir::Graph& graph, const DeviceProfile& profile) {
  return schedule_on("cpu", graph, profile);
}

// Counts the schedule's Concats: those that have nothing to copy, and all.
std::pair<int, int> concats_of(const Schedule& schedule) {
  std::pair<int, int> counts;
  for (const Step& step : schedule.steps) {
    if (step.kernel == nullptr || step.kernel->op != OpKind::Concat) continue;
    kernels::OperandShape shapes[kernels::kMaxOperands];
    counts.first += schedule.shape_of(step, shapes).is_in_place;
    ++counts.second;
  }
  return counts;
}

const Tensor& tensor_named(const Schedule& schedule, const std::string& name) {
  for (const Tensor& tensor : schedule.tensors)
    if (tensor.name == name) return tensor;
  FAIL("no tensor " << name);
  return schedule.tensors[0];
}

}  // namespace

// ab = (a, b), all = (ab, c): b and c have other readers, too.
TEST_CASE("a Concat's operands are written where its result has them, through two of them") {
  test::GraphBuilder builder(16, 8, 8);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", a, 16);
  const ir::ValueId ab = builder.concat("ab", {a, b});
  const ir::ValueId c = builder.conv("c", ab, 16);
  const ir::ValueId all = builder.concat("all", {ab, c});
  const ir::Graph graph = builder.finish(builder.conv("d", all, 16, 1));
  const DeviceProfile profile = test::test_profile(Sharing::SubBuffer);
  Schedule schedule = cpu_schedule(graph, profile);
  Schedule copying = schedule;
  write_into_concats(schedule);
  CHECK(llvm::toString(plan_memory(schedule, profile)) == "");
  CHECK(llvm::toString(check_memory_plan(schedule)) == "");
  const Tensor& whole = tensor_named(schedule, "all_out");
  CHECK(whole.shape.pixel_stride == 0);
  struct WindowAt {
    const char* name;
    uint64_t channel;
  };
  for (const WindowAt& place :
       {WindowAt{"a_out", 0}, {"b_out", 32}, {"ab_out", 0}, {"c_out", 48}}) {
    INFO(place.name);
    CHECK(tensor_named(schedule, place.name).shape.pixel_stride == 64);
    CHECK(tensor_named(schedule, place.name).offset_bytes ==
          whole.offset_bytes + place.channel * sizeof(float));
  }
  CHECK(llvm::toString(plan_memory(copying, profile)) == "");
  CHECK(schedule.host_bytes <= copying.host_bytes);
  // The checker knows where a window must be.
  for (Tensor& moved : schedule.tensors)
    if (moved.name == "c_out") moved.offset_bytes -= 64;
  CHECK(llvm::toString(check_memory_plan(schedule)).find("expected a window of t") !=
        std::string::npos);
}

TEST_CASE("in halves a window begins where the host arena is aligned, which a panel may not be") {
  test::GraphBuilder builder(16, 8, 8);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", a, 16);
  const ir::ValueId c = builder.conv("c", a, 16);  // 96 bytes behind the result's beginning
  ir::Graph graph = builder.finish(builder.conv("d", builder.concat("all", {a, b, c}), 16, 1));
  graph.set_precision(ir::Precision::Fp16);
  const DeviceProfile profile = test::test_profile(Sharing::SubBuffer);
  Schedule schedule = cpu_schedule(graph, profile);
  write_into_concats(schedule);
  CHECK(tensor_named(schedule, "all_out").shape.dtype == DType::F16);
  CHECK(tensor_named(schedule, "a_out").shape.pixel_stride == 64);
  CHECK(tensor_named(schedule, "b_out").shape.pixel_stride == 64);
  CHECK(tensor_named(schedule, "c_out").shape.pixel_stride == 0);
  CHECK(llvm::toString(plan_memory(schedule, profile)) == "");
  CHECK(llvm::toString(check_memory_plan(schedule)) == "");
}

TEST_CASE("a window of one Concat is none of another that is as wide") {
  test::GraphBuilder builder(16, 8, 8);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId b = builder.conv("b", a, 16);
  const ir::ValueId c = builder.conv("c", a, 16);
  const ir::ValueId ab = builder.conv("d", builder.concat("ab", {a, b}), 16, 1);
  const ir::ValueId ac = builder.conv("e", builder.concat("ac", {c, a}), 16, 1, 1, ab);
  const ir::Graph graph = builder.finish(ac);
  const DeviceProfile profile = test::test_profile(Sharing::SubBuffer);
  Schedule schedule = cpu_schedule(graph, profile);
  write_into_concats(schedule);
  CHECK(tensor_named(schedule, "a_out").shape.pixel_stride == 0);
  CHECK(tensor_named(schedule, "b_out").shape.pixel_stride == 32);
  CHECK(tensor_named(schedule, "c_out").shape.pixel_stride == 32);
  CHECK(llvm::toString(plan_memory(schedule, profile)) == "");
  CHECK(llvm::toString(check_memory_plan(schedule)) == "");
}

TEST_CASE("what a kernel without windows touches, what begins inside a panel, and what is twice") {
  test::GraphBuilder builder(16, 8, 8);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId b = builder.conv("b", builder.input(), 16);  // added to a
  const ir::ValueId c = builder.conv("c", a, 12);                // whose end is inside a panel
  const ir::ValueId d = builder.conv("d", a, 16);                // behind it
  const ir::ValueId e = builder.conv("e", a, 16);                // twice
  const ir::ValueId f = builder.conv("f", builder.add("sum", b, b), 16);
  const ir::ValueId all = builder.concat("all", {f, b, c, d, e, e});
  const ir::Graph graph = builder.finish(builder.conv("g", all, 16, 1));
  Schedule schedule = cpu_schedule(graph, test::test_profile(Sharing::SubBuffer));
  write_into_concats(schedule);
  CHECK(tensor_named(schedule, "f_out").shape.pixel_stride == 92);
  for (const char* name : {"b_out", "c_out", "d_out", "e_out"}) {
    INFO(name);
    CHECK(tensor_named(schedule, name).shape.pixel_stride == 0);
  }
}

// As in densenet, values joined to a map are computed from it, one through the other.
TEST_CASE("on the GPU a chain of Concats has nothing to copy, in buffers and in images") {
  test::GraphBuilder builder(16, 8, 8);
  const ir::ValueId a = builder.conv("a", builder.input(), 20);
  const ir::ValueId b = builder.conv("b", builder.conv("b0", a, 16, 1), 12);
  const ir::ValueId ab = builder.concat("ab", {a, b});
  const ir::ValueId c = builder.conv("c", builder.conv("c0", ab, 16, 1), 12);
  const ir::ValueId all = builder.concat("all", {ab, c});
  ir::Graph graph = builder.finish(builder.conv("d", all, 16, 1));
  for (const Layout layout : {Layout::Nhwc, Layout::Image2d})
    for (const bool is_half : {false, true}) {
      graph.set_precision(is_half ? ir::Precision::Fp16 : ir::Precision::Fp32);
      const DeviceProfile profile = test::test_profile(Sharing::SubBuffer, layout);
      Schedule schedule = schedule_on("gpu", graph, profile);
      write_into_concats(schedule);
      INFO(name_of(layout) << ", halves " << is_half);
      CHECK(concats_of(schedule) == std::pair(2, 2));
      CHECK(llvm::toString(plan_memory(schedule, profile)) == "");
      CHECK(llvm::toString(check_memory_plan(schedule)) == "");
      const Tensor& whole = tensor_named(schedule, "all_out");
      CHECK(whole.storage == (layout == Layout::Nhwc ? Storage::Device : Storage::Image));
      CHECK(whole.shape.pixel_stride == 0);
      struct WindowAt {
        const char* name;
        int32_t channel;
      };
      for (const WindowAt& place :
           {WindowAt{"a_out", 0}, {"b_out", 20}, {"ab_out", 0}, {"c_out", 32}}) {
        INFO(place.name);
        const Tensor& window = tensor_named(schedule, place.name);
        CHECK(window.shape.pixel_stride == 44);
        CHECK(window.shape.first_channel == place.channel);
        CHECK(window.offset_bytes == whole.offset_bytes);
        CHECK(window.index == whole.index);
        CHECK(window.shape.dtype == (is_half ? DType::F16 : DType::F32));
      }
      for (Tensor& moved : schedule.tensors)
        if (moved.name == "c_out") moved.shape.first_channel -= 4;
      CHECK(llvm::toString(check_memory_plan(schedule)).find("expected a window of t") !=
            std::string::npos);
    }
}

// b is computed from a, and both are joined.
TEST_CASE("no kernel reads and writes an image, of which one operand is copied then") {
  test::GraphBuilder builder(16, 8, 8);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId b = builder.conv("b", a, 16);
  const ir::ValueId ab = builder.concat("ab", {a, b});
  const ir::Graph graph = builder.finish(builder.conv("c", ab, 16, 1));
  for (const Layout layout : {Layout::Nhwc, Layout::Image2d}) {
    const DeviceProfile profile = test::test_profile(Sharing::SubBuffer, layout);
    Schedule schedule = schedule_on("gpu", graph, profile);
    write_into_concats(schedule);
    INFO(name_of(layout));
    const bool is_image = layout == Layout::Image2d;
    CHECK(concats_of(schedule) == std::pair(is_image ? 0 : 1, 1));
    CHECK(tensor_named(schedule, "a_out").shape.pixel_stride == 32);
    CHECK(tensor_named(schedule, "b_out").shape.pixel_stride == (is_image ? 0 : 32));
    CHECK(llvm::toString(plan_memory(schedule, profile)) == "");
    CHECK(llvm::toString(check_memory_plan(schedule)) == "");
  }
}

}  // namespace codl::compiler
