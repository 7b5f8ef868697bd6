// Compares the times that a search asks for with those of whole schedules.
#include "compiler/simulate/timing/plan_times.h"

#include <cstdlib>
#include <random>

#include "compiler/partition/cost_model.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/partition/value_tensors.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/timing/simulate.h"
#include "test/support/catch.h"
#include "test/support/expected.h"
#include "test/support/graphs.h"

namespace codl::compiler {
namespace {

double whole_us(const ir::Graph& graph, const PartitionPlan& plan,
                const LatencyPredictor& predictor) {
  Schedule schedule = test::value_of(make_schedule(graph, plan, predictor, "test"));
  CHECK(test::error_of(predict(schedule, predictor.profile())) == "");
  return schedule.predicted_us;
}

// Makes a line with branches and sums, with maps of 12 rows.
ir::Graph branchy_graph(std::mt19937& random, int32_t count) {
  test::GraphBuilder builder(16, 12, 12);
  std::vector<ir::ValueId> values = {builder.conv("first", builder.input(), 32, 1)};
  for (int32_t i = 0; i < count; ++i) {
    const ir::ValueId near =
        values[values.size() - 1 - random() % std::min<size_t>(values.size(), 3)];
    const std::string name = "n" + std::to_string(i);
    values.push_back(random() % 3 == 0 ? builder.add(name, near, values[random() % values.size()])
                                       : builder.conv(name, near, 32, random() % 2 == 0 ? 1 : 3));
  }
  ir::ValueId last = values[0];
  for (size_t i = 1; i < values.size(); ++i)
    last = builder.add("join" + std::to_string(i), last, values[i]);
  return builder.finish(last);
}

// Draws which parts compute the rows at the cut first.
void draw_boundaries(std::mt19937& random, Segment& segment) {
  for (NodePartition& node_partition : segment.node_partitions)
    for (Part& part : node_partition.parts)
      part.boundary_first = node_partition.dim == SplitDim::Height && random() % 2 == 0;
}

// Counts nodes that a queue computes in two steps, because the rows at the cut come first.
size_t count_boundaries(const ir::Graph& graph, const PartitionPlan& plan,
                        const DeviceProfile& profile) {
  const TensorPlacer placer(graph, profile);
  size_t count = 0;
  for (const ir::Node& node : graph.nodes())
    for (const Region& boundary :
         placer.place(node.output, placer.use_of(plan, node.output)).boundary)
      count += !boundary.empty();
  return count;
}

// Places nodes [first, last] at random.
std::vector<Segment> random_segments(const CostModel& costs, std::mt19937& random, ir::NodeId first,
                                     ir::NodeId last) {
  std::vector<Segment> segments;
  while (first <= last) {
    std::optional<Segment> segment;
    ir::NodeId end = first;
    // A node often uses its neighbours' cut, so that rows at the cut are handed over.
    const double share = random() % 2 == 0 ? 0.5 : static_cast<double>(random() % 8 + 1) / 9;
    const FormPair forms =
        costs.form_pairs()[random() % 3 == 0 ? random() % costs.form_pairs().size() : 0];
    switch (random() % 6) {
      case 0:
        segment = costs.whole(first, Processor::Gpu, forms[index_of(Processor::Gpu)]);
        break;
      case 1:
        segment = costs.split(first, first, SplitDim::OutputChannel, share, forms);
        break;
      case 2:
      case 3:
      case 4:
        end = std::min<ir::NodeId>(last, first + (random() % 2 == 0 ? 0 : random() % 4));
        segment = costs.split(first, end, SplitDim::Height, share, forms);
        break;
      default:
        break;
    }
    if (!segment) {
      segment = costs.whole(first, Processor::Cpu);
      end = first;
    }
    draw_boundaries(random, *segment);
    segments.push_back(std::move(*segment));
    first = end + 1;
  }
  return segments;
}

PartitionPlan plan_of(const std::vector<Segment>& segments) {
  PartitionPlan plan;
  for (const Segment& segment : segments) append_segment(plan, segment);
  return plan;
}

// Every number of the host's counts in a plan's time.
HostCosts host_costs(bool download_call_waits) {
  HostCosts host;
  double us = 0.3;
  for (Quantity* quantity :
       {&host.enqueue_us, &host.submit_us, &host.start_us, &host.wake_us, &host.cpu_resume_us,
        &host.cpu_cold_us_per_mb, &host.gpu_cold_us_per_mb, &host.queue_us})
    quantity->value = us += 0.7;
  host.download_call_waits = download_call_waits;
  return host;
}

// Compares times of plans that differ little, as PlanTimes and as schedules have them. Returns the
// number of parts whose boundary is computed first. `graph_count` says how many random graphs there
// are.
size_t check_times(const DeviceProfile& profile, int32_t graph_count) {
  std::mt19937 random(20261126);
  size_t boundaries = 0;
  for (int32_t graphs = 0; graphs < graph_count; ++graphs) {
    ir::Graph graph = branchy_graph(random, 12);
    graph.set_precision(graphs % 2 == 0 ? Precision::Fp32 : Precision::Auto);
    const auto count = static_cast<ir::NodeId>(graph.nodes().size());
    const LatencyPredictor predictor(profile, 0);
    const CostModel costs(graph, predictor);
    PlanTimes times(graph, predictor);
    std::vector<Segment> segments = random_segments(costs, random, 0, count - 1);
    std::vector<std::vector<Segment>> seen;
    for (int32_t turn = 0; turn < 60; ++turn) {
      const PartitionPlan plan = plan_of(segments);
      CAPTURE(graphs, turn);
      CHECK(test::value_of(times.time_us(plan)) == whole_us(graph, plan, predictor));
      boundaries += count_boundaries(graph, plan, profile);
      // Some segments move elsewhere; at times all of them; now and then the plan stays the same,
      // or returns to an earlier one, or only computes other rows first.
      seen.push_back(segments);
      if (turn % 5 == 4) {
        draw_boundaries(random, segments[random() % segments.size()]);
        continue;
      }
      if (turn % 7 == 3) continue;
      if (turn % 3 == 2) {
        segments = seen[seen.size() - 1 - random() % std::min<size_t>(seen.size(), 6)];
        continue;
      }
      const size_t at = random() % segments.size();
      const size_t many = turn % 20 == 19 ? segments.size() - at : 1 + random() % 3;
      const size_t end = std::min(at + many, segments.size());
      const ir::NodeId first = segments[at].node_partitions.front().node;
      const ir::NodeId last = segments[end - 1].node_partitions.back().node;
      const std::vector<Segment> changed = random_segments(costs, random, first, last);
      segments.erase(segments.begin() + static_cast<ptrdiff_t>(at),
                     segments.begin() + static_cast<ptrdiff_t>(end));
      segments.insert(segments.begin() + static_cast<ptrdiff_t>(at), changed.begin(),
                      changed.end());
    }
  }
  return boundaries;
}

DeviceProfile profile_of(Sharing sharing, Layout layout) {
  DeviceProfile profile = test::test_profile(sharing, layout);
  profile.transfer.sync_us.value = 3;
  profile.transfer.contention_percent[0].value = 7;
  profile.transfer.contention_percent[1].value = 4;
  profile.interference_percent[0].value = 2;
  return profile;
}

TEST_CASE("a plan that differs from the one before takes exactly what its schedule does") {
  const Sharing sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const Layout layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  const DeviceProfile profile = profile_of(sharing, layout);
#ifdef CODL_SLOW_RUN
  // Two graphs, one of each precision, run the same code; nightly.sh has them all with sanitizers.
  if (std::getenv("CODL_ALL_CASES") == nullptr) {
    CHECK(check_times(profile, 2) > 30);
    return;
  }
#endif
  CHECK(check_times(profile, 8) > 150);
}

TEST_CASE("a plan takes exactly what its schedule does where the host's calls have a time") {
  const Sharing sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer, Sharing::Separate);
  const Layout layout = GENERATE(Layout::Nhwc, Layout::Image2d);
  DeviceProfile profile = profile_of(sharing, layout);
  profile.gate = sharing == Sharing::SubBuffer ? Gate::UserEvent : Gate::HostEnqueue;
  profile.transfer.host = host_costs(layout == Layout::Nhwc);
  check_times(profile, 2);
}

TEST_CASE(
    "a plan takes exactly what its schedule does where waits are by flag, in either direction") {
  const Sharing sharing = GENERATE(Sharing::FineSvm, Sharing::SubBuffer);
  const bool has_host = GENERATE(false, true);
  const bool has_slow_one = GENERATE(false, true);
  DeviceProfile profile = profile_of(sharing, Layout::Nhwc);
  if (has_host) profile.transfer.host = host_costs(false);
  profile.transfer.flags = {{0.4, Origin::Assumed, ""},
                            {has_slow_one ? 100.0 : 0.6, Origin::Assumed, ""}};
  check_times(profile, 2);
}

TEST_CASE("a plan takes exactly what its schedule does where caches keep the weights of some") {
  DeviceProfile profile = profile_of(Sharing::FineSvm, Layout::Nhwc);
  // Winograd's filters are four times as large: plans with few of them have less than this.
  profile.warm_weight_mbytes[0].value = 0.9;
  profile.warm_weight_mbytes[1].value = 1.1;
  check_times(profile, 4);
}

}  // namespace
}  // namespace codl::compiler
