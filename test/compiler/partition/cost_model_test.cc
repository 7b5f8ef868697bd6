// Compares the costs of segments with the schedule's.
#include "compiler/partition/cost_model.h"

#include <random>

#include "compiler/partition/split_geometry.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/simulate.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

// Places a node at random: on one processor, or on both.
Segment random_segment(const CostModel& costs, std::mt19937& random, ir::NodeId node) {
  const double share = static_cast<double>(random() % 8 + 1) / 9;
  const FormPair forms = costs.form_pairs()[random() % costs.form_pairs().size()];
  std::optional<Segment> segment;
  switch (random() % 4) {
    case 0:
      segment = costs.whole(node, Processor::Gpu, forms[index_of(Processor::Gpu)]);
      break;
    case 1:
      segment = costs.split(node, node, SplitDim::OutputChannel, share, forms);
      break;
    case 2:
      segment = costs.split(node, node, SplitDim::Height, share, forms);
      break;
    default:
      break;
  }
  return segment ? std::move(*segment) : *costs.whole(node, Processor::Cpu);
}

// True if the processor's part of `reader` reads an element of its operand 0 that its part of
// `maker` does not make. Checks element by element.
bool misses_some(const ir::Graph& graph, const NodePartition& maker, const NodePartition& reader,
                 Processor processor) {
  const Part* reads = reader.part_on(processor);
  if (reads == nullptr) return false;
  const ir::NodeView view{graph, graph.node(reader.node)};
  const Region read = read_region(view, 0, reader.dim, reads->computed);
  const Part* makes = maker.part_on(processor);
  const Region made = makes != nullptr ? slab(view.input(0), maker.dim, makes->computed) : Region{};
  for (int32_t row = read.rows.begin; row < read.rows.end; ++row)
    for (int32_t channel = read.channels.begin; channel < read.channels.end; ++channel)
      if (!made.rows.contains({row, row + 1}) || !made.channels.contains({channel, channel + 1}))
        return true;
  return false;
}

// Returns the scheduled time of the value between two nodes: its steps, and a synchronisation in
// each direction in which something is missing.
double scheduled_us(const ir::Graph& graph, const PartitionPlan& plan, ir::NodeId maker,
                    const LatencyPredictor& predictor) {
  Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
  CHECK(test::error_of(predict(schedule, predictor.profile())) == "");
  double us = 0;
  for (StepId id = 0; id < schedule.steps.size(); ++id)
    if (schedule.nodes[id] == ir::kNoId &&
        schedule.values[schedule.steps[id].operands[0]] == graph.node(maker).output)
      us += schedule.steps[id].predicted_us;
  for (Processor processor : {Processor::Cpu, Processor::Gpu})
    if (misses_some(graph, plan.node_partitions[maker], plan.node_partitions[maker + 1], processor))
      us += predictor.transfer().sync_us.value;
  return us;
}

TEST_CASE("what a value's transfer costs is what the schedule moves, wherever both nodes are") {
  const Sharing sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const Layout layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  DeviceProfile profile = test::test_profile(sharing, layout);
  profile.transfer.map_us.value = 11;
  profile.transfer.map_us_per_mb.value = 1000;
  profile.transfer.copy_us_per_mb.value = 700;
  profile.launch_us.value = 3;
  for (const KernelInfo& kernel : kKernelInfos)
    if (kernel.op == OpKind::Convert) profile.kernels[kernel.id - 1].shares[Term::Written] = 1;
  std::mt19937 random(20261127);
  for (int32_t turn = 0; turn < 50; ++turn) {
    test::GraphBuilder builder(32, 12, 12);
    const auto conv = [&](const char* name, ir::ValueId of) {
      return builder.conv(name, of, 64, random() % 2 == 0 ? 1 : 3, 1 + random() % 2);
    };
    const ir::ValueId made = conv("maker", conv("first", builder.input()));
    ir::Graph graph = builder.finish(conv("reader", made));
    graph.set_precision(turn % 2 == 0 ? ir::Precision::Fp32 : ir::Precision::Auto);
    const ir::NodeId maker = graph.value(made).producer;
    const LatencyPredictor predictor(profile, 0);
    const CostModel costs(graph, predictor);
    PartitionPlan plan;
    std::vector<Segment> segments;
    for (ir::NodeId node = 0; node < graph.nodes().size(); ++node) {
      segments.push_back(node == maker || node == maker + 1 ? random_segment(costs, random, node)
                                                            : *costs.whole(node, Processor::Cpu));
      append_segment(plan, segments.back());
    }
    const double us = costs.transfer_us(segments[maker].output, segments[maker + 1]);
    CAPTURE(turn, segments[maker].output.assignment, segments[maker + 1].output.assignment,
            bits_of(segments[maker].output.forms[1]), bits_of(segments[maker + 1].output.forms[1]));
    // Times of steps are whole nanoseconds.
    CHECK(us == Approx(scheduled_us(graph, plan, maker, predictor)).margin(0.01));
  }
}

}  // namespace
}  // namespace codl::compiler
