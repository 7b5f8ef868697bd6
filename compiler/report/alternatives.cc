#include "compiler/report/alternatives.h"

#include <algorithm>
#include <cmath>

#include "compiler/partition/cost_model.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/schedule/schedule.h"
#include "compiler/simulate/simulate.h"
#include "compiler/support/error.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// Of a whole plan, in microseconds.
struct Cost {
  double total = 0;
  double slower_processor = 0;  // of kernels of nodes
  double transfers = 0;
  double synchronisations = 0;
};

llvm::Expected<Cost> cost_of(const ir::Graph& graph, const PartitionPlan& plan,
                             const LatencyPredictor& predictor) {
  CODL_ASSIGN_OR_RETURN(schedule, make_schedule(graph, plan, predictor, ""));
  if (llvm::Error error = predict(schedule, predictor.profile())) return error;
  Cost cost;
  cost.total = schedule.predicted_us;
  double queue_us[kQueueCount] = {};
  for (StepId id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    if (schedule.nodes[id] == ir::kNoId)
      cost.transfers += step.predicted_us;
    else
      queue_us[static_cast<size_t>(step.queue)] += step.predicted_us;
    if (!step.waits.empty())
      cost.synchronisations += predictor.transfer().synchronisation_us(0, step.queue != Queue::Cpu);
  }
  cost.slower_processor = *std::max_element(std::begin(queue_us), std::end(queue_us));
  return cost;
}

// What most of the difference comes from.
std::string reason(const Cost& chosen, const Cost& other) {
  const std::pair<double, const char*> parts[] = {
      {other.slower_processor - chosen.slower_processor, "balance"},
      {other.transfers - chosen.transfers, "transfer"},
      {other.synchronisations - chosen.synchronisations, "synchronisation"}};
  const double sign = other.total < chosen.total ? -1 : 1;
  const auto* most = std::max_element(
      std::begin(parts), std::end(parts),
      [&](const auto& a, const auto& b) { return sign * a.first < sign * b.first; });
  return llvm::formatv("{0} {1}{2:f1} us", most->second, most->first < 0 ? "-" : "+",
                       std::abs(most->first));
}

std::string describe(const NodePartition& node_partition) {
  std::string text;
  for (const Part& part : node_partition.parts)
    text += llvm::formatv("{0}{1} {2}", text.empty() ? "" : ", ",
                          part.processor == Processor::Gpu ? "gpu" : "cpu", part.kernel->symbol);
  if (node_partition.is_split()) {
    const double gpu = node_partition.part_on(Processor::Gpu)->owned.count();
    const double all = gpu + node_partition.part_on(Processor::Cpu)->owned.count();
    text += llvm::formatv(", {0}, {1:f0} % on the GPU",
                          node_partition.dim == SplitDim::Height ? "rows" : "channels",
                          100 * gpu / all);
  }
  if (node_partition.chain >= 0) text += ", in a chain";
  return text;
}

class Alternatives {
 public:
  Alternatives(const ir::Graph& graph, const PartitionPlan& plan, const LatencyPredictor& predictor)
      : costs_(graph, predictor), plan_(plan) {}

  // Each with the node_partition of the node in it.
  std::vector<PartitionPlan> of(ir::NodeId node) const {
    std::vector<PartitionPlan> plans;
    const auto offer = [&](const std::optional<Segment>& segment) {
      if (!segment) return;
      PartitionPlan plan = with(node, *segment);
      const auto is_same = [&](const PartitionPlan& other) {
        return are_same(other.node_partitions[node], plan.node_partitions[node]);
      };
      if (!is_same(plan_) && !llvm::any_of(plans, is_same)) plans.push_back(std::move(plan));
    };
    offer(costs_.whole(node, Processor::Cpu));
    for (Layout maps : costs_.gpu_maps()) offer(costs_.whole(node, Processor::Gpu, maps));
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
      for (Layout maps : costs_.gpu_maps())
        if (const auto share = costs_.balanced_ratio(node, node, maps))
          offer(costs_.split(node, node, dim, *share, maps));
    return plans;
  }

 private:
  static bool are_same(const NodePartition& a, const NodePartition& b) {
    if (a.parts.size() != b.parts.size() || a.dim != b.dim || a.chain >= 0 || b.chain >= 0)
      return false;
    for (size_t i = 0; i < a.parts.size(); ++i)
      if (a.parts[i].kernel != b.parts[i].kernel || !(a.parts[i].owned == b.parts[i].owned))
        return false;
    return true;
  }

  // The plan with the node so, and what is left of its chain in two.
  PartitionPlan with(ir::NodeId node, const Segment& segment) const {
    PartitionPlan plan;
    for (ir::NodeId first = 0; first < plan_.node_partitions.size();) {
      const ir::NodeId last = last_of_segment(plan_, first);
      if (node < first || node > last) {
        append_segment(plan, copied(first, last));
      } else {
        if (first < node) append_rest(plan, first, node - 1);
        append_segment(plan, segment);
        if (node < last) append_rest(plan, node + 1, last);
      }
      first = last + 1;
    }
    return plan;
  }

  Segment copied(ir::NodeId first, ir::NodeId last) const {
    Segment segment;
    for (ir::NodeId node = first; node <= last; ++node) {
      segment.node_partitions.push_back(plan_.node_partitions[node]);
      segment.node_partitions.back().chain = -1;
    }
    return segment;
  }

  // Nodes of a chain that is cut: cut at the same share, in one piece if they hang together.
  void append_rest(PartitionPlan& plan, ir::NodeId first, ir::NodeId last) const {
    const Part* gpu = plan_.node_partitions[first].part_on(Processor::Gpu);
    const double rows = gpu->owned.count();
    const double all = rows + plan_.node_partitions[first].part_on(Processor::Cpu)->owned.count();
    if (auto rest = costs_.split(first, last, SplitDim::Height, rows / all, gpu->maps)) {
      append_segment(plan, std::move(*rest));
      return;
    }
    for (ir::NodeId node = first; node <= last; ++node)
      append_segment(plan, *costs_.split(node, node, SplitDim::Height, rows / all, gpu->maps));
  }

  const CostModel costs_;
  const PartitionPlan& plan_;
};

}  // namespace

llvm::Expected<std::string> explain_alternatives(const ir::Graph& graph, const PartitionPlan& plan,
                                                 const LatencyPredictor& predictor,
                                                 llvm::StringRef node) {
  const auto found =
      llvm::find_if(graph.nodes(), [&](const ir::Node& of) { return of.name == node; });
  if (found == graph.nodes().end()) return "";
  const auto id = static_cast<ir::NodeId>(found - graph.nodes().begin());
  CODL_ASSIGN_OR_RETURN(chosen, cost_of(graph, plan, predictor));
  std::string text = llvm::formatv(
      "alternatives for the node, of the whole plan:\n  chosen       {0,9:f2} ms  {1}\n",
      chosen.total / 1e3, describe(plan.node_partitions[id]));
  for (const PartitionPlan& other : Alternatives(graph, plan, predictor).of(id)) {
    CODL_ASSIGN_OR_RETURN(cost, cost_of(graph, other, predictor));
    text +=
        llvm::formatv("  {0}{1,11:f1} us {2,8:f2} ms  {3}: {4}\n",
                      cost.total < chosen.total ? "-" : "+", std::abs(cost.total - chosen.total),
                      cost.total / 1e3, describe(other.node_partitions[id]), reason(chosen, cost));
  }
  return text;
}

}  // namespace codl::compiler
