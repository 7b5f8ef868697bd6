#include "compiler/partition/cost_model.h"

#include <algorithm>
#include <limits>

#include "compiler/partition/split_geometry.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "llvm/ADT/STLExtras.h"
#include "schema/mix_bits.h"

namespace codl::compiler {
namespace {

// Returns the part that is in `range` of a place's extent, scaled for values of another extent.
Range scaled(Range range, int32_t extent, int32_t to) {
  if (extent == to) return range;
  const auto at = [&](int32_t end) { return static_cast<int32_t>(int64_t{end} * to / extent); };
  return {at(range.begin), at(range.end)};
}

double share_of(const Region& region, const Region& whole) {
  return static_cast<double>(region.rows.count()) / whole.rows.count() * region.channels.count() /
         whole.channels.count();
}

Region computed_region(const ir::TensorType& type, const ValueSplit& place, Range range) {
  if (range.empty()) return {};
  const Region whole = whole_region(type);
  switch (place.assignment) {
    case Assignment::Cpu:
    case Assignment::Gpu:
      return whole;
    case Assignment::Height:
      return {scaled(range, place.extent, whole.rows.end), whole.channels};
    case Assignment::OutputChannel: {
      // Steps that copy channels begin and end at whole panels, or with the value.
      const auto rounded = [&](int32_t channel) {
        return channel == whole.channels.end ? channel : channel - channel % kChannelPanel;
      };
      const Range channels = scaled(range, place.extent, whole.channels.end);
      return {whole.rows, {rounded(channels.begin), rounded(channels.end)}};
    }
  }
  __builtin_unreachable();
}

// The GPU may not touch the application's buffers (schema/plan.fbs, Storage).
bool touches_application_memory(const ir::Graph& graph, const ir::Node& node) {
  if (graph.is_output(node.output)) return true;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ir::ValueId input) { return graph.value(input).is_input; });
}

// Equal uses have one key; others hardly ever share it. No time depends on which node is last.
uint64_t key_of(ir::ValueId value, const ValueUse& use) {
  uint64_t key = value;
  const auto add = [&](int32_t high, int32_t low) {
    const uint64_t bits = uint64_t{static_cast<uint32_t>(high)} << 32 | static_cast<uint32_t>(low);
    key = mix_bits((key ^ bits) + kSplitMixStep);
  };
  const auto add_region = [&](const Region& region) {
    add(region.rows.begin, region.rows.end);
    add(region.channels.begin, region.channels.end);
  };
  for (const QueueUse& queue : use.queues) {
    add_region(queue.computed);
    add_region(queue.read);
    for (const Region& read : queue.read_in) add_region(read);
    add(queue.made_in ? static_cast<int32_t>(bits_of(*queue.made_in)) : -1, use.is_read_in_chain);
  }
  add(use.boundary_unit[0], use.boundary_unit[1]);
  // llvm::DenseMap keeps two keys for itself.
  return key < UINT64_MAX - 1 ? key : 0;
}

// Returns the choice in the form nearest to `maps` that has one: of the same dtype, else of the
// same layout, else any.
std::optional<KernelChoice> first_choice(
    llvm::ArrayRef<Form> forms, Form maps,
    llvm::function_ref<std::optional<KernelChoice>(Form form)> choice_in) {
  const auto distance = [&](Form form) {
    return (form.dtype == maps.dtype ? 0 : 2) + (form.layout == maps.layout ? 0 : 1);
  };
  for (int near = 0; near <= 3; ++near)
    for (Form form : forms)
      if (distance(form) == near)
        if (std::optional<KernelChoice> choice = choice_in(form)) return choice;
  return std::nullopt;
}

// Returns true if a launch of the whole node is longer than limits allow and cannot be cut. The
// user may ask for it all the same (--place).
bool exceeds_slice(const ir::NodeView& view, const KernelChoice& choice, const PlanLimits& limits,
                   const DeviceProfile& profile) {
  if (!limits.max_gpu_slice_us ||
      choice.predicted_us * crowded_factor(profile) <= *limits.max_gpu_slice_us)
    return false;
  for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
    if (choice.kernel->can_split(dim) && compiler::split_rule(view, dim)) return false;
  return llvm::none_of(limits.places,
                       [&](const UserPlace& place) { return place.node == view.node.name; });
}

}  // namespace

ValueSplit ValueSplit::of(const NodePartition& node_partition) {
  const Part* gpu = node_partition.part_on(Processor::Gpu);
  const Part* cpu = node_partition.part_on(Processor::Cpu);
  if (gpu == nullptr) return on_cpu(cpu->form);
  if (cpu == nullptr) return on_gpu(gpu->form);
  ValueSplit place = {
      node_partition.dim == SplitDim::Height ? Assignment::Height : Assignment::OutputChannel,
      forms_of(node_partition), cpu->owned.end, gpu->computed, cpu->computed};
  for (const Part& part : node_partition.parts)
    if (part.boundary_first)
      place.boundary_unit[index_of(part.processor)] = rows_at_once(*part.kernel);
  return place;
}

CostModel::CostModel(const ir::Graph& graph, const LatencyPredictor& predictor,
                     const PlanLimits& limits, std::vector<PackingSet> packings,
                     ir::Precision auto_as)
    : graph_(graph),
      predictor_(predictor),
      packings_(std::move(packings)),
      precision_(precision_of(graph) == ir::Precision::Auto ? auto_as : precision_of(graph)),
      placer_(graph, predictor.profile()),
      value_tensors_(graph.values().size()),
      states_(graph.values().size()),
      steps_(graph, predictor.profile(), value_tensors_, states_),
      times_(graph, predictor, value_tensors_) {
  const bool may_be_bytes = has_grids(graph);
  form_pairs_ = map_form_pairs(profile(), precision_, may_be_bytes);
  for (ir::NodeId node = 0; node < graph.nodes().size(); ++node) {
    const ir::NodeView view{graph, graph.node(node)};
    for (SplitDim dim : {SplitDim::Height, SplitDim::OutputChannel})
      split_rules_[dim == SplitDim::OutputChannel].push_back(compiler::split_rule(view, dim));
    const bool gpu_may = profile().has_gpu && !touches_application_memory(graph, graph.node(node));
    add_node(node, Processor::Cpu, true, limits);
    add_node(node, Processor::Gpu, gpu_may, limits);
  }
  for (Processor processor : kProcessors) {
    const size_t at = index_of(processor);
    const bool has_floats = llvm::any_of(whole_[at], [](const auto& choices) {
      return llvm::any_of(
          choices, [](const auto& choice) { return choice && choice->form.dtype == DType::F32; });
    });
    // Some nodes may have floats only, or kernels for nothing else.
    const bool is_mixed = precision_ == ir::Precision::Fp16 && has_floats;
    forms_[at] =
        map_forms(processor, profile(), is_mixed ? ir::Precision::Auto : precision_, may_be_bytes);
  }
}

void CostModel::add_node(ir::NodeId node, Processor processor, bool may_be_there,
                         const PlanLimits& limits) {
  const ir::NodeView view{graph_, graph_.node(node)};
  FormList forms = map_forms(view, processor, profile());
  std::array<std::optional<KernelChoice>, kMaxForms> choices;  // indexed by form
  const auto choice_in = [&](Form form) -> const std::optional<KernelChoice>& {
    return choices[index_of(processor, form)];
  };
  if (may_be_there)
    for (Form form : forms)
      choices[index_of(processor, form)] = choose_kernel(view, processor, form, SplitDim::None, {},
                                                         predictor_, false, packings_of(node));
  // One type alone is taken wherever there are kernels for it, which packings may leave out.
  ir::Precision precision = precision_of(view);
  if (precision == ir::Precision::Auto) precision = precision_;
  const auto is_wanted = [&](Form form) {
    return form.dtype == DType::I8 ||  // which lose nothing
           (form.dtype == DType::F16) == (precision == ir::Precision::Fp16);
  };
  if (precision != ir::Precision::Auto &&
      llvm::any_of(forms, [&](Form form) { return is_wanted(form) && choice_in(form); }))
    llvm::erase_if(forms, [&](Form form) { return !is_wanted(form); });
  for (Form maps : map_forms(processor)) {
    std::optional<KernelChoice> choice = first_choice(forms, maps, choice_in);
    if (choice && processor == Processor::Gpu && exceeds_slice(view, *choice, limits, profile()))
      choice.reset();
    whole_[index_of(processor)][index_of(processor, maps)].push_back(choice);
  }
  node_forms_[index_of(processor)].push_back(std::move(forms));
}

const FormPair& CostModel::form_pair_with(bool has_images) const {
  const auto found = llvm::find_if(form_pairs_, [&](const FormPair& pair) {
    return is_image(pair[index_of(Processor::Gpu)]) == has_images;
  });
  return found == form_pairs_.end() ? form_pairs_.front() : *found;
}

std::optional<KernelChoice> CostModel::choose(ir::NodeId node, Processor processor, Form maps,
                                              SplitDim dim, Range part,
                                              bool other_processor_busy) const {
  const ir::NodeView view{graph_, graph_.node(node)};
  return first_choice(forms_of(node, processor), maps, [&](Form form) {
    return choose_kernel(view, processor, form, dim, part, predictor_, other_processor_busy,
                         packings_of(node));
  });
}

std::optional<Segment> CostModel::whole(ir::NodeId node, Processor processor, Form form) const {
  const std::optional<KernelChoice>& choice = choose_whole(node, processor, form);
  if (!choice) return std::nullopt;
  Segment segment;
  segment.compute_us = choice->predicted_us;
  NodePartition node_partition;
  node_partition.node = node;
  node_partition.parts.push_back(
      {processor, choice->kernel, choice->form, {0, 1}, {0, 1}, choice->predicted_us});
  segment.output = ValueSplit::of(node_partition);
  segment.node_partitions.push_back(std::move(node_partition));
  return segment;
}

std::optional<KernelChoice> CostModel::choose_part(ir::NodeId node, Processor processor, Form maps,
                                                   SplitDim dim, Range part) const {
  // The key is mixed, one to one, because llvm::DenseMap looks at few bits of a number.
  const PartKey key{mix_bits(uint64_t{node} << 32 | static_cast<uint64_t>(processor) << 24 |
                             uint64_t{bits_of(maps)} << 8 | static_cast<uint64_t>(dim)),
                    mix_bits(uint64_t{static_cast<uint32_t>(part.begin)} << 32 |
                             static_cast<uint32_t>(part.end))};
  const auto [known, is_new] = known_parts_.try_emplace(key);
  if (is_new) known->second = choose(node, processor, maps, dim, part, true);
  return known->second;
}

std::optional<Segment> CostModel::split(ir::NodeId first, ir::NodeId last, SplitDim dim,
                                        double ratio, const FormPair& forms,
                                        std::array<bool, 2> boundary_first) const {
  std::vector<ir::NodeId> nodes;
  std::vector<Range> owned[2];  // indexed by processor
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
  double processor_us[2] = {};  // indexed by processor
  // The CPU's thread gives the GPU its steps first.
  processor_us[index_of(Processor::Cpu)] =
      predictor_.transfer().enqueue_time_us() * static_cast<double>(nodes.size());
  for (Processor processor : {Processor::Gpu, Processor::Cpu}) {
    const std::vector<Range>& own = owned[index_of(processor)];
    const std::vector<Range> computed = computed_ranges(graph_, nodes, dim, own);
    // To compute a channel twice is to compute most of them twice.
    if (dim == SplitDim::OutputChannel && computed != own) return std::nullopt;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto choice =
          choose_part(nodes[i], processor, forms[index_of(processor)], dim, computed[i]);
      if (!choice) return std::nullopt;
      processor_us[index_of(processor)] += choice->predicted_us;
      segment.node_partitions[i].node = nodes[i];
      segment.node_partitions[i].dim = dim;
      segment.node_partitions[i].parts.push_back(
          {processor, choice->kernel, choice->form, own[i], computed[i], choice->predicted_us,
           dim == SplitDim::Height && boundary_first[index_of(processor)]});
    }
  }
  const std::array<double, 2> conversions = conversions_us(segment.node_partitions);
  for (size_t at = 0; at < 2; ++at) processor_us[at] += conversions[at];
  segment.compute_us = std::max(processor_us[0], processor_us[1]);
  segment.output = ValueSplit::of(segment.node_partitions.back());
  return segment;
}

std::array<double, 2> CostModel::conversions_us(
    llvm::ArrayRef<NodePartition> node_partitions) const {
  std::array<double, 2> us = {};
  const ir::NodeId first = node_partitions.front().node;
  for (const NodePartition& maker : node_partitions) {
    const ir::ValueId value = graph_.node(maker.node).output;
    const ir::Value& of = graph_.value(value);
    if (!is_real(of.type)) continue;
    ValueUse use;
    placer_.add_made(maker, use);
    for (const TensorPlacer::Reader& reader : placer_.readers(value)) {
      if (reader.node > node_partitions.back().node) break;
      const NodePartition& user = node_partitions[reader.node - first];
      for (const Part& part : user.parts) {
        placer_.add_read({graph_, graph_.node(reader.node)}, reader.operand, user, part, use);
        use.is_read_in_chain |=
            use.queues[index_of(part.processor)].made_in != listed_form(of, part.form);
      }
    }
    if (use.is_read_in_chain)
      each_step_us(value, use, placer_.place(value, use), [&](Queue queue, double step_us) {
        us[index_of(processor_of(queue))] += step_us;
      });
  }
  return us;
}

std::optional<double> CostModel::part_us(ir::NodeId node, Processor processor, SplitDim dim,
                                         Range part) const {
  if (!can_be_split(node)) return std::nullopt;
  const ir::NodeView view{graph_, graph_.node(node)};
  std::optional<double> least_us;
  for (Form form : forms_of(node, processor)) {
    const auto choice =
        choose_kernel(view, processor, form, dim, part, predictor_, false, packings_of(node));
    if (choice) least_us = std::min(least_us.value_or(choice->predicted_us), choice->predicted_us);
  }
  return least_us;
}

std::optional<double> CostModel::balanced_ratio(ir::NodeId first, ir::NodeId last,
                                                const FormPair& forms) const {
  double cpu_us = 0, gpu_us = 0;
  for (ir::NodeId id = first; id <= last; ++id) {
    if (!can_be_split(id)) return std::nullopt;
    const auto us_on = [&](Processor processor) {
      return choose_whole(id, processor, forms[index_of(processor)])->predicted_us;
    };
    cpu_us += us_on(Processor::Cpu);
    gpu_us += us_on(Processor::Gpu);
  }
  return cpu_us + gpu_us > 0 ? cpu_us / (cpu_us + gpu_us) : 0.5;
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

double CostModel::transfer_us(const ValueSplit& before, llvm::ArrayRef<OutsideRead> reads) const {
  double us = 0;
  for (const OutsideRead& read : reads) {
    const ir::Value& of = graph_.value(read.value);
    const auto& [cpu, gpu] = read.use.queues;
    const FormPair forms = {listed_form(of, before.forms[0]), listed_form(of, before.forms[1])};
    const auto& [cpu_form, gpu_form] = forms;
    // Nothing moves if the value is read where it is, in the form that it has there.
    if (before.gpu.empty() && !gpu.is_used() && cpu.read_but_in(Processor::Cpu, cpu_form).empty())
      continue;
    if (before.cpu.empty() && !cpu.is_used() && gpu.read_but_in(Processor::Gpu, gpu_form).empty())
      continue;
    ValueUse use = read.use;
    for (Processor processor : kProcessors) {
      const Range range = processor == Processor::Cpu ? before.cpu : before.gpu;
      QueueUse& queue = use.queues[index_of(processor)];
      queue.computed = computed_region(of.type, before, range);
      if (!range.empty()) queue.made_in = forms[index_of(processor)];
    }
    use.boundary_unit = before.boundary_unit;
    us += bring_us(read.value, use);
  }
  return us;
}

double CostModel::bring_us(ir::ValueId value, const ValueUse& use) const {
  const auto [known, is_new] = known_ways_.try_emplace(key_of(value, use));
  if (!is_new) return known->second;
  const ir::Value& of = graph_.value(value);
  const ValueTensors value_tensors = placer_.place(value, use);
  double us = steps_us(value, use, value_tensors);
  const Form crossing = value_tensors.forms[index_of(Processor::Cpu)];
  const double bytes = static_cast<double>(value_shape(of, form_with(of, crossing), {}).bytes);
  for (const Processor to : kProcessors) {
    const QueueUse& queue = use.queues[index_of(to)];
    // A boundary that is transferred while the rest is computed is there in time.
    if (queue.read.empty() || queue.computed.contains(queue.read) ||
        !value_tensors.boundary[index_of(other_of(to))].empty())
      continue;
    double share = 0;
    for (const Region& region : value_tensors.missing[index_of(to)])
      share += share_of(region, whole_region(of.type));
    us += predictor_.transfer().wait_us(share * bytes, to == Processor::Gpu);
  }
  return known->second = us;
}

double CostModel::steps_us(ir::ValueId value, const ValueUse& use,
                           const ValueTensors& value_tensors) const {
  double us = 0;
  each_step_us(value, use, value_tensors, [&](Queue, double step_us) { us += step_us; });
  return us;
}

void CostModel::each_step_us(ir::ValueId value, const ValueUse& use,
                             const ValueTensors& value_tensors,
                             llvm::function_ref<void(Queue queue, double us)> add) const {
  value_tensors_[value] = value_tensors;
  llvm::Error error =
      steps_.emit_transfers(value, use, [&](const PlannedStep& step) -> llvm::Error {
        CODL_ASSIGN_OR_RETURN(time, times_.time(step));
        add(step.queue, time.with_launch().us);
        return llvm::Error::success();
      });
  if (!error) return;
  llvm::consumeError(std::move(error));
  add(Queue::Gpu, std::numeric_limits<double>::infinity());
}

}  // namespace codl::compiler
