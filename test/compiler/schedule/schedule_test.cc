#include "compiler/schedule/schedule.h"

#include <algorithm>
#include <random>
#include <set>

#include "compiler/frontend/onnx_import.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/passes.h"
#include "compiler/simulate/timing/simulate.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"
#include "test/support/onnx_text.h"

namespace codl::compiler {
namespace {

Schedule schedule_of(const ir::Graph& graph, const DeviceProfile& profile,
                     const PartitionOptions& options) {
  auto plan = partition(graph, LatencyPredictor(profile), options);
  if (!plan) FAIL(llvm::toString(plan.takeError()));
  auto schedule = make_schedule(graph, *plan, LatencyPredictor(profile), "test");
  if (!schedule) FAIL(llvm::toString(schedule.takeError()));
  CHECK(llvm::toString(check_races(graph, *schedule)) == "");
  return std::move(*schedule);
}

PartitionOptions forced(SplitDim dim, int32_t max_chain) {
  PartitionOptions options;
  options.split_dim = dim;
  options.ratio = 0.5;
  options.max_chain = max_chain;
  return options;
}

size_t count(const Schedule& schedule, StepKind kind) {
  return static_cast<size_t>(std::count_if(schedule.steps.begin(), schedule.steps.end(),
                                           [&](const Step& s) { return s.kind == kind; }));
}
size_t count_kernel(const Schedule& schedule, OpKind op, Queue queue) {
  return static_cast<size_t>(
      std::count_if(schedule.steps.begin(), schedule.steps.end(), [&](const Step& s) {
        return s.kernel != nullptr && s.kernel->op == op && s.queue == queue;
      }));
}

TEST_CASE(
    "every sharing kind, layout, precision and split gives a schedule without races and a sound "
    "memory plan") {
  ir::Graph graph = test::three_convs();
  graph.set_precision(GENERATE(Precision::Fp32, Precision::Fp16));
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const auto dim = GENERATE(SplitDim::Height, SplitDim::OutputChannel);
  const auto max_chain = GENERATE(1, 4);
  const DeviceProfile profile = test::test_profile(sharing, layout);
  Schedule schedule = schedule_of(graph, profile, forced(dim, max_chain));
  CHECK(count_kernel(schedule, OpKind::Conv2d, Queue::Cpu) == 3);
  CHECK(count_kernel(schedule, OpKind::Conv2d, Queue::Gpu) == 3);
  CHECK(count(schedule, StepKind::Map) == count(schedule, StepKind::Unmap));
  CHECK((sharing == Sharing::SubBuffer) == (count(schedule, StepKind::Map) > 0));
  CHECK((sharing == Sharing::Separate) == (count(schedule, StepKind::Upload) > 0));
  CHECK(llvm::toString(plan_memory(schedule, profile)) == "");
  CHECK(llvm::toString(check_memory_plan(schedule)) == "");
}

// The sum of channels reads some channels of every row; the queue made all channels of some rows.
TEST_CASE("neighbours may be split along different dims") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", a, 32);
  const ir::Graph graph = builder.finish(builder.add("sum", a, b));
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const DeviceProfile profile = test::test_profile(sharing, layout);
  auto by_rows = partition(graph, LatencyPredictor(profile), forced(SplitDim::Height, 1));
  auto by_channels =
      partition(graph, LatencyPredictor(profile), forced(SplitDim::OutputChannel, 1));
  REQUIRE(bool(by_rows));
  REQUIRE(bool(by_channels));
  const int node_count = static_cast<int>(by_rows->node_partitions.size());
  const int choice = GENERATE_COPY(range(0, 1 << node_count));
  PartitionPlan plan = *by_rows;
  for (int node = 0; node < node_count; ++node)
    if (choice >> node & 1) plan.node_partitions[node] = by_channels->node_partitions[node];
  set_boundary_first(plan, GENERATE(false, true));
  auto schedule = make_schedule(graph, plan, LatencyPredictor(profile), "test");
  REQUIRE(bool(schedule));
  CHECK(llvm::toString(check_races(graph, *schedule)) == "");
}

// Draws a node's part on the GPU, or none, and gives it maps in any form.
void draw_forms(const ir::Graph& graph, const LatencyPredictor& predictor, std::mt19937& random,
                PartitionPlan& plan) {
  for (NodePartition& node_partition : plan.node_partitions)
    for (Part& part : node_partition.parts) {
      const ir::NodeView view{graph, graph.node(node_partition.node)};
      const FormList forms = map_forms(view, part.processor, predictor.profile());
      const Form form = forms[random() % forms.size()];
      const Range computed = node_partition.is_split() ? part.computed : Range{};
      const auto choice =
          choose_kernel(view, part.processor, form, node_partition.dim, computed, predictor, true);
      if (!choice) continue;
      part.kernel = choice->kernel;
      part.form = choice->form;
    }
}

// Lets parts of rows compute those at the cut first, at random.
void draw_boundaries(std::mt19937& random, PartitionPlan& plan) {
  for (NodePartition& node_partition : plan.node_partitions)
    for (Part& part : node_partition.parts)
      part.boundary_first = node_partition.dim == SplitDim::Height && random() % 2 == 0;
}

// Returns plans with all on the CPU, all on the GPU, all in parts of rows, all in parts of
// channels; without chains.
std::vector<PartitionPlan> ways_to_place(const ir::Graph& graph,
                                         const LatencyPredictor& predictor) {
  std::vector<PartitionPlan> ways;
  for (const char* strategy : {"cpu", "gpu"}) {
    PartitionOptions options;
    options.strategy = strategy;
    ways.push_back(test::value_of(partition(graph, predictor, options)));
  }
  for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
    ways.push_back(test::value_of(partition(graph, predictor, forced(dim, 1))));
  return ways;
}

// Values are read in another form than the one they were made in: by nodes of their chain and after
// it, on both sides of a cut, and on both processors.
TEST_CASE("maps of any node in any form") {
  std::mt19937 random(31);
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const DeviceProfile profile = test::test_profile(sharing, Layout::Image2d);
  const LatencyPredictor predictor(profile);
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", a, 32);
  const ir::ValueId c = builder.conv("c", b, 32, 5);
  const ir::ValueId d = builder.conv("d", a, 32, 1);
  ir::Graph graph =
      builder.finish(builder.add("sum", builder.add("ab", a, b), builder.add("cd", c, d)));
  graph.set_precision(GENERATE(Precision::Fp32, Precision::Auto));
  const std::vector<PartitionPlan> ways = ways_to_place(graph, predictor);
  const PartitionPlan chains[] = {
      test::value_of(partition(graph, predictor, forced(SplitDim::Height, 2))),
      test::value_of(partition(graph, predictor, forced(SplitDim::Height, 8)))};
  size_t converted_count = 0;
  for (int i = 0; i < 300; ++i) {
    PartitionPlan plan = i % 3 == 0 ? chains[random() % 2] : ways[0];
    if (i % 3 != 0)
      for (NodePartition& node_partition : plan.node_partitions)
        node_partition = ways[random() % ways.size()].node_partitions[node_partition.node];
    draw_forms(graph, predictor, random, plan);
    draw_boundaries(random, plan);
    CAPTURE(i);
    CHECK(test::error_of(check_partition(graph, plan)) == "");
    Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
    CHECK(test::error_of(check_races(graph, schedule)) == "");
    CHECK(test::error_of(plan_memory(schedule, profile)) == "");
    CHECK(test::error_of(check_memory_plan(schedule)) == "");
    CHECK(count(schedule, StepKind::Map) == count(schedule, StepKind::Unmap));
    for (const Tensor& tensor : schedule.tensors) converted_count += tensor.name == "a_out";
  }
  CHECK(converted_count > 600);  // a has two tensors, and often more
}

// Style transfer consists of these. A pad's parts read rows from further up or down than their own.
TEST_CASE("norms and pads in parts, beside nodes that are cut otherwise or run whole") {
  const std::string text = test::onnx_model(R"(
      g (float[1,3,14,9] x) => (float[1,3,20,11] y)
      <float[40,3,3,3] w1, float[40] scale, float[40] bias, float[40,40,3,3] w2,
       float[3,40,1,1] w3, int64[8] reflects = {0,0,3,1,0,0,2,1}, int64[8] wraps = {0,0,2,1,0,0,1,1}>
      { a = Conv<pads = [1, 1, 1, 1]>(x, w1)
        b = InstanceNormalization(a, scale, bias)
        r = Relu(b)
        c = Pad<mode = "reflect">(r, reflects)
        d = Conv(c, w2)
        e = Pad<mode = "wrap">(d, wraps)
        f = InstanceNormalization(e, scale, bias)
        y = Conv(f, w3) })",
                                            19);
  ir::Graph graph = test::value_of(import_onnx(text, "style.onnx"));
  for (const auto& pass : {fold_constants, assign_layouts})
    REQUIRE(test::error_of(pass(graph)) == "");
  std::mt19937 random(71);
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const DeviceProfile profile = test::test_profile(sharing, layout);
  const LatencyPredictor predictor(profile);
  const std::vector<PartitionPlan> ways = ways_to_place(graph, predictor);
  const PartitionPlan chain =
      test::value_of(partition(graph, predictor, forced(SplitDim::Height, 8)));
  std::set<std::pair<OpKind, SplitDim>> split;
  for (int i = 0; i < 60; ++i) {
    PartitionPlan plan = i == 0 ? chain : ways[0];
    if (i > 0)
      for (NodePartition& node_partition : plan.node_partitions)
        node_partition = ways[random() % ways.size()].node_partitions[node_partition.node];
    draw_boundaries(random, plan);
    CAPTURE(i);
    CHECK(test::error_of(check_partition(graph, plan)) == "");
    Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
    CHECK(test::error_of(check_races(graph, schedule)) == "");
    CHECK(test::error_of(plan_memory(schedule, profile)) == "");
    CHECK(test::error_of(check_memory_plan(schedule)) == "");
    for (const Step& step : schedule.steps)
      if (step.kernel != nullptr) split.emplace(step.kernel->op, step.part_dim);
  }
  CHECK(split.count({OpKind::Normalize, SplitDim::OutputChannel}) == 1);
  CHECK(split.count({OpKind::Normalize, SplitDim::Height}) == 0);
  CHECK(split.count({OpKind::Pad, SplitDim::OutputChannel}) == 1);
  CHECK(split.count({OpKind::Pad, SplitDim::Height}) == 1);
}

// x, a and c are shared; the 1x1 convolution c reads only those rows of b that its own queue made.
TEST_CASE("fine-grained SVM needs no copies: halves of a split are ranges of one tensor") {
  const ir::Graph graph = test::three_convs();
  const Schedule schedule =
      schedule_of(graph, test::test_profile(Sharing::FineSvm), forced(SplitDim::Height, 1));
  CHECK(schedule.steps.size() == 2 + 3 * 2);  // the two converts, and two parts per convolution
  CHECK(std::count_if(schedule.tensors.begin(), schedule.tensors.end(),
                      [](const Tensor& t) { return t.storage == Storage::Shared; }) == 3);
}

TEST_CASE("values inside a chain are private to each queue and never transferred") {
  const ir::Graph graph = test::three_convs();
  const Schedule schedule =
      schedule_of(graph, test::test_profile(Sharing::FineSvm), forced(SplitDim::Height, 4));
  // Only the chain's input and output are shared; a and b have a window per queue.
  std::vector<Range> gpu_windows;
  for (const Tensor& tensor : schedule.tensors)
    if (tensor.storage == Storage::Device)
      gpu_windows.push_back({tensor.shape.row_begin, tensor.shape.row_end});
  // c (1x1) owns rows [0,8): it reads b at [0,8) and a at [0,9), where one row of halo is computed
  // twice.
  CHECK(gpu_windows == std::vector<Range>{{0, 9}, {0, 8}});
  CHECK(std::count_if(schedule.tensors.begin(), schedule.tensors.end(),
                      [](const Tensor& t) { return t.storage == Storage::Shared; }) == 2);
}

// The chain {a, b} makes a, with one row of halo for b; the 5x5 convolution c after the chain reads
// one more row.
TEST_CASE("a chain's value that a later node reads too is transferred behind the chain") {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", a, 32);
  const ir::ValueId c = builder.conv("c", a, 32, 5);
  const ir::Graph graph = builder.finish(builder.add("sum", b, c));
  const Schedule schedule =
      schedule_of(graph, test::test_profile(Sharing::FineSvm), forced(SplitDim::Height, 2));
  const auto transfers_of_a =
      std::count_if(schedule.steps.begin(), schedule.steps.end(), [](const Step& step) {
        return step.kernel != nullptr && step.kernel->op == OpKind::Convert && step.name == "a_out";
      });
  CHECK(transfers_of_a == 2);  // a row for each queue
}

TEST_CASE("the GPU queue never touches the application's memory") {
  const ir::Graph graph = test::three_convs();
  PartitionOptions gpu;
  gpu.strategy = "gpu";
  const Schedule schedule = schedule_of(graph, test::test_profile(Sharing::SubBuffer), gpu);
  for (const Step& step : schedule.steps)
    for (TensorId operand : step.operands)
      if (schedule.tensors[operand].storage == Storage::Input ||
          schedule.tensors[operand].storage == Storage::Output)
        CHECK(step.queue == Queue::Cpu);
  CHECK(count_kernel(schedule, OpKind::Conv2d, Queue::Gpu) == 3);
}

// The CPU changes layouts between the application's memory and the network's, directly into and out
// of the GPU's memory: there is no copy but the one that images or separate memories need anyway.
TEST_CASE("what the GPU alone reads of an input, and makes of an output, is where it has it") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  CAPTURE(sharing, layout);
  const ir::Graph graph = test::three_convs();
  PartitionOptions gpu;
  gpu.strategy = "gpu";
  const Schedule schedule = schedule_of(graph, test::test_profile(sharing, layout), gpu);
  const bool is_separate = sharing == Sharing::Separate;
  const int copies_each_way = (layout == Layout::Image2d ? 1 : 0) + (is_separate ? 1 : 0);
  for (const ir::ValueId value : {graph.node(0).output, graph.nodes().back().inputs[0]}) {
    int copies = 0;
    for (StepId id = 0; id < schedule.steps.size(); ++id) {
      const Step& step = schedule.steps[id];
      copies += schedule.nodes[id] == ir::kNoId && step.kind != StepKind::Map &&
                step.kind != StepKind::Unmap && schedule.values[step.operands[0]] == value;
      // This node stands next to the application's memory.
      if (step.queue != Queue::Cpu) continue;
      for (const TensorId operand : step.operands)
        if (schedule.values[operand] == value)
          CHECK(schedule.tensors[operand].storage ==
                (is_separate ? Storage::Host : Storage::Shared));
    }
    CHECK(copies == copies_each_way);
  }
}

TEST_CASE("queues of equal speed take about half the time of one") {
  test::GraphBuilder builder(16, 28, 28);  // rows that fill the tiles of both processors
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::Graph graph = builder.finish(builder.conv("b", a, 32));
  DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  profile.transfer.sync_us.value = 0;
  PartitionOptions cpu;
  cpu.strategy = "cpu";
  const auto predicted_us = [&](const PartitionOptions& options) {
    Schedule schedule = schedule_of(graph, profile, options);
    CHECK(llvm::toString(predict(schedule, profile)) == "");
    return schedule.predicted_us;
  };
  const double alone_us = predicted_us(cpu);
  const double both_us = predicted_us(forced(SplitDim::Height, 1));
  CHECK(both_us < 0.8 * alone_us);
}

TEST_CASE("check_races finds each broken rule") {
  const ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const Schedule good = schedule_of(graph, profile, forced(SplitDim::Height, 1));
  const auto fault_after = [&](auto change) {
    Schedule schedule = good;
    change(schedule);
    return llvm::toString(check_races(graph, schedule));
  };
  using Catch::Contains;
  // A wait is dropped, so the next convolution's halo may not be there yet.
  CHECK_THAT(fault_after([](Schedule& s) {
               for (Step& step : s.steps) step.waits.clear();
             }),
             Contains("expected an order between"));
  CHECK_THAT(fault_after([](Schedule& s) { s.steps[0].waits = {5}; }),
             Contains("earlier steps of other queues"));
  // A part is left out, so rows are read that nobody writes.
  CHECK_THAT(fault_after([](Schedule& s) {
               for (Step& step : s.steps)
                 if (step.name == "a" && step.queue == Queue::Gpu) step.part.end -= 1;
             }),
             Contains("found a gap"));
}

TEST_CASE("check_races wants an order between a map and who touches the tensor") {
  const ir::Graph graph = test::three_convs();
  Schedule schedule = schedule_of(graph, test::test_profile(Sharing::SubBuffer),
                                  forced(SplitDim::OutputChannel, 1));
  for (Step& step : schedule.steps)
    if (step.queue == Queue::Cpu && step.name == "b") step.waits.clear();
  CHECK(llvm::toString(check_races(graph, schedule)) != "");
}

}  // namespace
}  // namespace codl::compiler
