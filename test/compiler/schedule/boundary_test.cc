// Tests rows at a cut that are computed first and handed over while the rest is computed.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/emit/plan_builder.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/value_tensors.h"
#include "compiler/schedule/bound_slices.h"
#include "compiler/schedule/concat_windows.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/step_order.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

constexpr Queue kQueues[] = {Queue::Cpu, Queue::Gpu};
constexpr Queue other_of(Queue queue) { return queue == Queue::Cpu ? Queue::Gpu : Queue::Cpu; }

// Four 3 x 3 convolutions with 16 rows: each node reads one row across a cut.
ir::Graph four_in_a_row() {
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", a, 32);
  return builder.finish(builder.conv("d", builder.conv("c", b, 32), 32));
}

// Splits every node that allows it along `dim`, each by itself; the caller says whose parts compute
// rows at the cut first.
PartitionPlan split_plan(const ir::Graph& graph, const LatencyPredictor& predictor,
                         std::set<Queue> first, double ratio = 0.5, SplitDim dim = SplitDim::Height,
                         int32_t max_chain = 1) {
  PartitionOptions options;
  options.split_dim = dim;
  options.ratio = ratio;
  options.max_chain = max_chain;
  PartitionPlan plan = test::value_of(partition(graph, predictor, options));
  for (NodePartition& node_partition : plan.node_partitions)
    if (node_partition.dim == SplitDim::Height)
      for (Part& part : node_partition.parts)
        part.boundary_first =
            first.count(part.processor == Processor::Cpu ? Queue::Cpu : Queue::Gpu) != 0;
  REQUIRE(test::error_of(check_partition(graph, plan)) == "");
  return plan;
}

// Puts everything on the CPU: the last variant of a plan.
Schedule whole_schedule(const ir::Graph& graph, const LatencyPredictor& predictor) {
  PartitionOptions cpu;
  cpu.strategy = "cpu";
  const PartitionPlan plan = test::value_of(partition(graph, predictor, cpu));
  Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "cpu"));
  CHECK(test::error_of(plan_memory(schedule, predictor.profile())) == "");
  return schedule;
}

// Returns the error of build_plan(), which calls verify_plan().
std::string build_error(ir::Graph graph, const std::vector<Schedule>& schedules) {
  const PlanInfo info{"box", "00000000000000aa", "00000000000000bb", 1, {10000}};
  const EntryToEmit entry = {"", &graph, schedules};
  const PackedWeights weights = test::value_of(pack_weights(entry));
  return test::error_of(build_plan(entry, weights, info));
}

// Makes a schedule and runs every check that a plan must pass.
Schedule checked_schedule(const ir::Graph& graph, const PartitionPlan& plan,
                          const LatencyPredictor& predictor) {
  Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
  CHECK(test::error_of(check_races(graph, schedule)) == "");
  Schedule placed = schedule;
  CHECK(test::error_of(plan_memory(placed, predictor.profile())) == "");
  CHECK(test::error_of(check_memory_plan(placed)) == "");
  CHECK(build_error(graph, {placed, whole_schedule(graph, predictor)}) == "");
  return schedule;
}

ir::ValueId value_named(const ir::Graph& graph, llvm::StringRef name) {
  for (ir::ValueId id = 0; id < graph.values().size(); ++id)
    if (graph.value(id).name == name) return id;
  FAIL("no value " << name.str());
  return ir::kNoId;
}

// Returns the node's kernels on the queue, in order.
std::vector<StepId> steps_of(const Schedule& schedule, llvm::StringRef node, Queue queue) {
  std::vector<StepId> steps;
  for (StepId id = 0; id < schedule.steps.size(); ++id)
    if (schedule.nodes[id] != ir::kNoId && schedule.steps[id].name == node &&
        schedule.steps[id].queue == queue)
      steps.push_back(id);
  return steps;
}

std::vector<Range> parts_of(const Schedule& schedule, llvm::ArrayRef<StepId> steps) {
  std::vector<Range> parts;
  for (StepId id : steps) parts.push_back(schedule.steps[id].part);
  return parts;
}

// Returns the steps that move the value between its tensors.
std::vector<StepId> moves_of(const Schedule& schedule, ir::ValueId value) {
  std::vector<StepId> moves;
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    if (schedule.nodes[id] == ir::kNoId && step.kind != StepKind::Map &&
        step.kind != StepKind::Unmap && schedule.values[step.operands[0]] == value)
      moves.push_back(id);
  }
  return moves;
}

std::multiset<Storage> storages_of(const Schedule& schedule, ir::ValueId value) {
  std::multiset<Storage> storages;
  for (TensorId id = 0; id < schedule.tensors.size(); ++id)
    if (schedule.values[id] == value) storages.insert(schedule.tensors[id].storage);
  return storages;
}

// Returns the parts of a node cut in the middle, if the given queues compute rows at the cut first.
// The other queue reads rows from 7 of the GPU's, and up to 8 of the CPU's.
std::vector<Range> wanted_parts(Queue queue, bool is_first) {
  if (!is_first)
    return queue == Queue::Gpu ? std::vector<Range>{{0, 8}} : std::vector<Range>{{8, 16}};
  return queue == Queue::Gpu ? std::vector<Range>{{7, 8}, {0, 7}}
                             : std::vector<Range>{{8, 9}, {9, 16}};
}

TEST_CASE("rows at the cut are computed first, and nobody waits for the rest") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const auto first = GENERATE(std::set<Queue>{Queue::Cpu}, std::set<Queue>{Queue::Gpu},
                              std::set<Queue>{Queue::Cpu, Queue::Gpu});
  CAPTURE(sharing, layout, first.size(), *first.begin());
  const ir::Graph graph = four_in_a_row();
  const DeviceProfile profile = test::test_profile(sharing, layout);
  const LatencyPredictor predictor(profile);
  const Schedule schedule = checked_schedule(graph, split_plan(graph, predictor, first), predictor);
  const StepOrder order(schedule);
  for (const auto& [node, next] : {std::pair{"a", "b"}, std::pair{"b", "c"}, std::pair{"c", "d"}})
    for (const Queue queue : kQueues) {
      CAPTURE(node, queue);
      const bool is_first = first.count(queue) != 0;
      const std::vector<StepId> made = steps_of(schedule, node, queue);
      REQUIRE(parts_of(schedule, made) == wanted_parts(queue, is_first));
      const std::vector<StepId> readers = steps_of(schedule, next, other_of(queue));
      REQUIRE_FALSE(readers.empty());
      // The boundary step, or one after it, reads the rows that cross.
      for (const StepId reader : readers) CHECK(order.happens_before(made[0], reader));
      // Shared tensors before the first node and after the last one go from queue to queue after
      // everything that the other queue does with them.
      const bool is_inside = sharing != Sharing::SubBuffer || node == std::string("b");
      if (is_first && is_inside) CHECK_FALSE(order.happens_before(made[1], readers[0]));
      for (const StepId move : moves_of(schedule, value_named(graph, std::string(node) + "_out"))) {
        const Step& step = schedule.steps[move];
        CHECK(step.part_dim == SplitDim::Height);
        CHECK(step.part.count() == 1);  // the row that the other queue misses, alone
        // The rows are on their way while the rest is computed.
        if (is_first && is_inside && step.part == schedule.steps[made[0]].part)
          CHECK_FALSE(order.happens_before(made[1], move));
      }
    }
  // Each row moves once per direction, in as many moves as there are memories between.
  const bool is_image = layout == Layout::Image2d;
  const size_t moves = sharing == Sharing::FineSvm     ? (is_image ? 2 : 0)
                       : sharing == Sharing::SubBuffer ? 4
                                                       : (is_image ? 4 : 2);
  CHECK(moves_of(schedule, value_named(graph, "a_out")).size() == moves);
  // The CPU reads all of the last node's rows, most of the part, so they move all at once.
  CHECK(steps_of(schedule, "d", Queue::Cpu).size() == 1);
  CHECK(steps_of(schedule, "d", Queue::Gpu).size() == 1);
}

TEST_CASE(
    "the rows that cross have shared tensors of their own, where a queue cannot write beside "
    "the other one") {
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const auto first = GENERATE(std::set<Queue>{Queue::Cpu}, std::set<Queue>{Queue::Gpu},
                              std::set<Queue>{Queue::Cpu, Queue::Gpu});
  const ir::Graph graph = four_in_a_row();
  const DeviceProfile profile = test::test_profile(Sharing::SubBuffer, layout);
  const LatencyPredictor predictor(profile);
  const Schedule schedule = checked_schedule(graph, split_plan(graph, predictor, first), predictor);
  const Storage of_gpu = layout == Layout::Image2d ? Storage::Image : Storage::Device;
  const StepOrder order(schedule);
  for (const char* name : {"a_out", "b_out", "c_out"}) {
    const ir::ValueId value = value_named(graph, name);
    CAPTURE(name);
    CHECK(storages_of(schedule, value) ==
          std::multiset<Storage>{Storage::Host, of_gpu, Storage::Shared, Storage::Shared});
    for (TensorId tensor = 0; tensor < schedule.tensors.size(); ++tensor) {
      if (schedule.values[tensor] != value || schedule.tensors[tensor].storage != Storage::Shared)
        continue;
      CHECK(schedule.tensors[tensor].shape.row_end - schedule.tensors[tensor].shape.row_begin == 1);
      std::vector<StepId> maps, unmaps, host;
      MapAccess access = MapAccess::Read;
      bool is_written_by_host = false;
      for (StepId id = 0; id < schedule.steps.size(); ++id) {
        const Step& step = schedule.steps[id];
        if (!llvm::is_contained(step.operands, tensor)) continue;
        if (step.kind == StepKind::Map) access = step.map_access;
        (step.kind == StepKind::Map     ? maps
         : step.kind == StepKind::Unmap ? unmaps
                                        : host)
            .push_back(id);
        if (step.kind == StepKind::Kernel && step.queue == Queue::Cpu)
          is_written_by_host = step.operands.back() == tensor;
      }
      REQUIRE(maps.size() == 1);
      REQUIRE(unmaps.size() == 1);
      CHECK((access == MapAccess::ReadWrite) == is_written_by_host);
      for (const StepId id : host) {
        if (schedule.steps[id].queue != Queue::Cpu) continue;
        CHECK(order.happens_before(maps[0], id));
        CHECK(order.happens_before(id, unmaps[0]));
      }
    }
  }
  // A value that only the CPU reads after the last node is shared as before.
  CHECK(storages_of(schedule, value_named(graph, "d_out")).count(Storage::Shared) == 1);
}

// Winograd's kernels compute tiles on one grid: those that contain the rows that cross come first.
TEST_CASE("rows come first that the kernel computes together") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto packing = GENERATE(PackingKind::Winograd2, PackingKind::Winograd4);
  const int32_t cut = GENERATE(16, 15, 13);
  const int32_t unit = packing == PackingKind::Winograd2 ? 2 : 4;
  CAPTURE(sharing, unit, cut);
  test::GraphBuilder builder(64, 32, 32);
  const ir::ValueId a = builder.conv("a", builder.input(), 64);
  const ir::Graph graph = builder.finish(builder.conv("c", builder.conv("b", a, 64), 64));
  DeviceProfile profile = test::test_profile(sharing);
  profile.unused_kernels.clear();
  const LatencyPredictor predictor(profile);
  PartitionPlan plan = split_plan(graph, predictor, {Queue::Cpu, Queue::Gpu}, cut / 32.0);
  int winograds = 0;
  for (NodePartition& node_partition : plan.node_partitions) {
    if (graph.node(node_partition.node).op != OpKind::Conv2d) continue;
    for (Part& part : node_partition.parts) {
      each_kernel({graph, graph.node(node_partition.node)}, part.processor, kBuffers,
                  node_partition.dim, part.computed, predictor,
                  [&](const kernels::StepShape& step) {
                    if (step.kernel->packing_of(1) == packing) part.kernel = step.kernel;
                  });
      winograds += rows_at_once(*part.kernel) == unit;
    }
  }
  // All but one of the kernels can only compute whole tiles.
  REQUIRE((winograds > 0) == (cut % unit == 0 || unit == 2));
  const Schedule schedule = checked_schedule(graph, plan, predictor);
  for (const NodePartition& node_partition : plan.node_partitions) {
    const std::string& name = graph.node(node_partition.node).name;
    if (name != "a" && name != "b") continue;
    for (const Part& part : node_partition.parts) {
      const int32_t rows = rows_at_once(*part.kernel);
      const bool is_gpu = part.processor == Processor::Gpu;
      const int32_t edge = is_gpu ? (cut - 1) / rows * rows : (cut + 1 + rows - 1) / rows * rows;
      CAPTURE(name, is_gpu, rows);
      CHECK(parts_of(schedule, steps_of(schedule, name, is_gpu ? Queue::Gpu : Queue::Cpu)) ==
            (is_gpu ? std::vector<Range>{{edge, cut}, {0, edge}}
                    : std::vector<Range>{{cut, edge}, {edge, 32}}));
    }
  }
  for (const StepId move : moves_of(schedule, value_named(graph, "a_out")))
    CHECK(schedule.steps[move].part.count() == 1);
}

// a and b are a chain: each queue computes a row of a beyond the cut, which b reads. The 5 x 5
// convolution c reads one more row, which is handed over together with the one computed twice.
TEST_CASE("a chain hands over the rows that nodes behind it read beyond what is computed twice") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::ValueId b = builder.conv("b", a, 32);
  const ir::Graph graph = builder.finish(builder.add("sum", b, builder.conv("c", a, 32, 5)));
  const DeviceProfile profile = test::test_profile(sharing);
  const LatencyPredictor predictor(profile);
  const Schedule schedule = checked_schedule(
      graph, split_plan(graph, predictor, {Queue::Cpu, Queue::Gpu}, 0.5, SplitDim::Height, 2),
      predictor);
  // The CPU computes from row 7 and lacks row 6; the GPU's rows end with row 8.
  CHECK(parts_of(schedule, steps_of(schedule, "a", Queue::Gpu)) ==
        std::vector<Range>{{6, 9}, {0, 6}});
  CHECK(parts_of(schedule, steps_of(schedule, "a", Queue::Cpu)) ==
        std::vector<Range>{{7, 10}, {10, 16}});
  // Each row has one owner, though some are computed twice.
  std::map<int32_t, int> owners;
  for (const Queue queue : kQueues)
    for (const StepId id : steps_of(schedule, "a", queue)) {
      const Step& step = schedule.steps[id];
      for (int32_t row = step.owned.begin; row < step.owned.end; ++row) ++owners[row];
    }
  CHECK(owners.size() == 16);
  CHECK(llvm::all_of(owners, [](const auto& owner) { return owner.second == 1; }));
  for (const StepId move : moves_of(schedule, value_named(graph, "a_out")))
    CHECK((schedule.steps[move].part == Range{6, 7} || schedule.steps[move].part == Range{9, 10}));
}

// ---- what is done to schedules afterwards

// As in densenet, a is joined to a value computed from it, by rows on both queues.
TEST_CASE(
    "rows at a cut that come first stay in order as windows of a Concat, in slices and halves") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const auto precision = GENERATE(ir::Precision::Fp32, ir::Precision::Fp16);
  const double slice_us = GENERATE(1e9, 1.3);
  CAPTURE(sharing, layout, precision, slice_us);
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 16);
  const ir::ValueId ab = builder.concat("ab", {a, builder.conv("b", a, 16)});
  ir::Graph graph = builder.finish(builder.conv("d", builder.conv("c", ab, 16), 16));
  graph.set_precision(precision);
  const DeviceProfile profile = test::test_profile(sharing, layout);
  const LatencyPredictor predictor(profile);
  Schedule schedule =
      checked_schedule(graph, split_plan(graph, predictor, {Queue::Cpu, Queue::Gpu}), predictor);
  // A value that a kernel of floats reads is converted whole: then no rows of halves come first.
  if (precision == ir::Precision::Fp32) {
    CHECK(steps_of(schedule, "a", Queue::Gpu).size() == 2);
    CHECK(steps_of(schedule, "ab", Queue::Gpu).size() == 2);
  }
  const size_t steps = schedule.steps.size();
  if (slice_us < 1e9) {
    bound_gpu_slices(graph, schedule, predictor, slice_us);
    CHECK(schedule.steps.size() > steps);
  }
  write_into_concats(schedule);
  CHECK(test::error_of(check_races(graph, schedule)) == "");
  CHECK(test::error_of(plan_memory(schedule, profile)) == "");
  CHECK(test::error_of(check_memory_plan(schedule)) == "");
  const std::vector<Schedule> schedules = {schedule, whole_schedule(graph, predictor)};
  CHECK(build_error(graph, schedules) == "");
}

// ---- where the option has no effect

// Checks that the steps are the same as without the option.
void check_says_nothing(
    const ir::Graph& graph, const DeviceProfile& profile, double ratio = 0.5,
    llvm::function_ref<void(PartitionPlan&)> change = [](PartitionPlan&) {}) {
  const LatencyPredictor predictor(profile);
  PartitionPlan with = split_plan(graph, predictor, {Queue::Cpu, Queue::Gpu}, ratio);
  PartitionPlan without = split_plan(graph, predictor, {}, ratio);
  change(with);
  change(without);
  CHECK(print(checked_schedule(graph, with, predictor)) ==
        print(checked_schedule(graph, without, predictor)));
}

TEST_CASE("rows at a cut that are most of a part come with the others") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  // Nine rows of filters read four rows across a cut; the GPU has seven.
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::Graph graph = builder.finish(builder.conv("b", a, 32, 9));
  check_says_nothing(graph, test::test_profile(sharing, layout), 7.0 / 16);
}

// Lets the node's part on the GPU read its maps from buffers.
void read_as_buffer(const ir::Graph& graph, const LatencyPredictor& predictor, llvm::StringRef name,
                    PartitionPlan& plan) {
  for (NodePartition& node_partition : plan.node_partitions) {
    const ir::NodeView view{graph, graph.node(node_partition.node)};
    if (view.node.name != name) continue;
    for (Part& part : node_partition.parts) {
      if (part.processor != Processor::Gpu) continue;
      const auto choice = choose_kernel(view, Processor::Gpu, kBuffers, SplitDim::Height,
                                        part.computed, predictor, true);
      REQUIRE(choice);
      part.kernel = choice->kernel;
      part.form = choice->form;
    }
  }
}

// a is in images on the GPU, and b there reads a buffer: one of its own, or the CPU's.
TEST_CASE("rows at a cut are as other rows where the GPU reads them in the other layout") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const DeviceProfile profile = test::test_profile(sharing, Layout::Image2d);
  const LatencyPredictor predictor(profile);
  test::GraphBuilder builder(16, 16, 16);
  const ir::ValueId a = builder.conv("a", builder.input(), 32);
  const ir::Graph graph = builder.finish(builder.conv("b", a, 32));
  check_says_nothing(graph, profile, 0.5, [&](PartitionPlan& plan) {
    read_as_buffer(graph, predictor, "b", plan);
    const TensorPlacer placer(graph, profile);
    const ValueTensors value_tensors = placer.place(a, placer.use_of(plan, a));
    CHECK(value_tensors.has_others() == (sharing == Sharing::Separate));
    CHECK(value_tensors.buffer_is_shared == (sharing != Sharing::Separate));
  });
}

// The application has it in one memory.
TEST_CASE("an output has no rows at a cut that are handed over") {
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const ir::Graph graph = four_in_a_row();
  const DeviceProfile profile = test::test_profile(sharing);
  const TensorPlacer placer(graph, profile);
  ValueUse use;
  use.boundary_unit = {1, 1};
  use.queues[index_of(Processor::Gpu)] = {{{0, 8}, {0, 32}}, {{0, 9}, {0, 32}}, 1};
  use.queues[index_of(Processor::Cpu)] = {{{8, 16}, {0, 32}}, {{7, 16}, {0, 32}}, 1};
  for (QueueUse& queue : use.queues) queue.made_in = kBuffers;
  const auto has_boundary = [&](ir::ValueId value) {
    return llvm::any_of(placer.place(value, use).boundary,
                        [](const Region& boundary) { return !boundary.empty(); });
  };
  CHECK(has_boundary(value_named(graph, "a_out")));
  CHECK_FALSE(has_boundary(value_named(graph, "y")));
}

TEST_CASE("parts of channels have no rows at a cut") {
  const ir::Graph graph = four_in_a_row();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  PartitionPlan plan = split_plan(graph, predictor, {}, 0.5, SplitDim::OutputChannel);
  for (NodePartition& node_partition : plan.node_partitions)
    for (Part& part : node_partition.parts) part.boundary_first = node_partition.is_split();
  CHECK_THAT(test::error_of(check_partition(graph, plan)),
             Catch::Contains("expected rows at a cut that are computed first, found none"));
  // The option concerns rows alone.
  PartitionOptions options;
  options.split_dim = SplitDim::OutputChannel;
  options.ratio = 0.5;
  options.boundary_first = BoundaryFirst::Always;
  for (const NodePartition& node_partition :
       test::value_of(partition(graph, predictor, options)).node_partitions)
    for (const Part& part : node_partition.parts) CHECK_FALSE(part.boundary_first);
}

}  // namespace
}  // namespace codl::compiler
