#include "compiler/partition/cost_model.h"

#include <algorithm>

#include "compiler/partition/split_geometry.h"
#include "kernels/kernel_table.h"

namespace codl::compiler {
namespace {

constexpr size_t index_of(Processor processor) { return static_cast<size_t>(processor); }

// The GPU lane may not touch the application's buffers (schema/plan.fbs, Storage).
bool touches_application_memory(const ir::Graph& graph, const ir::Node& node) {
  if (graph.is_output(node.output)) return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ir::ValueId input) { return graph.value(input).is_input; });
}

}  // namespace

CostModel::CostModel(const ir::Graph& graph, const LatencyPredictor& predictor)
    : graph_(graph), predictor_(predictor), known_parts_(graph.nodes().size()) {
  for (const ir::Node& node : graph.nodes()) {
    const ir::NodeView view{graph, node};
    whole_[index_of(Processor::Cpu)].push_back(
        choose_kernel(view, Processor::Cpu, SplitDim::None, {}, predictor, false));
    const bool gpu_may = profile().has_gpu && !touches_application_memory(graph, node);
    whole_[index_of(Processor::Gpu)].push_back(
        gpu_may ? choose_kernel(view, Processor::Gpu, SplitDim::None, {}, predictor, false)
                : std::nullopt);
  }
}

std::optional<Segment> CostModel::whole(ir::NodeId node, Processor processor) const {
  const std::optional<KernelChoice>& choice = whole_[index_of(processor)][node];
  if (!choice) return std::nullopt;
  Segment segment;
  segment.placement = processor == Processor::Cpu ? Placement::Cpu : Placement::Gpu;
  segment.compute_us = choice->predicted_us;
  Division division;
  division.node = node;
  division.parts.push_back({processor, choice->row, {0, 1}, {0, 1}, choice->predicted_us});
  segment.divisions.push_back(std::move(division));
  return segment;
}

std::optional<KernelChoice> CostModel::choose_part(ir::NodeId node, Processor processor,
                                                   SplitDim dim, Range part) const {
  std::vector<KnownPart>& known_parts = known_parts_[node];
  for (const KnownPart& known : known_parts)
    if (known.processor == processor && known.dim == dim && known.part == part) return known.choice;
  const auto choice =
      choose_kernel({graph_, graph_.node(node)}, processor, dim, part, predictor_, true);
  known_parts.push_back({processor, dim, part, choice});
  return choice;
}

std::optional<Segment> CostModel::split(ir::NodeId first, ir::NodeId last, SplitDim dim,
                                        double ratio) const {
  std::vector<ir::NodeId> nodes;
  std::vector<Range> owned[2];  // by processor
  for (ir::NodeId id = first; id <= last; ++id) {
    if (!whole_[0][id] || !whole_[1][id]) return std::nullopt;
    const std::optional<SplitRule> rule = split_rule({graph_, graph_.node(id)}, dim);
    const std::optional<int32_t> cut = rule ? cut_at(*rule, ratio) : std::nullopt;
    if (!cut) return std::nullopt;
    nodes.push_back(id);
    owned[index_of(Processor::Gpu)].push_back({0, *cut});
    owned[index_of(Processor::Cpu)].push_back({*cut, rule->extent});
  }
  if (nodes.size() > 1 && (dim != SplitDim::Height || !is_connected(graph_, nodes)))
    return std::nullopt;

  Segment segment;
  segment.placement = dim == SplitDim::Height ? Placement::Height : Placement::OutputChannel;
  segment.divisions.resize(nodes.size());
  for (Processor processor : {Processor::Gpu, Processor::Cpu}) {
    const std::vector<Range>& own = owned[index_of(processor)];
    const std::vector<Range> computed =
        dim == SplitDim::Height ? computed_rows(graph_, nodes, own) : own;
    // The CPU lane's thread gives the GPU its steps first.
    double lane_us = processor == Processor::Cpu ? predictor_.transfer().enqueue_time_us() *
                                                       static_cast<double>(nodes.size())
                                                 : 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto choice = choose_part(nodes[i], processor, dim, computed[i]);
      if (!choice) return std::nullopt;
      lane_us += choice->predicted_us;
      segment.divisions[i].node = nodes[i];
      segment.divisions[i].dim = dim;
      segment.divisions[i].parts.push_back(
          {processor, choice->row, own[i], computed[i], choice->predicted_us});
    }
    segment.compute_us = std::max(segment.compute_us, lane_us);
  }
  return segment;
}

std::optional<double> CostModel::part_us(ir::NodeId node, Processor processor, SplitDim dim,
                                         Range part) const {
  if (!whole_[0][node] || !whole_[1][node]) return std::nullopt;  // such nodes are not split
  const auto choice =
      choose_kernel({graph_, graph_.node(node)}, processor, dim, part, predictor_, false);
  return choice ? std::optional(choice->predicted_us) : std::nullopt;
}

std::optional<double> CostModel::balanced_ratio(ir::NodeId first, ir::NodeId last) const {
  double cpu_us = 0, gpu_us = 0;
  for (ir::NodeId id = first; id <= last; ++id) {
    if (!whole_[0][id] || !whole_[1][id]) return std::nullopt;
    cpu_us += whole_[index_of(Processor::Cpu)][id]->predicted_us;
    gpu_us += whole_[index_of(Processor::Gpu)][id]->predicted_us;
  }
  return cpu_us + gpu_us > 0 ? cpu_us / (cpu_us + gpu_us) : 0.5;
}

double CostModel::move_us(const ir::Value& value, double share, bool to_gpu) const {
  if (share <= 0) return 0;
  const kernels::OperandShape buffer = value_shape(value.type, value.type.layout, {});
  double us = predictor_.transfer().hand_off_us(share * static_cast<double>(buffer.bytes), to_gpu);
  if (layout_on(value.type, Processor::Gpu, profile()) != Layout::Image2d) return us;
  // Through a convert kernel between the buffer and the image.
  const kernels::OperandShape image = value_shape(value.type, Layout::Image2d, {});
  const kernels::OperandShape shapes[2] = {to_gpu ? buffer : image, to_gpu ? image : buffer};
  kernels::StepShape step;
  step.operands = shapes;
  step.operand_count = 2;
  step.row = choose_mover(step, predictor_);
  return step.row != nullptr ? us + share * predictor_.predict_us(step, false) : us;
}

double CostModel::exchange_us(ir::NodeId first, ir::NodeId last, Placement before,
                              const Segment& segment) const {
  const Placement after = segment.placement;
  const Division& head = segment.divisions.front();
  const Part* gpu = head.part_on(Processor::Gpu);
  const Part* cpu = head.part_on(Processor::Cpu);
  const double extent = gpu && cpu ? gpu->owned.count() + cpu->owned.count() : 1;
  const double gpu_share = gpu && cpu ? gpu->owned.count() / extent : 0;

  // Shares of a value that change lane. Two height splits exchange rows at the cut only: a
  // hundredth stands for "few, but a hand-off each way".
  double to_gpu = 0, to_cpu = 0;
  const bool is_split_before = before == Placement::Height || before == Placement::OutputChannel;
  const double gpu_has = before == Placement::Gpu ? 1 : is_split_before ? 0.5 : 0;
  const double gpu_reads = after == Placement::Cpu ? 0 : after == Placement::Height ? gpu_share : 1;
  const double cpu_reads = after == Placement::Gpu      ? 0
                           : after == Placement::Height ? 1 - gpu_share
                                                        : 1;
  if (before == Placement::Height && after == Placement::Height) {
    to_gpu = to_cpu = 0.01;
  } else {
    to_gpu = std::max(0.0, gpu_reads - gpu_has);
    to_cpu = std::max(0.0, cpu_reads - (1 - gpu_has));
  }

  double us = 0;
  std::vector<ir::ValueId> seen;
  for (ir::NodeId id = first; id <= last; ++id) {
    for (ir::ValueId input : graph_.node(id).inputs) {
      const ir::Value& value = graph_.value(input);
      const bool is_inside = value.producer != ir::kNoId && value.producer >= first;
      if (value.is_constant || value.is_input || is_inside ||
          std::find(seen.begin(), seen.end(), input) != seen.end())
        continue;
      seen.push_back(input);
      us += move_us(value, to_gpu, true) + move_us(value, to_cpu, false);
    }
  }
  return us;
}

}  // namespace codl::compiler
