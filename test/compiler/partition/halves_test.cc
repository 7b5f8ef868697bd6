// Tests which values are halves, by the precision in which they may be held.
#include "compiler/partition/cost_model.h"
#include "compiler/partition/partition.h"
#include "compiler/schedule/schedule.h"
#include "compiler/variants/candidate.h"
#include "llvm/ADT/STLExtras.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

PartitionOptions strategy(const char* name) {
  PartitionOptions options;
  options.strategy = name;
  return options;
}

Schedule schedule_of(const ir::Graph& graph, const DeviceProfile& profile,
                     const PartitionOptions& options) {
  const LatencyPredictor predictor(profile);
  const PartitionPlan plan = test::value_of(partition(graph, predictor, options));
  return test::value_of(make_schedule(graph, plan, predictor, "test"));
}

TEST_CASE("halves are taken wherever kernels are, but not in the application's memory") {
  ir::Graph graph = test::three_convs();
  graph.set_precision(Precision::Fp16);
  const auto sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const char* const name = GENERATE("cpu", "gpu", "gpu-image", "gpu-buffer", "mulayer", "codl");
  CAPTURE(sharing, layout, name);
  const Schedule schedule = schedule_of(graph, test::test_profile(sharing, layout), strategy(name));
  for (const Tensor& tensor : schedule.tensors) {
    CAPTURE(tensor.name);
    if (tensor.storage == Storage::Weights) continue;
    const bool is_applications =
        tensor.storage == Storage::Input || tensor.storage == Storage::Output;
    CHECK((tensor.shape.dtype == DType::F32) == is_applications);
  }
  if (std::string(name) != "cpu") return;
  CHECK(schedule.blobs.size() == 6);
  for (const Blob& blob : schedule.blobs)
    CHECK((blob.packing.dtype == DType::F16) == (blob.packing.kind != PackingKind::Bias));
}

TEST_CASE("a node has floats where one of its values needs them, and converts for its neighbours") {
  ir::Graph graph = test::three_convs();
  graph.set_precision(Precision::Fp16);
  for (ir::ValueId value = 0; value < graph.values().size(); ++value)
    if (graph.value(value).name == "b_out") graph.value(value).precision = Precision::Fp32;
  const auto layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const char* const name = GENERATE("cpu", "gpu", "mulayer");
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm, layout);
  const Schedule schedule = schedule_of(graph, profile, strategy(name));
  size_t halves = 0;
  for (const Step& step : schedule.steps) {
    CAPTURE(step.name);
    const DType dtype = schedule.tensors[step.operands.back()].shape.dtype;
    if (step.name == "a") CHECK(dtype == DType::F16);
    if (step.name == "b" || step.name == "c") CHECK(dtype == DType::F32);
    halves += dtype == DType::F16;
  }
  CHECK(halves > 0);
  CHECK(test::error_of(check_races(graph, schedule)) == "");
  CHECK(llvm::all_of(graph.nodes(), [&](const ir::Node& node) {
    const bool touches_b = node.name == "b" || node.name == "c";
    return !touches_b || precision_of(ir::NodeView{graph, node}) == Precision::Fp32;
  }));
}

TEST_CASE("a chain's conversions count on the processor that makes them") {
  ir::Graph graph = test::three_convs();
  graph.set_precision(Precision::Auto);
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile);
  const CostModel costs(graph, predictor);
  const auto as_halves = costs.split(1, 2, SplitDim::Height, 0.5, {kHalfBuffers, kHalfBuffers});
  REQUIRE(as_halves.has_value());
  ir::Graph mixed = graph;
  mixed.value(graph.node(2).output).precision = Precision::Fp32;  // so that its reader converts
  const CostModel mixed_costs(mixed, predictor);
  const auto converted =
      mixed_costs.split(1, 2, SplitDim::Height, 0.5, {kHalfBuffers, kHalfBuffers});
  REQUIRE(converted.has_value());
  for (Processor processor : kProcessors)
    CHECK(converted->node_partitions[1].part_on(processor)->form == kBuffers);
  CHECK(converted->compute_us > as_halves->compute_us);
}

TEST_CASE("a search that chooses is no slower than in floats alone and in halves alone",
          "[search]") {
  ir::Graph graph = test::three_convs();
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm, Layout::Image2d);
  const LatencyPredictor predictor(profile);
  PartitionOptions options = strategy(GENERATE("optimal", "cpu", "gpu", "segments"));
  options.search_budget = 500;
  const auto us_in = [&](Precision precision) {
    graph.set_precision(precision);
    const Candidate made = test::value_of(make_candidate(graph, predictor, options));
    CHECK(made.evaluations <= options.search_budget);
    return made.schedule.predicted_us;
  };
  const double least_us = std::min(us_in(Precision::Fp32), us_in(Precision::Fp16));
  CHECK(us_in(Precision::Auto) <= least_us);
}

TEST_CASE("packings may leave a node one type alone, whatever is asked for") {
  ir::Graph graph = test::three_convs();
  graph.set_precision(Precision::Auto);
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const auto precision = GENERATE(Precision::Fp32, Precision::Fp16, Precision::Auto);
  const DType dtype = GENERATE(DType::F32, DType::F16);
  PartitionOptions options = strategy("cpu");
  options.auto_as = precision;
  options.packings.assign(graph.nodes().size(), bit_of(Packing{PackingKind::None}) |
                                                    bit_of({PackingKind::ConvPanels, dtype}));
  const PartitionPlan plan = test::value_of(partition(graph, LatencyPredictor(profile), options));
  for (const NodePartition& node_partition : plan.node_partitions)
    if (graph.node(node_partition.node).op == OpKind::Conv2d)
      CHECK(node_partition.parts.front().form.dtype == dtype);
}

TEST_CASE("values of no choice leave none to the nodes and to the graph") {
  ir::Graph graph = test::three_convs();
  CHECK(precision_of(graph) == Precision::Fp32);
  graph.value(graph.node(1).output).precision = Precision::Auto;
  CHECK(precision_of(graph) == Precision::Auto);
  // Its operand has floats.
  CHECK(precision_of(ir::NodeView{graph, graph.node(1)}) == Precision::Fp32);
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm, Layout::Image2d);
  CHECK(map_forms({graph, graph.node(1)}, Processor::Gpu, profile) == FormList{kImages, kBuffers});
  graph.set_precision(Precision::Fp16);
  const DeviceProfile buffers = test::test_profile(Sharing::FineSvm);
  CHECK(map_forms({graph, graph.node(1)}, Processor::Gpu, buffers) ==
        FormList{kHalfBuffers, kBuffers});
}

}  // namespace
}  // namespace codl::compiler
