#include "compiler/variants/precision_choices.h"

#include <cmath>

#include "compiler/device/latency_predictor.h"
#include "compiler/passes/pass_order.h"
#include "compiler/shrink/shrink.h"
#include "test/compiler/accuracy/calibration_folder.h"
#include "test/compiler/shrink/shrink_graphs.h"
#include "test/support/catch.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

using test::RandomGraph;
using test::value_of;

// Adds 1000, where halves are 0.5 apart, and takes it off again, between products.
struct RoundedInTheMiddle {
  RandomGraph r{3};
  ir::ValueId first, raised, lowered, last;
  test::Folder folder;

  RoundedInTheMiddle() {
    first = r.matmul(r.input({1, 8}), 8);
    const ir::ValueId thousand = r.constant({1}, {1000.0f});
    raised = r.binary(kBinaryAdd, first, thousand);
    lowered = r.binary(kBinarySub, raised, thousand);
    last = r.matmul(lowered, 8);
    r.graph.set_outputs({r.matmul(last, 8)});
    r.graph.name = "rounded";
    folder.write("x.npy", {16, 8}, r.floats(16 * 8));
  }
  Precision precision(ir::ValueId value) const { return r.graph.value(value).precision; }
};

}  // namespace

TEST_CASE("auto keeps in float what would lose more than the budget") {
  RoundedInTheMiddle net;
  const HalvesJudge judge =
      value_of(HalvesJudge::make(net.r.graph, net.r.graph, net.folder.path, 0.005));
  ir::Graph halves = net.r.graph;
  CHECK(value_of(judge.allow(halves, Precision::Fp16)).floats.empty());
  CHECK(value_of(judge.loss_of(halves))->loss() > 0.01);

  const AllowedForms allowed = value_of(judge.allow(net.r.graph, Precision::Auto));
  REQUIRE(allowed.floats.size() == 1);
  CHECK(allowed.floats[0].node == net.r.graph.value(net.raised).name);
  CHECK(allowed.floats[0].reason == "with it in halves, more would be lost than --accuracy-budget");
  for (ir::ValueId value : {net.first, net.lowered, net.last})
    CHECK(net.precision(value) == Precision::Auto);
  CHECK(net.precision(net.raised) == Precision::Fp32);
  CHECK(value_of(judge.loss_of(net.r.graph))->loss() < 0.005);
}

TEST_CASE("without calibration data nobody knows what halves lose") {
  RoundedInTheMiddle net;
  const HalvesJudge judge = value_of(HalvesJudge::make(net.r.graph, net.r.graph, "", 0.005));
  CHECK(value_of(judge.allow(net.r.graph, Precision::Auto)).floats.empty());
  CHECK_FALSE(value_of(judge.loss_of(net.r.graph)).has_value());
}

TEST_CASE("precisions are compared by what plans take, hold and lose") {
  RandomGraph net(2);
  const ir::ValueId a = net.conv(net.input({1, 16, 16, 16}), 32, 3);
  const ir::ValueId b = net.conv(a, 32, 3, 1, a);
  net.graph.set_outputs({net.conv(b, 32, 1)});
  const ir::Graph& plain = net.graph;
  test::Folder folder;
  RandomGraph r(1);
  folder.write("x.npy", {16, 16, 16, 16}, r.floats(16 * 16 * 16 * 16));
  ir::Graph graph = plain, in_bytes = value_of(all_in_bytes(plain, folder.path));
  for (ir::Graph* network : {&graph, &in_bytes})
    REQUIRE(test::error_of(run_passes(*network, layout_passes(), {})) == "");
  const DeviceProfile profile = test::test_profile(Sharing::FineSvm);
  const LatencyPredictor predictor(profile, 1);
  const HalvesJudge judge = value_of(HalvesJudge::make(graph, graph, folder.path, 0.005));
  PlanFigures figures;
  figures.predicted_us = 12345;
  figures.weight_bytes = 678;
  ShrinkOptions options;
  options.calibration = folder.path;
  const auto choices =
      value_of(compare_precisions(graph, judge, false, in_bytes, predictor, PartitionOptions(),
                                  options, kAskedPrecisions[0], figures));
  REQUIRE(choices.size() == std::size(kAskedPrecisions));
  CHECK(choices[0].is_chosen);
  CHECK(choices[0].predicted_us == 12345);
  CHECK(choices[0].weight_bytes == 678);
  CHECK_FALSE(choices[0].deviation.has_value());
  CHECK_FALSE(choices[1].is_chosen);
  CHECK(std::string(choices[1].name) == "fp16");
  CHECK(choices[1].predicted_us < 12345);
  CHECK(choices[1].weight_bytes > 678);
  REQUIRE(choices[1].deviation.has_value());
  CHECK(choices[1].deviation->samples == 8);
}

}  // namespace codl::compiler
