#include "compiler/partition/cost_model.h"

#include <algorithm>

#include "compiler/partition/split_geometry.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

constexpr size_t index_of(Processor processor) { return static_cast<size_t>(processor); }
constexpr bool is_image(Layout layout) { return layout == Layout::Image2d; }

// The GPU may not touch the application's buffers (schema/plan.fbs, Storage).
bool touches_application_memory(const ir::Graph& graph, const ir::Node& node) {
  if (graph.is_output(node.output)) return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ir::ValueId input) { return graph.value(input).is_input; });
}

// A launch of the whole node that is longer than limits allow and cannot be cut. The user may ask
// for it all the same (--place).
bool exceeds_slice(const ir::NodeView& view, const KernelChoice& choice, const PlanLimits& limits,
                   const DeviceProfile& profile) {
  if (!limits.max_gpu_slice_us ||
      choice.predicted_us * crowded_factor(profile) <= *limits.max_gpu_slice_us)
    return false;
  for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
    if (choice.kernel->can_split(dim) && split_rule(view, dim)) return false;
  return llvm::none_of(limits.places,
                       [&](const ForcedPlacement& place) { return place.node == view.node.name; });
}

}  // namespace

CostModel::CostModel(const ir::Graph& graph, const LatencyPredictor& predictor,
                     const PlanLimits& limits)
    : graph_(graph), predictor_(predictor), known_parts_(graph.nodes().size()) {
  for (auto& by_value : conversions_) by_value.resize(graph.values().size());
  for (ir::NodeId node = 0; node < graph.nodes().size(); ++node) {
    const auto whole = [&](Processor processor, Layout maps) {
      return choose(node, processor, maps, SplitDim::None, {}, false);
    };
    on_cpu_.push_back(whole(Processor::Cpu, Layout::Nhwc));
    const bool gpu_may = profile().has_gpu && !touches_application_memory(graph, graph.node(node));
    for (Layout maps : gpu_maps()) {
      auto choice = gpu_may ? whole(Processor::Gpu, maps) : std::nullopt;
      if (choice && exceeds_slice({graph, graph.node(node)}, *choice, limits, profile()))
        choice.reset();
      on_gpu_[is_image(maps)].push_back(choice);
    }
  }
  if (on_gpu_[1].empty()) on_gpu_[1] = on_gpu_[0];
}

llvm::ArrayRef<Layout> CostModel::gpu_maps() const {
  static constexpr Layout kLayouts[] = {Layout::Image2d, Layout::Nhwc};
  return llvm::makeArrayRef(kLayouts).drop_front(is_image(profile().gpu_layout) ? 0 : 1);
}

std::optional<KernelChoice> CostModel::choose(ir::NodeId node, Processor processor, Layout maps,
                                              SplitDim dim, Range part,
                                              bool other_processor_busy) const {
  const ir::NodeView view{graph_, graph_.node(node)};
  std::optional<KernelChoice> other;
  for (Layout layout : map_layouts(view, processor, profile())) {
    auto choice =
        choose_kernel(view, processor, layout, dim, part, predictor_, other_processor_busy);
    if (choice && layout == maps) return choice;
    if (choice && !other) other = choice;
  }
  return other;
}

const std::optional<KernelChoice>& CostModel::choose_whole(ir::NodeId node, Processor processor,
                                                           Layout maps) const {
  return processor == Processor::Cpu ? on_cpu_[node] : on_gpu_[is_image(maps)][node];
}

std::optional<Segment> CostModel::whole(ir::NodeId node, Processor processor, Layout maps) const {
  const std::optional<KernelChoice>& choice = choose_whole(node, processor, maps);
  if (!choice) return std::nullopt;
  Segment segment;
  segment.place = {processor == Processor::Cpu ? Placement::Cpu : Placement::Gpu, choice->maps};
  segment.compute_us = choice->predicted_us;
  NodePartition node_partition;
  node_partition.node = node;
  node_partition.parts.push_back(
      {processor, choice->kernel, choice->maps, {0, 1}, {0, 1}, choice->predicted_us});
  segment.node_partitions.push_back(std::move(node_partition));
  return segment;
}

std::optional<KernelChoice> CostModel::choose_part(ir::NodeId node, Processor processor,
                                                   Layout maps, SplitDim dim, Range part) const {
  std::vector<KnownPart>& known_parts = known_parts_[node];
  for (const KnownPart& known : known_parts)
    if (known.processor == processor && known.maps == maps && known.dim == dim &&
        known.part == part)
      return known.choice;
  const auto choice = choose(node, processor, maps, dim, part, true);
  known_parts.push_back({processor, maps, dim, part, choice});
  return choice;
}

std::optional<Segment> CostModel::split(ir::NodeId first, ir::NodeId last, SplitDim dim,
                                        double ratio, Layout maps) const {
  std::vector<ir::NodeId> nodes;
  std::vector<Range> owned[2];  // by processor
  for (ir::NodeId id = first; id <= last; ++id) {
    if (!can_be_split(id)) return std::nullopt;
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
  segment.node_partitions.resize(nodes.size());
  double processor_us[2] = {};  // by processor
  // The CPU's thread gives the GPU its steps first.
  processor_us[index_of(Processor::Cpu)] =
      predictor_.transfer().enqueue_time_us() * static_cast<double>(nodes.size());
  for (Processor processor : {Processor::Gpu, Processor::Cpu}) {
    const std::vector<Range>& own = owned[index_of(processor)];
    const std::vector<Range> computed =
        dim == SplitDim::Height ? computed_rows(graph_, nodes, own) : own;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Layout layout = processor == Processor::Gpu ? maps : Layout::Nhwc;
      const auto choice = choose_part(nodes[i], processor, layout, dim, computed[i]);
      if (!choice) return std::nullopt;
      processor_us[index_of(processor)] += choice->predicted_us;
      segment.node_partitions[i].node = nodes[i];
      segment.node_partitions[i].dim = dim;
      segment.node_partitions[i].parts.push_back(
          {processor, choice->kernel, choice->maps, own[i], computed[i], choice->predicted_us});
    }
  }
  processor_us[index_of(Processor::Gpu)] += convert_inside_us(segment.node_partitions);
  segment.compute_us = std::max(processor_us[0], processor_us[1]);
  segment.place = {dim == SplitDim::Height ? Placement::Height : Placement::OutputChannel,
                   segment.node_partitions.back().part_on(Processor::Gpu)->maps};
  return segment;
}

double CostModel::convert_inside_us(llvm::ArrayRef<NodePartition> node_partitions) const {
  double us = 0;
  llvm::SmallVector<ir::ValueId, 4> converted;
  for (const NodePartition& user : node_partitions)
    for (ir::ValueId input : graph_.node(user.node).inputs) {
      const ir::Value& value = graph_.value(input);
      if (value.producer == ir::kNoId || value.producer < node_partitions.front().node ||
          value.type.layout != Layout::Nhwc || llvm::is_contained(converted, input))
        continue;
      const Part* maker =
          node_partitions[value.producer - node_partitions.front().node].part_on(Processor::Gpu);
      const Layout read_in = user.part_on(Processor::Gpu)->maps;
      if (maker->maps == read_in) continue;
      converted.push_back(input);
      const double share = maker->computed.count() / static_cast<double>(value.type.dims[2]);
      us += convert_us(input, share, is_image(read_in));
    }
  return us;
}

std::optional<double> CostModel::part_us(ir::NodeId node, Processor processor, SplitDim dim,
                                         Range part) const {
  if (!can_be_split(node)) return std::nullopt;
  const ir::NodeView view{graph_, graph_.node(node)};
  std::optional<double> least_us;
  for (Layout maps : map_layouts(view, processor, profile())) {
    const auto choice = choose_kernel(view, processor, maps, dim, part, predictor_, false);
    if (choice) least_us = std::min(least_us.value_or(choice->predicted_us), choice->predicted_us);
  }
  return least_us;
}

std::optional<double> CostModel::balanced_ratio(ir::NodeId first, ir::NodeId last,
                                                Layout maps) const {
  double cpu_us = 0, gpu_us = 0;
  for (ir::NodeId id = first; id <= last; ++id) {
    if (!can_be_split(id)) return std::nullopt;
    cpu_us += choose_whole(id, Processor::Cpu, maps)->predicted_us;
    gpu_us += choose_whole(id, Processor::Gpu, maps)->predicted_us;
  }
  return cpu_us + gpu_us > 0 ? cpu_us / (cpu_us + gpu_us) : 0.5;
}

double CostModel::move_us(ir::ValueId value, double share, bool to_gpu, Layout maps) const {
  if (share <= 0) return 0;
  const ir::TensorType& type = graph_.value(value).type;
  const kernels::OperandShape buffer = value_shape(type, type.layout, {});
  const double us =
      predictor_.transfer().synchronisation_us(share * static_cast<double>(buffer.bytes), to_gpu);
  return is_image(layout_with(type, maps)) ? us + convert_us(value, share, to_gpu) : us;
}

double CostModel::convert_us(ir::ValueId value, double share, bool to_image) const {
  Conversion& known = conversions_[to_image][value];
  if (known.kernel_us < 0) {
    const ir::TensorType& type = graph_.value(value).type;
    const kernels::OperandShape buffer = value_shape(type, Layout::Nhwc, {});
    const kernels::OperandShape image = value_shape(type, Layout::Image2d, {});
    const kernels::OperandShape shapes[2] = {to_image ? buffer : image, to_image ? image : buffer};
    kernels::StepShape step;
    step.operands = shapes;
    step.operand_count = 2;
    step.kernel = choose_mover(step, predictor_);
    known = step.kernel != nullptr
                ? Conversion{predictor_.predict_us(step, false), predictor_.launch_us(*step.kernel)}
                : Conversion{0, 0};
  }
  return share * known.kernel_us + known.launch_us;
}

double CostModel::transfer_us(ir::NodeId first, ir::NodeId last, const ValuePlace& before,
                              const Segment& segment) const {
  const Placement after = segment.place.placement;
  const NodePartition& head = segment.node_partitions.front();
  const Part* gpu = head.part_on(Processor::Gpu);
  const Part* cpu = head.part_on(Processor::Cpu);
  const double extent = gpu && cpu ? gpu->owned.count() + cpu->owned.count() : 1;
  const double gpu_share = gpu && cpu ? gpu->owned.count() / extent : 0;

  // Shares of a value that change processor. Two height splits transfer rows at the cut only: a
  // hundredth stands for "few, but a synchronisation each way".
  double to_gpu = 0, to_cpu = 0;
  const bool is_split_before =
      before.placement == Placement::Height || before.placement == Placement::OutputChannel;
  const double gpu_has = before.placement == Placement::Gpu ? 1 : is_split_before ? 0.5 : 0;
  const double gpu_reads = after == Placement::Cpu ? 0 : after == Placement::Height ? gpu_share : 1;
  const double cpu_reads = after == Placement::Gpu      ? 0
                           : after == Placement::Height ? 1 - gpu_share
                                                        : 1;
  if (before.placement == Placement::Height && after == Placement::Height) {
    to_gpu = to_cpu = 0.01;
  } else {
    to_gpu = std::max(0.0, gpu_reads - gpu_has);
    to_cpu = std::max(0.0, cpu_reads - (1 - gpu_has));
  }
  const double stays_on_gpu = std::min(gpu_has, gpu_reads);

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
      const Part* reader = segment.node_partitions[id - first].part_on(Processor::Gpu);
      const Layout read_in = reader != nullptr ? reader->maps : before.maps;
      us += move_us(input, to_gpu, true, read_in) + move_us(input, to_cpu, false, before.maps);
      if (stays_on_gpu > 0 && value.type.layout == Layout::Nhwc && read_in != before.maps)
        us += convert_us(input, stays_on_gpu, is_image(read_in));
    }
  }
  return us;
}

}  // namespace codl::compiler
