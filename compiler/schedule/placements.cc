#include "compiler/schedule/placements.h"

#include <algorithm>
#include <optional>

#include "compiler/partition/kernel_choice.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

constexpr Processor kProcessors[] = {Processor::Cpu, Processor::Gpu};
constexpr size_t index_of(Processor processor) { return static_cast<size_t>(processor); }

// What happens to one value on one lane.
struct LaneUse {
  Region computed;
  Region read;
  ir::NodeId last_node = 0;
  bool is_used() const { return !computed.empty() || !read.empty(); }
};
struct ValueUse {
  std::array<LaneUse, 2> lanes;  // by processor
  // Of a map on the GPU:
  std::optional<Layout> made_in;  // if it is computed there
  Region read_as_buffer;
  Region read_as_image;
  bool is_read_in_chain = false;  // in the chain that makes it, as what it is not made in
};

void note_layouts(const ir::NodeView& view, const PartitionPlan& plan, const Division& division,
                  const Part& part, std::vector<ValueUse>& uses) {
  uses[view.node.output].made_in = part.maps;
  for (uint32_t i = 0; i < view.input_count(); ++i) {
    if (view.input(i).layout != Layout::Nhwc) continue;
    ValueUse& use = uses[view.node.inputs[i]];
    Region& read = part.maps == Layout::Image2d ? use.read_as_image : use.read_as_buffer;
    read = hull(read, read_region(view, i, division.dim, part.computed));
    const ir::NodeId maker = view.input_value(i).producer;
    const bool is_same_chain = division.chain >= 0 && plan.divisions[maker].chain == division.chain;
    use.is_read_in_chain |= is_same_chain && use.made_in != part.maps;
  }
}

std::vector<ValueUse> uses_of_values(const ir::Graph& graph, const PartitionPlan& plan) {
  std::vector<ValueUse> uses(graph.values().size());
  for (const Division& division : plan.divisions) {
    const ir::NodeView view{graph, graph.node(division.node)};
    for (const Part& part : division.parts) {
      const size_t lane = index_of(part.processor);
      if (part.processor == Processor::Gpu) note_layouts(view, plan, division, part, uses);
      LaneUse& output = uses[view.node.output].lanes[lane];
      output.computed = slab(view.output(), division.dim, part.computed);
      output.last_node = std::max(output.last_node, division.node);
      for (uint32_t i = 0; i < view.input_count(); ++i) {
        LaneUse& input = uses[view.node.inputs[i]].lanes[lane];
        input.read = hull(input.read, read_region(view, i, division.dim, part.computed));
        input.last_node = std::max(input.last_node, division.node);
      }
    }
  }
  // The application's inputs are there before the first step.
  for (ir::ValueId input : graph.inputs())
    uses[input].lanes[index_of(Processor::Cpu)].computed = whole_region(graph.value(input).type);
  return uses;
}

// What is read and not computed: at most one slab before and one after what is computed, in the one
// dimension where it falls short. A copy moves rows or channels, not both: missing rows come with
// all channels, though the reader may want some of them only.
std::array<Region, 2> missing_of(const LaneUse& use) {
  const Region& computed = use.computed;
  const Region& read = use.read;
  if (read.empty()) return {};
  if (computed.empty()) return {read, Region{}};
  std::array<Region, 2> missing = {read, read};
  if (!computed.channels.contains(read.channels)) {
    missing[0].channels = {read.channels.begin,
                           std::min(read.channels.end, computed.channels.begin)};
    missing[1].channels = {std::max(read.channels.begin, computed.channels.end), read.channels.end};
  } else {
    missing.fill({read.rows, computed.channels});
    missing[0].rows = {read.rows.begin, std::min(read.rows.end, computed.rows.begin)};
    missing[1].rows = {std::max(read.rows.begin, computed.rows.end), read.rows.end};
  }
  for (Region& region : missing)
    if (region.empty()) region = {};
  return missing;
}

bool is_missing(const std::array<Region, 2>& regions) {
  return !regions[0].empty() || !regions[1].empty();
}

class Placer {
 public:
  Placer(const ir::Graph& graph, const PartitionPlan& plan, const DeviceProfile& profile,
         Schedule& schedule)
      : graph_(graph), profile_(profile), schedule_(schedule), uses_(uses_of_values(graph, plan)) {
    for (const llvm::ArrayRef<ir::ValueId> list : {graph.inputs(), graph.outputs()})
      for (size_t i = 0; i < list.size(); ++i) index_.insert({list[i], static_cast<uint32_t>(i)});
  }

  Placements run() {
    placements_.values.resize(graph_.values().size());
    for (ir::ValueId value = 0; value < graph_.values().size(); ++value)
      if (!graph_.value(value).is_constant) place(value);
    return std::move(placements_);
  }

 private:
  void place(ir::ValueId value) {
    if (graph_.value(value).type.element_count() == 0) return;  // no step touches it
    ValuePlacement& placement = placements_.values[value];
    if (is_external(value)) {
      placement.tensor[index_of(Processor::Cpu)] = add_external(value);
      return;
    }
    const Region other = choose_layouts(value, placement);
    const auto& [cpu, gpu] = uses_[value].lanes;
    if (cpu.is_used() && gpu.is_used()) {
      place_on_both(value, placement);
    } else {
      for (Processor processor : kProcessors)
        if (uses_[value].lanes[index_of(processor)].is_used())
          placement.tensor[index_of(processor)] =
              add(value, processor, private_storage(value, processor), window(value, processor));
    }
    if (other.empty()) return;
    const Storage storage = is_image(value) ? Storage::Device : Storage::Image;
    placement.other_layout = add(value, Processor::Gpu, storage, other.rows);
    placement.made = gpu.computed;
    placement.converted = other;
  }

  // The layout of the GPU's tensor. What is left for it to convert to the other one, which is none
  // where the CPU's tensor serves as that: it is a buffer in the shared arena.
  Region choose_layouts(ir::ValueId value, ValuePlacement& placement) {
    ValueUse& use = uses_[value];
    auto& [cpu, gpu] = use.lanes;
    if (graph_.value(value).type.layout != Layout::Nhwc) return {};
    const bool is_separate = profile_.exchange.sharing == Sharing::Separate;
    if (use.made_in)
      placement.gpu_maps = *use.made_in;
    else if (!use.read_as_image.empty() && (use.read_as_buffer.empty() || !is_separate))
      placement.gpu_maps = Layout::Image2d;
    if (!is_image(value)) return use.read_as_image;
    const Region other = use.read_as_buffer;
    if (other.empty() || !cpu.is_used() || is_separate || use.is_read_in_chain) return other;
    LaneUse gpu_images = gpu;
    gpu_images.read = use.read_as_image;
    if (!is_missing(missing_of(cpu)) && !is_missing(missing_of(gpu_images)) &&
        gpu.computed.contains(other))
      return other;
    gpu = gpu_images;
    cpu.read = hull(cpu.read, other);
    placement.buffer_is_shared = true;
    return {};
  }

  void place_on_both(ir::ValueId value, ValuePlacement& placement) {
    const auto& [cpu, gpu] = uses_[value].lanes;
    for (Processor processor : kProcessors)
      placement.missing[index_of(processor)] = missing_of(uses_[value].lanes[index_of(processor)]);
    const bool is_exchanged =
        placement.buffer_is_shared || llvm::any_of(placement.missing, is_missing);
    if (is_exchanged && one_memory_serves(value)) {
      const Range rows = hull(window(value, Processor::Cpu), window(value, Processor::Gpu));
      placement.tensor.fill(add(value, Processor::Cpu, Storage::Shared, rows));
      note_last_cpu_node(placement.tensor[0], cpu.last_node);
      return;
    }
    const bool shares_host = is_exchanged && profile_.exchange.sharing != Sharing::Separate;
    placement.tensor[index_of(Processor::Cpu)] =
        add(value, Processor::Cpu, shares_host ? Storage::Shared : Storage::Host,
            window(value, Processor::Cpu));
    placement.tensor[index_of(Processor::Gpu)] =
        add(value, Processor::Gpu, private_storage(value, Processor::Gpu),
            window(value, Processor::Gpu));
    if (profile_.exchange.sharing == Sharing::Separate && is_image(value))
      add_staging(value, placement);
  }

  bool is_external(ir::ValueId value) const {
    return graph_.value(value).is_input || graph_.is_output(value);
  }
  bool is_image(ir::ValueId value) const {
    return placements_.values[value].gpu_maps == Layout::Image2d;
  }

  bool one_memory_serves(ir::ValueId value) const {
    if (is_image(value) || profile_.exchange.sharing == Sharing::Separate) return false;
    const Region& cpu = uses_[value].lanes[index_of(Processor::Cpu)].computed;
    const Region& gpu = uses_[value].lanes[index_of(Processor::Gpu)].computed;
    if (profile_.exchange.sharing == Sharing::SubBuffer) return cpu.empty() || gpu.empty();
    return !cpu.overlaps(gpu);  // FineSvm: both may write, but not the same bytes
  }

  Storage private_storage(ir::ValueId value, Processor processor) const {
    if (processor == Processor::Cpu) return Storage::Host;
    return is_image(value) ? Storage::Image : Storage::Device;
  }

  Range window(ir::ValueId value, Processor processor) const {
    const LaneUse& use = uses_[value].lanes[index_of(processor)];
    return hull(use.computed.empty() ? Range{} : use.computed.rows,
                use.read.empty() ? Range{} : use.read.rows);
  }

  TensorId add(ir::ValueId value, Processor processor, Storage storage, Range rows) {
    const ir::TensorType& type = graph_.value(value).type;
    const Layout layout = storage == Storage::Image ? Layout::Image2d : type.layout;
    schedule_.tensors.push_back(
        {graph_.value(value).name, value_shape(type, layout, rows), storage, 0});
    schedule_.values.push_back(value);
    placements_.last_cpu_node.push_back(0);
    const auto id = static_cast<TensorId>(schedule_.tensors.size() - 1);
    if (processor == Processor::Cpu)
      note_last_cpu_node(id, uses_[value].lanes[index_of(Processor::Cpu)].last_node);
    return id;
  }

  TensorId add_external(ir::ValueId value) {
    const bool is_input = graph_.value(value).is_input;
    const TensorId id = add(value, Processor::Cpu, is_input ? Storage::Input : Storage::Output, {});
    schedule_.tensors[id].index = index_.lookup(value);
    return id;
  }

  // Separate + images: the device buffer between the transfer and the image, as wide as what
  // crosses.
  void add_staging(ir::ValueId value, ValuePlacement& placement) {
    for (Processor to : kProcessors) {
      const auto& missing = placement.missing[index_of(to)];
      Region crossing = hull(missing[0], missing[1]);
      if (crossing.empty()) continue;
      // Channels cross in every row the lane's tensor holds.
      if (!(crossing.channels == whole_region(graph_.value(value).type).channels))
        crossing.rows = {};
      placement.staging[index_of(to)] = add(value, Processor::Gpu, Storage::Device, crossing.rows);
    }
  }

  void note_last_cpu_node(TensorId tensor, ir::NodeId node) {
    placements_.last_cpu_node[tensor] = node;
  }

  const ir::Graph& graph_;
  const DeviceProfile& profile_;
  Schedule& schedule_;
  std::vector<ValueUse> uses_;
  llvm::DenseMap<ir::ValueId, uint32_t> index_;  // among the graph's inputs or outputs
  Placements placements_;
};

}  // namespace

Placements place_values(const ir::Graph& graph, const PartitionPlan& plan,
                        const DeviceProfile& profile, Schedule& schedule) {
  return Placer(graph, plan, profile, schedule).run();
}

}  // namespace codl::compiler
