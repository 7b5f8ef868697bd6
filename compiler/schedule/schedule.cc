// The partition plan made executable.
//
// For every value and lane: what the lane computes, what its nodes read, and what is missing. From
// these alone follow the tensors (placements.cc), then segment by segment (a chain, or one node)
// the steps: exchange what is missing, hand shared tensors to the host, run the kernels. Chains
// need no rule of their own: a lane that computes all it reads misses nothing.
#include "compiler/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/split_geometry.h"
#include "compiler/schedule/lane_order.h"
#include "compiler/schedule/placements.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "kernels/pack.h"
#include "kernels/work_table.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/printable.h"

namespace codl::compiler {

namespace {

class Scheduler {
 public:
  Scheduler(const ir::Graph& graph, const PartitionPlan& plan, const LatencyPredictor& predictor)
      : graph_(graph), plan_(plan), profile_(predictor.profile()), predictor_(predictor) {}

  llvm::Expected<Schedule> run(llvm::StringRef variant) {
    schedule_.name = variant.str();
    schedule_.gate = profile_.gate;
    placements_ = place_values(graph_, plan_, profile_, schedule_);
    mapped_.resize(schedule_.tensors.size(), Mapped::No);
    for (ir::NodeId first = 0; first < plan_.divisions.size();) {
      const ir::NodeId last = last_of_segment(plan_, first);
      if (llvm::Error error = emit_segment(first, last)) return error;
      first = last + 1;
    }
    while (!on_host_.empty()) unmap(*on_host_.begin());
    if (llvm::any_of(schedule_.steps, [](const Step& step) { return step.lane != Lane::Cpu; }))
      schedule_.sharing = profile_.exchange.sharing;
    order_lanes(graph_, schedule_);
    return std::move(schedule_);
  }

 private:
  enum class Mapped : uint8_t { No, Read, Write };

  llvm::Error emit_segment(ir::NodeId first, ir::NodeId last) {
    for (ir::NodeId id = first; id <= last; ++id)
      for (const Part& part : plan_.divisions[id].parts)
        if (llvm::Error error = bring_operands(id, part, first)) return error;
    // Ahead of the segment's kernels, so that no map waits in the queue behind them.
    read_by_gpu_.clear();
    for (ir::NodeId id = first; id <= last; ++id)
      if (const Part* part = plan_.divisions[id].part_on(Processor::Gpu))
        for (ir::ValueId value : graph_.node(id).inputs) {
          const ValuePlacement& placement = placements_.values[value];
          for (TensorId tensor : {placement.tensor_for(*part), placement.tensor_on(Processor::Gpu)})
            if (tensor != kNoTensor) read_by_gpu_.insert(tensor);
        }
    for (ir::NodeId id = first; id <= last; ++id) map_operands(id);
    for (ir::NodeId id = first; id <= last; ++id)
      for (const Part& part : plan_.divisions[id].parts)
        if (llvm::Error error = emit_kernel(id, part)) return error;
    const std::set<TensorId> on_host = on_host_;
    for (TensorId tensor : on_host)
      if (placements_.last_cpu_node[tensor] <= last) unmap(tensor);
    return llvm::Error::success();
  }

  // Exchanges what the lane reads and has not computed, once per value, before the first segment
  // that reads it from outside. Inside the chain that makes a value nothing is missing, and nothing
  // is there yet to exchange: what is missing then, nodes behind the chain read.
  llvm::Error bring_operands(ir::NodeId node, const Part& part, ir::NodeId segment_first) {
    for (ir::ValueId value : graph_.node(node).inputs) {
      const ir::NodeId producer = graph_.value(value).producer;
      if (producer != ir::kNoId && producer >= segment_first) continue;
      ValuePlacement& placement = placements_.values[value];
      const Processor home = placement.home_of(part);
      for (Region& region : placement.missing_on(home)) {
        if (region.empty()) continue;
        const Region missing = region;
        region = {};
        if (llvm::Error error = exchange(value, placement, home, missing)) return error;
        if (home == Processor::Gpu)
          if (llvm::Error error = convert_layout(value, missing)) return error;
      }
    }
    return llvm::Error::success();
  }

  // To the GPU's tensor of the other layout, if there is one, what has come to be in its first: of
  // its `piece`, a range of rows or of channels, all that is read there.
  llvm::Error convert_layout(ir::ValueId value, Region piece) {
    const ValuePlacement& placement = placements_.values[value];
    if (placement.other_layout == kNoTensor) return llvm::Error::success();
    const Region whole = whole_region(graph_.value(value).type);
    const Region& read = placement.converted;
    if (piece.channels == whole.channels && !(read.rows == whole.rows))
      piece.rows = intersection(piece.rows, read.rows);
    else if (piece.rows == whole.rows)
      piece.channels = intersection(piece.channels, read.channels);
    if (piece.empty()) return llvm::Error::success();
    const TensorId from = placement.tensor_on(Processor::Gpu);
    if (mapped_[from] == Mapped::Write) unmap(from);
    return copy_on_gpu(value, from, placement.other_layout, piece);
  }

  llvm::Error exchange(ir::ValueId value, const ValuePlacement& placement, Processor to,
                       const Region& region) {
    const TensorId gpu = placement.tensor_on(Processor::Gpu);
    const TensorId cpu = placement.tensor_on(Processor::Cpu);
    if (gpu == cpu) return llvm::Error::success();  // one memory: waits are enough
    const TensorId staging = placement.staging_on(to);
    const bool to_gpu = to == Processor::Gpu;
    if (profile_.exchange.sharing != Sharing::Separate) {
      unmap(cpu);
      return copy_on_gpu(value, to_gpu ? cpu : gpu, to_gpu ? gpu : cpu, region);
    }
    if (staging == kNoTensor) {
      transfer(value, to_gpu ? StepKind::Upload : StepKind::Download, to_gpu ? cpu : gpu,
               to_gpu ? gpu : cpu, region);
      return llvm::Error::success();
    }
    if (to_gpu) {
      transfer(value, StepKind::Upload, cpu, staging, region);
      return copy_on_gpu(value, staging, gpu, region);
    }
    if (llvm::Error error = copy_on_gpu(value, gpu, staging, region)) return error;
    transfer(value, StepKind::Download, staging, cpu, region);
    return llvm::Error::success();
  }

  // The part of a step that copies `region`: rows, channels, or all.
  void set_part(Step& step, ir::ValueId value, const Region& region) const {
    const Region whole = whole_region(graph_.value(value).type);
    if (!(region.channels == whole.channels)) {  // of every row that both tensors hold
      step.part_dim = SplitDim::OutputChannel;
      step.part = region.channels;
    } else if (!(region.rows == whole.rows)) {
      step.part_dim = SplitDim::Height;
      step.part = region.rows;
    }
  }

  void transfer(ir::ValueId value, StepKind kind, TensorId from, TensorId to,
                const Region& region) {
    Step step;
    step.kind = kind;
    step.lane = Lane::Transfer;
    step.operands = {from, to};
    step.name = graph_.value(value).name;
    set_part(step, value, region);
    push(std::move(step), ir::kNoId);
  }

  llvm::Error copy_on_gpu(ir::ValueId value, TensorId from, TensorId to, const Region& region) {
    Step step;
    step.lane = Lane::Gpu;
    step.operands = {from, to};
    step.name = graph_.value(value).name;
    set_part(step, value, region);
    kernels::OperandShape shapes[kernels::kMaxOperands];
    step.kernel = choose_mover(schedule_.shape_of(step, shapes), predictor_);
    if (step.kernel == nullptr)
      return internal_error(step.name,
                            "expected a GPU kernel that exchanges the value between the lanes");
    push(std::move(step), ir::kNoId);
    return llvm::Error::success();
  }

  void push(Step step, ir::NodeId node) {
    schedule_.steps.push_back(std::move(step));
    schedule_.nodes.push_back(node);
  }

  // Shared tensors of the node's CPU part go to the host.
  void map_operands(ir::NodeId id) {
    const Division& division = plan_.divisions[id];
    if (division.part_on(Processor::Cpu) == nullptr) return;
    const ir::Node& node = graph_.node(id);
    for (ir::ValueId value : node.inputs)
      map(placements_.values[value].tensor_on(Processor::Cpu), Mapped::Read);
    map(placements_.values[node.output].tensor_on(Processor::Cpu), Mapped::Write);
  }

  bool needs_map(TensorId tensor) const {
    return profile_.exchange.sharing == Sharing::SubBuffer && tensor != kNoTensor &&
           schedule_.tensors[tensor].storage == Storage::Shared;
  }

  // A tensor mapped for reading may be read by both lanes at once (OpenCL 1.2, 5.4.2.1); one mapped
  // for writing belongs to the host alone.
  void map(TensorId tensor, Mapped access) {
    if (!needs_map(tensor)) return;
    if (mapped_[tensor] == Mapped::Write && access == Mapped::Read && read_by_gpu_.contains(tensor))
      unmap(tensor);
    if (mapped_[tensor] >= access) return;
    unmap(tensor);
    // Whoever writes may read its own rows again later without another map.
    push_map(tensor, StepKind::Map,
             access == Mapped::Read ? MapAccess::Read : MapAccess::ReadWrite);
    mapped_[tensor] = access;
    on_host_.insert(tensor);
  }

  void unmap(TensorId tensor) {
    if (mapped_[tensor] == Mapped::No) return;
    push_map(tensor, StepKind::Unmap, MapAccess::Read);
    mapped_[tensor] = Mapped::No;
    on_host_.erase(tensor);
  }

  void push_map(TensorId tensor, StepKind kind, MapAccess access) {
    Step step;
    step.kind = kind;
    step.lane = Lane::Gpu;
    step.operands = {tensor};
    step.map_access = access;
    step.name = schedule_.tensors[tensor].name;
    push(std::move(step), ir::kNoId);
  }

  llvm::Error emit_kernel(ir::NodeId id, const Part& part) {
    const Division& division = plan_.divisions[id];
    const ir::Node& node = graph_.node(id);
    Step step;
    step.lane = part.processor == Processor::Cpu ? Lane::Cpu : Lane::Gpu;
    step.kernel = part.kernel;
    step.params = node.params.words();
    step.name = node.name;
    if (division.is_split()) {
      step.part_dim = division.dim;
      step.part = part.computed;
      step.owned = part.owned;
    }
    for (uint32_t i = 0; i < node.inputs.size(); ++i)
      step.operands.push_back(operand_tensor(id, i, part));
    const TensorId output = placements_.values[node.output].tensor_on(part.processor);
    step.operands.push_back(output);
    if (part.processor == Processor::Gpu) {
      for (ir::ValueId value : node.inputs)
        if (placements_.values[value].reads_converted(part)) {
          const Region made = std::exchange(placements_.values[value].made, {});
          if (llvm::Error error = convert_layout(value, made)) return error;
        }
      step.tile = tile_of(step);
      for (TensorId tensor : step.operands)
        if (mapped_[tensor] == Mapped::Write) unmap(tensor);
      unmap(output);
    }
    kernels::OperandShape shapes[kernels::kMaxOperands];
    kernels::StepNeeds needs;
    if (const char* expected = kernels::check_step(schedule_.shape_of(step, shapes), &needs))
      return internal_error(step.name, "{0}: expected {1}", step.kernel->symbol, expected);
    push(std::move(step), id);
    return llvm::Error::success();
  }

  std::vector<int32_t> tile_of(const Step& step) const {
    kernels::OperandShape shapes[kernels::kMaxOperands];
    int32_t tile[kernels::kMaxTileInts];
    const uint32_t count =
        kernels::choose_tile(schedule_.shape_of(step, shapes), profile_.gpu_facts, tile);
    return {tile, tile + count};
  }

  TensorId operand_tensor(ir::NodeId id, uint32_t operand, const Part& part) {
    const ir::NodeView view{graph_, graph_.node(id)};
    const ir::ValueId value = view.node.inputs[operand];
    if (!graph_.value(value).is_constant) return placements_.values[value].tensor_for(part);
    const kernels::OperandShape shape = constant_shape(view, operand, *part.kernel);
    const Blob blob{value, part.kernel->packing_of(operand), groups_of(view.node), shape.bytes};
    // A constant has as many blobs as there are ways to pack it.
    llvm::SmallVector<TensorId, 1>& known = blob_tensors_[value];
    for (TensorId tensor : known)
      if (schedule_.blobs[schedule_.tensors[tensor].index] == blob) return tensor;
    const auto tensor = static_cast<TensorId>(schedule_.tensors.size());
    known.push_back(tensor);
    schedule_.tensors.push_back({graph_.value(value).name, shape, Storage::Weights,
                                 static_cast<uint32_t>(schedule_.blobs.size())});
    schedule_.values.push_back(value);
    schedule_.blobs.push_back(blob);
    mapped_.push_back(Mapped::No);
    placements_.last_cpu_node.push_back(0);
    return tensor;
  }

  const ir::Graph& graph_;
  const PartitionPlan& plan_;
  const DeviceProfile& profile_;
  const LatencyPredictor& predictor_;
  Schedule schedule_;
  Placements placements_;
  std::vector<Mapped> mapped_;            // by tensor, at this point of the list
  std::set<TensorId> on_host_;            // those that are mapped
  llvm::DenseSet<TensorId> read_by_gpu_;  // in the segment at hand
  llvm::DenseMap<ir::ValueId, llvm::SmallVector<TensorId, 1>> blob_tensors_;  // by constant
};

std::string print_step(const Variant& variant, StepId id) {
  const Step& step = variant.steps[id];
  std::string text;
  llvm::raw_string_ostream os(text);
  os << id << " " << name_of(step.lane) << " "
     << (step.kernel ? step.kernel->symbol : name_of(step.kind)) << " "
     << tools::printable(step.name);
  if (step.part_dim == SplitDim::Height)
    os << " rows[" << step.part.begin << "," << step.part.end << ")";
  if (step.part_dim == SplitDim::OutputChannel)
    os << " channels[" << step.part.begin << "," << step.part.end << ")";
  const size_t inputs = step.kind == StepKind::Map || step.kind == StepKind::Unmap
                            ? step.operands.size()
                            : step.operands.size() - 1;
  const char* separator = " in=";
  for (size_t i = 0; i < inputs; ++i, separator = ",") os << separator << "t" << step.operands[i];
  if (inputs < step.operands.size()) os << " out=t" << step.operands.back();
  os << " waits=[";
  for (size_t i = 0; i < step.waits.size(); ++i) os << (i ? "," : "") << step.waits[i];
  os << llvm::formatv("] predicted={0:f1}us", step.predicted_us);
  return text;
}

}  // namespace

llvm::Expected<Schedule> make_schedule(const ir::Graph& graph, const PartitionPlan& plan,
                                       const LatencyPredictor& predictor, llvm::StringRef variant) {
  return Scheduler(graph, plan, predictor).run(variant);
}

std::string print(const Variant& variant) {
  std::string text =
      llvm::formatv("variant {0} predicted={1:f1}us\n", variant.name, variant.predicted_us).str();
  for (StepId id = 0; id < variant.steps.size(); ++id) text += print_step(variant, id) + "\n";
  return text;
}

}  // namespace codl::compiler
