#include "compiler/partition/value_tensors.h"

#include <algorithm>

#include "compiler/partition/kernel_choice.h"
#include "llvm/ADT/STLExtras.h"

namespace codl::compiler {
namespace {

// Returns what is read and not computed: at most a slab before and one after what is computed, in
// the one dimension where it falls short. A copy moves rows or channels, not both: missing rows
// come with all channels, though the reader may want some of them only.
std::array<Region, 2> missing_of(const QueueUse& use) {
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

bool is_small_part(const Region& of, const Region& computed) {
  return computed.contains(of) && of.channels == computed.channels &&
         2 * of.rows.count() <= computed.rows.count();
}

// Places one value.
class Placing {
 public:
  Placing(const ir::Graph& graph, const DeviceProfile& profile, ir::ValueId value, ValueUse use)
      : of_(graph.value(value)), type_(of_.type), profile_(profile), value_(value), use_(use) {}

  ValueTensors run(bool is_input, bool is_output) {
    auto& [cpu, gpu] = use_.queues;
    if (is_input || is_output) {
      add_own(Processor::Cpu, is_input ? Storage::Input : Storage::Output, {});
      return value_tensors_;
    }
    value_tensors_.is_of_gpu = cpu.computed.empty() && !gpu.computed.empty();
    value_tensors_.is_map = is_map(type_);
    value_tensors_.has_grid = static_cast<bool>(of_.grid);
    if (is_real(type_)) choose_forms();
    if (cpu.is_used() && gpu.is_used()) {
      place_on_both();
    } else if (cpu.is_used()) {
      add_own(Processor::Cpu, Storage::Host, window(Processor::Cpu));
    } else if (gpu.is_used()) {
      add_own(Processor::Gpu, gpu_storage(), window(Processor::Gpu));
    }
    return value_tensors_;
  }

 private:
  // Chooses the forms of the queues' tensors, and adds those to which the queues convert.
  void choose_forms() {
    for (Processor processor : kProcessors)
      value_tensors_.forms[index_of(processor)] = form_for(processor);
    share_buffer();
    size_t count = 0;
    for (Processor processor : kProcessors) {
      const QueueUse& use = use_.queues[index_of(processor)];
      for (Form form : map_forms(processor)) {
        const Region& read = use.read_in[index_of(processor, form)];
        if (form == form_on(processor) || read.empty()) continue;
        const auto slot =
            static_cast<TensorSlot>(static_cast<size_t>(TensorSlot::OtherForm) + count);
        value_tensors_.others[count++] = {processor, form,
                                          add(slot, form, storage_of(processor, form), read.rows),
                                          use.computed, read};
      }
    }
  }

  // Returns the form in which the value is made there, or the first in which it is read: a buffer
  // where memories are separate, because copies between them are of buffers.
  Form form_for(Processor processor) const {
    const QueueUse& use = use_.queues[index_of(processor)];
    if (use.made_in) return *use.made_in;
    const bool wants_buffer = profile_.transfer.sharing == Sharing::Separate;
    for (const bool takes_image : {false, true})
      for (Form form : map_forms(processor))
        if ((takes_image || !wants_buffer || !is_image(form)) &&
            !use.read_in[index_of(processor, form)].empty())
          return form;
    return kBuffers;
  }

  // Lets the GPU read the CPU's tensor where it needs that form and the value is transferred
  // anyway: a buffer in the shared arena serves both.
  void share_buffer() {
    auto& [cpu, gpu] = use_.queues;
    const Form shared = form_on(Processor::Cpu);
    Region& read = gpu.read_in[index_of(Processor::Gpu, shared)];
    if (form_on(Processor::Gpu) == shared || read.empty() || !cpu.is_used() ||
        profile_.transfer.sharing == Sharing::Separate || use_.is_read_in_chain)
      return;
    QueueUse others = gpu;
    others.read = gpu.read_but_in(Processor::Gpu, shared);
    if (!is_missing(missing_of(cpu)) && !is_missing(missing_of(others)) &&
        gpu.computed.contains(read))
      return;
    cpu.read = hull(cpu.read, read);
    gpu.read = others.read;
    read = {};
    value_tensors_.buffer_is_shared = true;
  }

  void place_on_both() {
    for (Processor processor : kProcessors)
      value_tensors_.missing[index_of(processor)] = missing_of(use_.queues[index_of(processor)]);
    const bool is_transferred =
        value_tensors_.buffer_is_shared || llvm::any_of(value_tensors_.missing, is_missing);
    place_boundaries();
    // Each queue has its own then, and what crosses is in shared tensors that hold no more.
    const bool shares_staging =
        profile_.transfer.sharing == Sharing::SubBuffer &&
        llvm::any_of(value_tensors_.boundary, [](const Region& rows) { return !rows.empty(); });
    if (is_transferred && !shares_staging && one_memory_serves()) {
      const Range rows = hull(window(Processor::Cpu), window(Processor::Gpu));
      value_tensors_.tensor.fill(
          add(TensorSlot::Cpu, form_on(Processor::Cpu), Storage::Shared, rows));
      return;
    }
    const bool is_separate = profile_.transfer.sharing == Sharing::Separate;
    const bool shares_host = is_transferred && !is_separate && !shares_staging;
    add_own(Processor::Cpu, shares_host ? Storage::Shared : Storage::Host, window(Processor::Cpu));
    add_own(Processor::Gpu, gpu_storage(), window(Processor::Gpu));
    if (shares_staging) add_staging(Storage::Shared);
    if (is_separate && !is_of_one_form()) add_staging(Storage::Device);
  }

  // Places the rows at the cut that one processor computes and the other one reads, for a value
  // that the GPU has above the cut in one form and the CPU below.
  void place_boundaries() {
    const Region whole = whole_region(type_);
    const Region& cpu = use_.queues[index_of(Processor::Cpu)].computed;
    const Region& gpu = use_.queues[index_of(Processor::Gpu)].computed;
    if ((use_.boundary_unit[0] == 0 && use_.boundary_unit[1] == 0) ||
        value_tensors_.buffer_is_shared || value_tensors_.has_others() || cpu.empty() ||
        gpu.empty() || gpu.rows.begin != 0 || cpu.rows.end != whole.rows.end)
      return;
    const Region& to_cpu =
        value_tensors_.missing[index_of(Processor::Cpu)][0];  // in front of its own
    const Region& to_gpu = value_tensors_.missing[index_of(Processor::Gpu)][1];  // behind its own
    if ((!to_cpu.empty() && !is_small_part(to_cpu, gpu)) ||
        (!to_gpu.empty() && !is_small_part(to_gpu, cpu)))
      return;
    // The cuts lie on the grid of the rows that the kernels compute together, so that no row is
    // computed twice.
    if (const int32_t unit = use_.boundary_unit[index_of(Processor::Gpu)];
        unit > 0 && !to_cpu.empty()) {
      const int32_t begin = to_cpu.rows.begin / unit * unit;
      if (begin > 0)
        value_tensors_.boundary[index_of(Processor::Gpu)] = {{begin, gpu.rows.end}, gpu.channels};
    }
    if (const int32_t unit = use_.boundary_unit[index_of(Processor::Cpu)];
        unit > 0 && !to_gpu.empty()) {
      const int32_t end = round_up(to_gpu.rows.end, unit);
      if (end < cpu.rows.end)
        value_tensors_.boundary[index_of(Processor::Cpu)] = {{cpu.rows.begin, end}, cpu.channels};
    }
  }

  Form form_on(Processor processor) const { return value_tensors_.forms[index_of(processor)]; }
  bool is_of_one_form() const { return form_on(Processor::Cpu) == form_on(Processor::Gpu); }
  static Storage storage_of(Processor processor, Form form) {
    if (processor == Processor::Cpu) return Storage::Host;
    return is_image(form) ? Storage::Image : Storage::Device;
  }
  Storage gpu_storage() const { return storage_of(Processor::Gpu, form_on(Processor::Gpu)); }

  bool one_memory_serves() const {
    if (!is_of_one_form() || profile_.transfer.sharing == Sharing::Separate) return false;
    const Region& cpu = use_.queues[index_of(Processor::Cpu)].computed;
    const Region& gpu = use_.queues[index_of(Processor::Gpu)].computed;
    if (profile_.transfer.sharing == Sharing::SubBuffer) return cpu.empty() || gpu.empty();
    return !cpu.overlaps(gpu);  // FineSvm: both may write, but not the same bytes
  }

  Range window(Processor processor) const {
    const QueueUse& use = use_.queues[index_of(processor)];
    return hull(use.computed.empty() ? Range{} : use.computed.rows,
                use.read.empty() ? Range{} : use.read.rows);
  }

  void add_own(Processor processor, Storage storage, Range rows) {
    const TensorSlot slot = processor == Processor::Cpu ? TensorSlot::Cpu : TensorSlot::Gpu;
    value_tensors_.tensor[index_of(processor)] = add(slot, form_on(processor), storage, rows);
  }

  // Adds a tensor that has maps in `form`.
  TensorId add(TensorSlot slot, Form form, Storage storage, Range rows) {
    value_tensors_.tensors[static_cast<size_t>(slot)] = {
        true, value_shape(of_, form_with(of_, form), rows), storage};
    if (slot == TensorSlot::Cpu)
      value_tensors_.last_cpu_node = use_.queues[index_of(Processor::Cpu)].last_node;
    return tensor_id(value_, slot);
  }

  // Adds a tensor between those of the queues, as wide as the part that crosses, and in the form
  // that the CPU has.
  void add_staging(Storage storage) {
    constexpr TensorSlot kSlots[] = {TensorSlot::StagingToCpu, TensorSlot::StagingToGpu};
    for (Processor to : kProcessors) {
      const auto& missing = value_tensors_.missing[index_of(to)];
      Region crossing = hull(missing[0], missing[1]);
      if (crossing.empty()) continue;
      // Channels cross in every row the queue's tensor holds.
      if (!(crossing.channels == whole_region(type_).channels)) crossing.rows = {};
      value_tensors_.staging[index_of(to)] =
          add(kSlots[index_of(to)], form_on(Processor::Cpu), storage, crossing.rows);
    }
  }

  const ir::Value& of_;
  const ir::TensorType& type_;
  const DeviceProfile& profile_;
  const ir::ValueId value_;
  ValueUse use_;
  ValueTensors value_tensors_;
};

}  // namespace

TensorPlacer::TensorPlacer(const ir::Graph& graph, const DeviceProfile& profile)
    : graph_(graph), profile_(profile), readers_(graph.values().size()) {
  for (ir::NodeId node = 0; node < graph.nodes().size(); ++node)
    for (uint32_t i = 0; i < graph.node(node).inputs.size(); ++i)
      readers_[graph.node(node).inputs[i]].push_back({node, i});
}

ValueUse TensorPlacer::use_of(const PartitionPlan& plan, ir::ValueId value) const {
  const ir::Value& of = graph_.value(value);
  ValueUse use;
  // The application's inputs are there before the first step.
  if (of.is_input) use.queues[index_of(Processor::Cpu)].computed = whole_region(of.type);
  int32_t chain = -1;
  if (of.producer != ir::kNoId) {
    const NodePartition& node_partition = plan.node_partitions[of.producer];
    chain = node_partition.chain;
    add_made(node_partition, use);
  }
  for (const Reader& reader : readers_[value]) {
    const ir::NodeView view{graph_, graph_.node(reader.node)};
    const NodePartition& node_partition = plan.node_partitions[reader.node];
    for (const Part& part : node_partition.parts) {
      add_read(view, reader.operand, node_partition, part, use);
      use.is_read_in_chain |=
          is_real(of.type) && chain >= 0 && node_partition.chain == chain &&
          use.queues[index_of(part.processor)].made_in != listed_form(of, part.form);
    }
  }
  return use;
}

void TensorPlacer::add_made(const NodePartition& node_partition, ValueUse& use) const {
  const ir::Value& of = graph_.value(graph_.node(node_partition.node).output);
  for (const Part& part : node_partition.parts) {
    QueueUse& queue = use.queues[index_of(part.processor)];
    queue.computed = slab(of.type, node_partition.dim, part.computed);
    queue.last_node = node_partition.node;
    queue.made_in = listed_form(of, part.form);
    if (part.boundary_first)
      use.boundary_unit[index_of(part.processor)] = rows_at_once(*part.kernel);
  }
}

void TensorPlacer::add_read(const ir::NodeView& node, uint32_t operand,
                            const NodePartition& node_partition, const Part& part,
                            ValueUse& use) const {
  const Region region = read_region(node, operand, node_partition.dim, part.computed);
  QueueUse& queue = use.queues[index_of(part.processor)];
  queue.read = hull(queue.read, region);
  queue.last_node = std::max(queue.last_node, node_partition.node);
  const ir::Value& of = node.input_value(operand);
  if (!is_real(of.type)) return;
  Region& read = queue.read_in[index_of(part.processor, listed_form(of, part.form))];
  read = hull(read, region);
}

ValueTensors TensorPlacer::place(ir::ValueId value, ValueUse use) const {
  if (graph_.value(value).type.element_count() == 0) return {};  // no step touches it
  return Placing(graph_, profile_, value, use)
      .run(graph_.value(value).is_input, graph_.is_output(value));
}

}  // namespace codl::compiler
