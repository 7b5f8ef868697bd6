#include "compiler/report/alternatives.h"

#include <algorithm>
#include <cmath>

#include "compiler/partition/cost_model.h"
#include "compiler/partition/split_geometry.h"
#include "compiler/partition/strategies/strategy.h"
#include "compiler/partition/value_tensors.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/error.h"
#include "llvm/Support/FormatVariadic.h"

namespace codl::compiler {
namespace {

// Holds the costs of a whole plan, in microseconds.
struct Cost {
  double total = 0;
  double slower_processor = 0;  // kernels of nodes
  double transfers = 0;
  double synchronisations = 0;
  // Returns the rest: the slower processor is idle, less whatever runs beside it.
  double waiting() const { return total - slower_processor - transfers - synchronisations; }
};

Cost cost_of(const Schedule& schedule, const TransferCosts& transfer) {
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
      cost.synchronisations += transfer.synchronisation_us(0, step.queue != Queue::Cpu);
  }
  cost.slower_processor = *std::max_element(std::begin(queue_us), std::end(queue_us));
  return cost;
}

// Returns the cost that makes most of the difference.
std::string reason(const Cost& chosen, const Cost& other) {
  const std::pair<double, const char*> parts[] = {
      {other.slower_processor - chosen.slower_processor, "balance"},
      {other.transfers - chosen.transfers, "transfer"},
      {other.synchronisations - chosen.synchronisations, "synchronisation"}};
  const double sign = other.total < chosen.total ? -1 : 1;
  auto most = *std::max_element(
      std::begin(parts), std::end(parts),
      [&](const auto& a, const auto& b) { return sign * a.first < sign * b.first; });
  // There is as much work, but more or less of it beside other work.
  if (2 * sign * most.first < std::abs(other.total - chosen.total))
    most = {other.waiting() - chosen.waiting(), "waiting"};
  return llvm::formatv("{0} {1}{2:f4} ms", most.second, most.first < 0 ? "-" : "+",
                       std::abs(most.first) / 1e3);
}

// Counts the rows that both processors compute.
int32_t rows_computed_twice(const NodePartition& node_partition) {
  int32_t rows = 0;
  for (const Part& part : node_partition.parts) rows += part.computed.count() - part.owned.count();
  return rows;
}

using Boundaries = std::array<Region, 2>;  // indexed by processor

// Returns the rows of the node that each processor computes first and hands over while it computes
// the rest.
Boundaries boundaries_of(const ir::Graph& graph, const TensorPlacer& placer,
                         const PartitionPlan& plan, ir::NodeId node) {
  const ir::ValueId value = graph.node(node).output;
  return placer.place(value, placer.use_of(plan, value)).boundary;
}

// Says how a part of the node, split along rows, gets rows of a node split so, too, that its own
// processor has not computed; "" where there are none.
std::string halo_text(const ir::Graph& graph, const TensorPlacer& placer, const PartitionPlan& plan,
                      ir::NodeId node) {
  const NodePartition& reader = plan.node_partitions[node];
  const ir::NodeView view{graph, graph.node(node)};
  if (!reader.is_split() || reader.dim != SplitDim::Height) return "";
  bool is_handed_over = false;
  for (uint32_t operand = 0; operand < view.input_count(); ++operand) {
    const ir::NodeId producer = view.input_value(operand).producer;
    if (producer == ir::kNoId) continue;
    const NodePartition& maker = plan.node_partitions[producer];
    if (!maker.is_split() || maker.dim != SplitDim::Height) continue;
    for (const Part& part : reader.parts) {
      if (maker.part_on(part.processor)
              ->computed.contains(read_region(view, operand, reader.dim, part.computed).rows))
        continue;
      const Processor other = other_of(part.processor);
      if (boundaries_of(graph, placer, plan, producer)[index_of(other)].empty())
        return ", halo transferred";
      is_handed_over = true;
    }
  }
  return is_handed_over ? ", halo handed over" : "";
}

// Returns text like ", boundary first: gpu rows [12, 14), cpu rows [14, 16)".
std::string boundary_text(const Boundaries& boundaries) {
  std::string text;
  for (Processor processor : {Processor::Gpu, Processor::Cpu})
    if (const Range rows = boundaries[index_of(processor)].rows; !rows.empty())
      text += llvm::formatv("{0} {1} rows [{2}, {3})", text.empty() ? ", boundary first:" : ",",
                            processor == Processor::Gpu ? "gpu" : "cpu", rows.begin, rows.end);
  return text;
}

std::string describe(const ir::Graph& graph, const TensorPlacer& placer, const PartitionPlan& plan,
                     ir::NodeId node) {
  const NodePartition& node_partition = plan.node_partitions[node];
  std::string text;
  for (const Part& part : node_partition.parts)
    text += llvm::formatv("{0}{1} {2}{3}", text.empty() ? "" : ", ",
                          part.processor == Processor::Gpu ? "gpu" : "cpu", part.kernel->symbol,
                          part.form.dtype == DType::F16 ? " in halves" : "");
  if (node_partition.is_split()) {
    const double gpu = node_partition.part_on(Processor::Gpu)->owned.count();
    const double all = gpu + node_partition.part_on(Processor::Cpu)->owned.count();
    text += llvm::formatv(", {0}, {1:f0} % on the GPU",
                          node_partition.dim == SplitDim::Height ? "rows" : "channels",
                          100 * gpu / all);
  }
  text += halo_text(graph, placer, plan, node);
  text += boundary_text(boundaries_of(graph, placer, plan, node));
  if (node_partition.chain < 0) return text;
  text += llvm::formatv(", in a chain of {0} nodes",
                        plan.chains[static_cast<size_t>(node_partition.chain)].nodes.size());
  if (const int32_t rows = rows_computed_twice(node_partition))
    text += llvm::formatv(", {0} rows computed twice", rows);
  return text;
}

class Alternatives {
 public:
  Alternatives(const ir::Graph& graph, const TensorPlacer& placer, const PartitionPlan& plan,
               const LatencyPredictor& predictor)
      : graph_(graph), placer_(placer), costs_(graph, predictor), plan_(plan) {}

  // Returns each, with the node's node_partition in it.
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
    for (Processor processor : kProcessors)
      for (Form form : costs_.forms_on(processor)) offer(costs_.whole(node, processor, form));
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
      for (const FormPair& forms : costs_.form_pairs())
        if (const auto share = costs_.balanced_ratio(node, node, forms))
          offer(costs_.split(node, node, dim, *share, forms));
    if (auto plan = with_halo_transferred(node)) plans.push_back(std::move(*plan));
    if (auto plan = with_halo_computed(node)) plans.push_back(std::move(*plan));
    add_boundaries(node, plans);
    return plans;
  }

 private:
  static bool are_same(const NodePartition& a, const NodePartition& b) {
    if (a.parts.size() != b.parts.size() || a.dim != b.dim || a.chain >= 0 || b.chain >= 0)
      return false;
    for (size_t i = 0; i < a.parts.size(); ++i)
      if (a.parts[i].kernel != b.parts[i].kernel || a.parts[i].form != b.parts[i].form ||
          a.parts[i].owned != b.parts[i].owned)
        return false;
    return true;
  }

  // Returns the plan with the node placed as in `segment`, and what is left of its chain in two.
  PartitionPlan with(ir::NodeId node, const Segment& segment) const {
    const ir::NodeId first = first_of_segment(node), last = last_of_segment(plan_, first);
    PartitionPlan plan;
    copy_segments(plan, 0, first);
    if (first < node) append_rest(plan, first, node - 1);
    append_segment(plan, segment);
    if (node < last) append_rest(plan, node + 1, last);
    copy_segments(plan, last + 1, node_count());
    keep_boundaries(plan);
    return plan;
  }

  // Ends the chain that the node is in before it.
  std::optional<PartitionPlan> with_halo_transferred(ir::NodeId node) const {
    const ir::NodeId first = first_of_segment(node), last = last_of_segment(plan_, first);
    if (first == node || plan_.node_partitions[node].dim != SplitDim::Height) return std::nullopt;
    PartitionPlan plan;
    copy_segments(plan, 0, first);
    append_rest(plan, first, node - 1);
    append_rest(plan, node, last);
    copy_segments(plan, last + 1, node_count());
    keep_boundaries(plan);
    return plan;
  }

  // Joins the chain that begins with the node and the one that ends before it, both split along
  // rows.
  std::optional<PartitionPlan> with_halo_computed(ir::NodeId node) const {
    const auto is_of_rows = [&](ir::NodeId of) {
      return plan_.node_partitions[of].is_split() &&
             plan_.node_partitions[of].dim == SplitDim::Height;
    };
    if (first_of_segment(node) != node || node == 0 || !is_of_rows(node) || !is_of_rows(node - 1))
      return std::nullopt;
    const ir::NodeId first = first_of_segment(node - 1), last = last_of_segment(plan_, node);
    const auto [share, forms] = cut_of(node);
    auto chain = costs_.split(first, last, SplitDim::Height, share, forms);
    if (!chain) return std::nullopt;
    PartitionPlan plan;
    copy_segments(plan, 0, first);
    append_segment(plan, std::move(*chain));
    copy_segments(plan, last + 1, node_count());
    keep_boundaries(plan);
    return plan;
  }

  // Adds plans that compute the rows at the node's cut first on no, one or both processors, where
  // they differ.
  void add_boundaries(ir::NodeId node, std::vector<PartitionPlan>& plans) const {
    if (plan_.node_partitions[node].dim != SplitDim::Height) return;
    llvm::SmallVector<Boundaries, 4> known = {boundaries_of(graph_, placer_, plan_, node)};
    for (const bool gpu : {false, true})
      for (const bool cpu : {false, true}) {
        PartitionPlan plan = plan_;
        for (Part& part : plan.node_partitions[node].parts)
          part.boundary_first = part.processor == Processor::Gpu ? gpu : cpu;
        const Boundaries boundaries = boundaries_of(graph_, placer_, plan, node);
        if (llvm::is_contained(known, boundaries)) continue;
        known.push_back(boundaries);
        plans.push_back(std::move(plan));
      }
  }

  // Whoever computes rows at a cut first still does, where a node is split along rows anew.
  void keep_boundaries(PartitionPlan& plan) const {
    for (NodePartition& node_partition : plan.node_partitions)
      for (Part& part : node_partition.parts)
        if (const Part* old = plan_.node_partitions[node_partition.node].part_on(part.processor);
            old != nullptr && node_partition.dim == SplitDim::Height)
          part.boundary_first = old->boundary_first;
  }

  ir::NodeId first_of_segment(ir::NodeId node) const {
    ir::NodeId first = 0;
    while (last_of_segment(plan_, first) < node) first = last_of_segment(plan_, first) + 1;
    return first;
  }

  ir::NodeId node_count() const { return static_cast<ir::NodeId>(plan_.node_partitions.size()); }

  // Copies nodes [first, end), where segments begin and end.
  void copy_segments(PartitionPlan& plan, ir::NodeId first, ir::NodeId end) const {
    while (first < end) {
      const ir::NodeId last = last_of_segment(plan_, first);
      append_segment(plan, copied(first, last));
      first = last + 1;
    }
  }

  Segment copied(ir::NodeId first, ir::NodeId last) const {
    Segment segment;
    for (ir::NodeId node = first; node <= last; ++node) {
      segment.node_partitions.push_back(plan_.node_partitions[node]);
      segment.node_partitions.back().chain = -1;
    }
    return segment;
  }

  // Returns the GPU's share of a split node, and the forms of its maps.
  std::pair<double, FormPair> cut_of(ir::NodeId node) const {
    const NodePartition& split = plan_.node_partitions[node];
    const double rows = split.part_on(Processor::Gpu)->owned.count();
    const double all = rows + split.part_on(Processor::Cpu)->owned.count();
    return {rows / all, forms_of(split)};
  }

  // Appends nodes of a chain that is cut: at the same share, in one piece if they hang together.
  void append_rest(PartitionPlan& plan, ir::NodeId first, ir::NodeId last) const {
    const auto [share, forms] = cut_of(first);
    const SplitDim dim = plan_.node_partitions[first].dim;
    if (auto rest = costs_.split(first, last, dim, share, forms)) {
      append_segment(plan, std::move(*rest));
      return;
    }
    for (ir::NodeId node = first; node <= last; ++node)
      append_segment(plan, *costs_.split(node, node, dim, share, forms));
  }

  const ir::Graph& graph_;
  const TensorPlacer& placer_;
  const CostModel costs_;
  const PartitionPlan& plan_;
};

}  // namespace

llvm::Expected<std::string> explain_alternatives(const ir::Graph& graph, const Candidate& chosen,
                                                 const LatencyPredictor& predictor,
                                                 const PlanLimits& limits, llvm::StringRef node) {
  const auto found =
      llvm::find_if(graph.nodes(), [&](const ir::Node& of) { return of.name == node; });
  if (found == graph.nodes().end()) return "";
  const auto id = static_cast<ir::NodeId>(found - graph.nodes().begin());
  const TensorPlacer placer(graph, predictor.profile());
  const Cost chosen_cost = cost_of(chosen.schedule, predictor.transfer());
  std::string text = llvm::formatv(
      "alternatives for the node, of the whole plan:\n  chosen        {0,11:f4} ms  {1}\n",
      chosen_cost.total / 1e3, describe(graph, placer, chosen.partition, id));
  for (PartitionPlan& plan : Alternatives(graph, placer, chosen.partition, predictor).of(id)) {
    CODL_ASSIGN_OR_RETURN(
        other, finish_candidate(graph, predictor, limits, {std::move(plan)}, chosen.schedule.name));
    const Cost cost = cost_of(other.schedule, predictor.transfer());
    text += llvm::formatv("  {0}{1,11:f4} {2,11:f4} ms  {3}: {4}\n",
                          cost.total < chosen_cost.total ? "-" : "+",
                          std::abs(cost.total - chosen_cost.total) / 1e3, cost.total / 1e3,
                          describe(graph, placer, other.partition, id), reason(chosen_cost, cost));
  }
  return text;
}

}  // namespace codl::compiler
