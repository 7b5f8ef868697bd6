#include "compiler/partition/cost_model.h"

#include <algorithm>

#include "compiler/partition/split_geometry.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/mix_bits.h"

namespace codl::compiler {
namespace {

constexpr bool is_image(Layout layout) { return layout == Layout::Image2d; }

// The part that is in `range` of a place's extent. Of values of another extent as much.
Range scaled(Range range, int32_t extent, int32_t to) {
  if (extent == to) return range;
  const auto at = [&](int32_t end) { return static_cast<int32_t>(int64_t{end} * to / extent); };
  return {at(range.begin), at(range.end)};
}

Region computed_region(const ir::TensorType& type, const ValuePlace& place, Range range) {
  if (range.empty()) return {};
  const Region whole = whole_region(type);
  switch (place.placement) {
    case Placement::Cpu:
    case Placement::Gpu:
      return whole;
    case Placement::Height:
      return {scaled(range, place.extent, whole.rows.end), whole.channels};
    case Placement::OutputChannel:
      return {whole.rows, scaled(range, place.extent, whole.channels.end)};
  }
  __builtin_unreachable();
}

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
    if (choice.kernel->can_split(dim) && compiler::split_rule(view, dim)) return false;
  return llvm::none_of(limits.places,
                       [&](const ForcedPlacement& place) { return place.node == view.node.name; });
}

}  // namespace

ValuePlace ValuePlace::of(const NodePartition& node_partition) {
  const Part* gpu = node_partition.part_on(Processor::Gpu);
  const Part* cpu = node_partition.part_on(Processor::Cpu);
  if (gpu == nullptr) return on_cpu();
  if (cpu == nullptr) return on_gpu(gpu->maps);
  ValuePlace place = {
      node_partition.dim == SplitDim::Height ? Placement::Height : Placement::OutputChannel,
      gpu->maps, cpu->owned.end, gpu->computed, cpu->computed};
  for (const Part& part : node_partition.parts)
    if (part.boundary_first)
      place.boundary_unit[index_of(part.processor)] = rows_at_once(*part.kernel);
  return place;
}

CostModel::CostModel(const ir::Graph& graph, const LatencyPredictor& predictor,
                     const PlanLimits& limits, std::vector<PackingSet> packings)
    : graph_(graph),
      predictor_(predictor),
      packings_(std::move(packings)),
      placer_(graph, predictor.profile()) {
  for (auto& by_value : copies_) by_value.resize(graph.values().size());
  for (ir::NodeId node = 0; node < graph.nodes().size(); ++node) {
    const ir::NodeView view{graph, graph.node(node)};
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
      split_rules_[dim == SplitDim::OutputChannel].push_back(compiler::split_rule(view, dim));
    const auto whole = [&](Processor processor, Layout maps) {
      return choose(node, processor, maps, SplitDim::None, {}, false);
    };
    on_cpu_.push_back(whole(Processor::Cpu, Layout::Nhwc));
    const bool gpu_may = profile().has_gpu && !touches_application_memory(graph, graph.node(node));
    for (Layout maps : gpu_maps()) {
      auto choice = gpu_may ? whole(Processor::Gpu, maps) : std::nullopt;
      if (choice && exceeds_slice(view, *choice, limits, profile())) choice.reset();
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
    auto choice = choose_kernel(view, processor, layout, dim, part, predictor_,
                                other_processor_busy, packings_of(node));
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
  segment.compute_us = choice->predicted_us;
  NodePartition node_partition;
  node_partition.node = node;
  node_partition.parts.push_back(
      {processor, choice->kernel, choice->maps, {0, 1}, {0, 1}, choice->predicted_us});
  segment.place = ValuePlace::of(node_partition);
  segment.node_partitions.push_back(std::move(node_partition));
  return segment;
}

std::optional<KernelChoice> CostModel::choose_part(ir::NodeId node, Processor processor,
                                                   Layout maps, SplitDim dim, Range part) const {
  // Mixed, one to one: llvm::DenseMap looks at few bits of a number.
  const PartKey key{mix_bits(uint64_t{node} << 24 | static_cast<uint64_t>(processor) << 16 |
                             static_cast<uint64_t>(maps) << 8 | static_cast<uint64_t>(dim)),
                    mix_bits(uint64_t{static_cast<uint32_t>(part.begin)} << 32 |
                             static_cast<uint32_t>(part.end))};
  const auto [known, is_new] = known_parts_.try_emplace(key);
  if (is_new) known->second = choose(node, processor, maps, dim, part, true);
  return known->second;
}

std::optional<Segment> CostModel::split(ir::NodeId first, ir::NodeId last, SplitDim dim,
                                        double ratio, Layout maps,
                                        std::array<bool, 2> boundary_first) const {
  std::vector<ir::NodeId> nodes;
  std::vector<Range> owned[2];  // by processor
  for (ir::NodeId id = first; id <= last; ++id) {
    if (!can_be_split(id)) return std::nullopt;
    const std::optional<SplitRule>& rule = split_rule(id, dim);
    const std::optional<int32_t> cut = rule ? cut_at(*rule, ratio) : std::nullopt;
    if (!cut) return std::nullopt;
    nodes.push_back(id);
    owned[index_of(Processor::Gpu)].push_back({0, *cut});
    owned[index_of(Processor::Cpu)].push_back({*cut, rule->extent});
  }
  if (nodes.size() > 1 && !is_connected(graph_, nodes)) return std::nullopt;

  Segment segment;
  segment.node_partitions.resize(nodes.size());
  double processor_us[2] = {};  // by processor
  // The CPU's thread gives the GPU its steps first.
  processor_us[index_of(Processor::Cpu)] =
      predictor_.transfer().enqueue_time_us() * static_cast<double>(nodes.size());
  for (Processor processor : {Processor::Gpu, Processor::Cpu}) {
    const std::vector<Range>& own = owned[index_of(processor)];
    const std::vector<Range> computed = computed_ranges(graph_, nodes, dim, own);
    // To compute a channel twice is to compute most of them twice.
    if (dim == SplitDim::OutputChannel && computed != own) return std::nullopt;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Layout layout = processor == Processor::Gpu ? maps : Layout::Nhwc;
      const auto choice = choose_part(nodes[i], processor, layout, dim, computed[i]);
      if (!choice) return std::nullopt;
      processor_us[index_of(processor)] += choice->predicted_us;
      segment.node_partitions[i].node = nodes[i];
      segment.node_partitions[i].dim = dim;
      segment.node_partitions[i].parts.push_back(
          {processor, choice->kernel, choice->maps, own[i], computed[i], choice->predicted_us,
           dim == SplitDim::Height && boundary_first[index_of(processor)]});
    }
  }
  processor_us[index_of(Processor::Gpu)] += convert_inside_us(segment.node_partitions);
  segment.compute_us = std::max(processor_us[0], processor_us[1]);
  segment.place = ValuePlace::of(segment.node_partitions.back());
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
      const SplitDim dim = node_partitions.front().dim;
      const Range all = range_along(whole_region(value.type), dim);
      const double share = maker->computed.count() / static_cast<double>(all.count());
      us += copy_us(input, share, maker->maps, read_in);
    }
  return us;
}

std::optional<double> CostModel::part_us(ir::NodeId node, Processor processor, SplitDim dim,
                                         Range part) const {
  if (!can_be_split(node)) return std::nullopt;
  const ir::NodeView view{graph_, graph_.node(node)};
  std::optional<double> least_us;
  for (Layout maps : map_layouts(view, processor, profile())) {
    const auto choice =
        choose_kernel(view, processor, maps, dim, part, predictor_, false, packings_of(node));
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

double CostModel::copy_us(ir::ValueId value, double share, Layout from, Layout to) const {
  const ir::TensorType& type = graph_.value(value).type;
  Copy& known = copies_[is_image(to) ? 1 : is_image(from) ? 2 : 0][value];
  if (known.fixed_us < 0) {
    const kernels::OperandShape shapes[2] = {value_shape(type, layout_with(type, from), {}),
                                             value_shape(type, layout_with(type, to), {})};
    kernels::StepShape step;
    step.operands = shapes;
    step.operand_count = 2;
    step.kernel = choose_mover(step, Processor::Gpu, predictor_);
    known = {0, 0};
    if (step.kernel != nullptr) {
      known.all_us = predictor_.predict_us(step, false);
      // Half of the rows take half of what depends on how much there is.
      const int32_t rows = whole_region(type).rows.count();
      if (rows > 1) {
        step.part_dim = SplitDim::Height;
        step.part = {0, rows / 2};
        const double half = static_cast<double>(rows / 2) / rows;
        const double half_us = predictor_.predict_us(step, false);
        known.fixed_us = std::max((half_us - half * known.all_us) / (1 - half), 0.0);
      }
      known.fixed_us += predictor_.launch_us(step);
      known.all_us += predictor_.launch_us(step);
    }
  }
  return known.fixed_us + share * (known.all_us - known.fixed_us);
}

CostModel::OutsideReads CostModel::outside_reads(const Segment& segment) const {
  OutsideReads reads;
  const ir::NodeId first = segment.node_partitions.front().node;
  for (const NodePartition& node_partition : segment.node_partitions) {
    const ir::NodeView view{graph_, graph_.node(node_partition.node)};
    for (uint32_t operand = 0; operand < view.input_count(); ++operand) {
      const ir::Value& value = view.input_value(operand);
      const bool is_inside = value.producer != ir::kNoId && value.producer >= first;
      if (value.is_constant || value.is_input || is_inside) continue;
      const ir::ValueId id = view.node.inputs[operand];
      auto* read =
          llvm::find_if(reads, [&](const OutsideRead& known) { return known.value == id; });
      if (read == reads.end()) {
        reads.push_back({id, {}});
        read = reads.end() - 1;
      }
      for (const Part& part : node_partition.parts)
        placer_.add_read(view, operand, node_partition, part, read->use);
    }
  }
  return reads;
}

double CostModel::transfer_us(const ValuePlace& before, llvm::ArrayRef<OutsideRead> reads) const {
  double us = 0;
  for (const OutsideRead& read : reads) {
    const ir::TensorType& type = graph_.value(read.value).type;
    auto& [cpu, gpu] = read.use.queues;
    // What is read where it is.
    if (before.gpu.empty() && !gpu.is_used()) continue;
    const bool is_other_layout =
        !(before.maps == Layout::Image2d ? read.use.read_as_buffer : read.use.read_as_image)
             .empty();
    if (before.cpu.empty() && !cpu.is_used() && !is_other_layout) continue;
    ValueUse use = read.use;
    use.queues[index_of(Processor::Cpu)].computed = computed_region(type, before, before.cpu);
    use.queues[index_of(Processor::Gpu)].computed = computed_region(type, before, before.gpu);
    if (!before.gpu.empty()) use.made_in = before.maps;
    use.boundary_unit = before.boundary_unit;
    const int host_uses = (before.cpu.empty() ? 0 : 1) + (cpu.is_used() ? 1 : 0);
    Waits waits;
    for (const Processor processor : {Processor::Cpu, Processor::Gpu}) {
      const QueueUse& queue = use.queues[index_of(processor)];
      waits.by_processor[index_of(processor)] =
          !queue.read.empty() && !queue.computed.contains(queue.read);
    }
    us += transfer_us(read.value, placer_.place(read.value, use), waits, host_uses);
  }
  return us;
}

double CostModel::synchronisation_us(double bytes, bool to_gpu) const {
  const TransferCosts& transfer = predictor_.transfer();
  const double us = transfer.synchronisation_us(bytes, to_gpu);
  return transfer.sharing == Sharing::SubBuffer ? us - transfer.map_time_us(bytes) : us;
}

// As SegmentSteps (schedule/segment_steps.h) brings it.
double CostModel::transfer_us(ir::ValueId value, const ValuePlacement& placement,
                              const Waits& waits, int host_uses) const {
  const ir::TensorType& type = graph_.value(value).type;
  const Region whole = whole_region(type);
  const auto all_bytes = static_cast<double>(value_shape(type, type.layout, {}).bytes);
  const TransferCosts& transfer = predictor_.transfer();
  const TensorId cpu = placement.tensor_on(Processor::Cpu);
  const TensorId gpu = placement.tensor_on(Processor::Gpu);
  double us = 0;
  // Channels are moved of every row that both memories hold.
  const auto share_of = [&](const Region& region, Range held) {
    return region.channels == whole.channels
               ? static_cast<double>(region.rows.count()) / whole.rows.count()
               : static_cast<double>(region.channels.count()) / whole.channels.count() *
                     held.count() / whole.rows.count();
  };
  const auto convert = [&](Region piece) {
    if (placement.other_layout == kNoTensor) return;
    const Range rows = placement.converted.rows;
    piece = {intersection(piece.rows, rows),
             intersection(piece.channels, placement.converted.channels)};
    if (!piece.empty())
      us += copy_us(value, share_of(piece, rows), placement.gpu_maps,
                    placement.placed(placement.other_layout).shape.layout);
  };
  convert(placement.made);
  bool is_transferred = false;
  for (const Processor to : {Processor::Gpu, Processor::Cpu}) {
    const bool to_gpu = to == Processor::Gpu;
    double share = 0;
    for (const Region& region : placement.missing[index_of(to)]) {
      if (region.empty()) continue;
      share += share_of(region, whole.rows);
      if (gpu != cpu &&
          (transfer.sharing != Sharing::Separate || placement.staging_on(to) != kNoTensor)) {
        const Layout on_gpu = placement.placed(gpu).shape.layout;
        us += copy_us(value, share_of(region, whole.rows), to_gpu ? type.layout : on_gpu,
                      to_gpu ? on_gpu : type.layout);
      }
      if (to_gpu) convert(region);
    }
    is_transferred |= share > 0;
    // What is handed over while the rest is computed is there when it is asked for.
    if (waits.by_processor[index_of(to)] && placement.boundary[index_of(other_of(to))].empty())
      us += synchronisation_us(share * all_bytes, to_gpu);
  }
  if (placement.has_shared_staging()) {
    for (const TensorId staging : placement.staging)
      if (staging != kNoTensor)
        us += transfer.map_time_us(static_cast<double>(placement.placed(staging).shape.bytes));
    return us;
  }
  if (is_transferred && transfer.sharing == Sharing::SubBuffer)
    us += host_uses * transfer.map_time_us(static_cast<double>(placement.placed(cpu).shape.bytes));
  return us;
}

}  // namespace codl::compiler
