// Predicts the costs of the alternatives that strategies choose between.
#pragma once

#include <array>
#include <optional>

#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/limits.h"
#include "compiler/partition/partition_plan.h"
#include "compiler/partition/segment_steps.h"
#include "compiler/partition/step_times.h"
#include "compiler/partition/value_tensors.h"
#include "llvm/ADT/DenseMap.h"

namespace codl::compiler {

// Says where a value's parts are after the node that made it.
enum class Assignment { Cpu, Gpu, Height, OutputChannel };
// Serves whole nodes.
constexpr Processor processor_of(Assignment whole) {
  return whole == Assignment::Cpu ? Processor::Cpu : Processor::Gpu;
}

// Adds in which form each processor has its part of a map, and which rows or channels, of `extent`,
// it has.
struct ValueSplit {
  Assignment assignment = Assignment::Cpu;
  FormPair forms = kBothBuffers;
  int32_t extent = 1;
  Range gpu = {0, 0};
  Range cpu = {0, 1};
  std::array<int32_t, 2> boundary_unit = {};  // as ValueUse has it

  // The value is on one processor only.
  static ValueSplit on_cpu(Form form = kBuffers) { return {Assignment::Cpu, {form, kBuffers}}; }
  static ValueSplit on_gpu(Form form) {
    return {Assignment::Gpu, {kBuffers, form}, 1, {0, 1}, {0, 0}};
  }
  // Returns where a node that is placed so leaves its value.
  static ValueSplit of(const NodePartition& node_partition);
  friend bool operator==(const ValueSplit&, const ValueSplit&) = default;
};

// Holds consecutive nodes that are placed alike: one node, or a chain.
struct Segment {
  std::vector<NodePartition> node_partitions;
  ValueSplit output;      // where its last node's result is
  double compute_us = 0;  // time of the slower processor
};

class CostModel {
 public:
  // Borrows the graph, which must not change while the model is used, and the predictor. A node is
  // not whole on the GPU where that takes a launch longer than `limits` allow. The rest is
  // PartitionOptions's.
  CostModel(const ir::Graph& graph, const LatencyPredictor& predictor,
            const PlanLimits& limits = {}, std::vector<PackingSet> packings = {},
            ir::Precision auto_as = ir::Precision::Auto);

  const ir::Graph& graph() const { return graph_; }
  const DeviceProfile& profile() const { return predictor_.profile(); }

  // Returns the forms that maps may have, the device's own first. Where values may have halves and
  // nothing is to be chosen, these are halves, and floats if some nodes have no others.
  llvm::ArrayRef<Form> forms_on(Processor processor) const { return forms_[index_of(processor)]; }
  llvm::ArrayRef<FormPair> form_pairs() const { return form_pairs_; }
  // Returns true if there are floats and halves to choose from.
  bool chooses_precision() const { return precision_ == ir::Precision::Auto; }
  // Returns the first pair that has images on the GPU, or none; the first of all if there is none.
  const FormPair& form_pair_with(bool has_images) const;

  // Returns the form that the node's maps have on the processor where `preferred` is asked for;
  // kBuffers where no kernel runs it there.
  Form form_of(ir::NodeId node, Processor processor, Form preferred) const {
    const auto& choice = choose_whole(node, processor, preferred);
    return choice ? choice->form : kBuffers;
  }

  // Returns the rule of compiler/partition/split_geometry.h, which is computed only once.
  const std::optional<SplitRule>& split_rule(ir::NodeId node, SplitDim dim) const {
    return split_rules_[dim == SplitDim::OutputChannel][node];
  }

  // Returns one node on one processor; nothing if no kernel of the device runs it, or if the GPU
  // would have to touch the application's memory (a graph input or output). Its maps have `form` if
  // there is a kernel for that, else another.
  std::optional<Segment> whole(ir::NodeId node, Processor processor, Form form) const;
  std::optional<Segment> whole(ir::NodeId node, Processor processor) const {
    return whole(node, processor, forms_on(processor).front());
  }

  // Returns nodes [first, last] in graph order, each cut along `dim` at about `ratio` (GPU share),
  // with the halo that a chain of rows computes twice, and the values that the GPU converts between
  // them. Returns nothing if a node cannot be cut so, if the nodes are not connected, or if a node
  // of a chain of channels reads channels that the other processor makes. `boundary_first`, by
  // processor, sets Part::boundary_first of parts of rows.
  std::optional<Segment> split(ir::NodeId first, ir::NodeId last, SplitDim dim, double ratio,
                               const FormPair& forms,
                               std::array<bool, 2> boundary_first = {}) const;
  std::optional<Segment> split(ir::NodeId first, ir::NodeId last, SplitDim dim,
                               double ratio) const {
    return split(first, last, dim, ratio, form_pairs().front());
  }

  // Returns the least time of a part of a node on a processor while the other one is idle, in any
  // form; nothing if no kernel runs it.
  std::optional<double> part_us(ir::NodeId node, Processor processor, SplitDim dim,
                                Range part) const;

  // Returns the GPU share at which both processors of [first, last] would end together if time were
  // linear.
  std::optional<double> balanced_ratio(ir::NodeId first, ir::NodeId last,
                                       const FormPair& forms) const;

  // Returns the time of a synchronisation to the GPU and one back, with nothing to move.
  double synchronisation_us() const {
    return predictor_.transfer().synchronisation_us(0, true) +
           predictor_.transfer().synchronisation_us(0, false);
  }

  // Describes a value that is made before a segment, and how the segment uses it.
  struct OutsideRead {
    ir::ValueId value = ir::kNoId;
    ValueUse use;  // nothing is computed yet
  };
  using OutsideReads = llvm::SmallVector<OutsideRead, 2>;
  OutsideReads outside_reads(const Segment& segment) const;

  // Returns the time to bring what a segment reads from outside to where it is read, in the form
  // in which it is read, if the nodes before left their values at `before`. It counts the
  // schedule's steps that do so, one after the other, the map with which the host writes its part,
  // and the waits.
  double transfer_us(const ValueSplit& before, llvm::ArrayRef<OutsideRead> reads) const;
  double transfer_us(const ValueSplit& before, const Segment& segment) const {
    return transfer_us(before, outside_reads(segment));
  }

 private:
  // Returns true if both processors have a kernel for all of it.
  bool can_be_split(ir::NodeId node) const {
    return choose_whole(node, Processor::Cpu, kBuffers) &&
           choose_whole(node, Processor::Gpu, kBuffers);
  }
  // Fills in what there is to choose from for the node as a whole.
  void add_node(ir::NodeId node, Processor processor, bool may_be_there, const PlanLimits& limits);
  // Calls choose_kernel() with maps in form `maps`, or in another where no kernel takes that.
  std::optional<KernelChoice> choose(ir::NodeId node, Processor processor, Form maps, SplitDim dim,
                                     Range part, bool other_processor_busy) const;
  llvm::ArrayRef<Form> forms_of(ir::NodeId node, Processor processor) const {
    return node_forms_[index_of(processor)][node];
  }
  // Returns the choice for the whole node, made at the start.
  const std::optional<KernelChoice>& choose_whole(ir::NodeId node, Processor processor,
                                                  Form maps) const {
    return whole_[index_of(processor)][index_of(processor, maps)][node];
  }
  // Calls choose() for a part of a split node, once for each part: longer and longer chains ask for
  // the same ones.
  std::optional<KernelChoice> choose_part(ir::NodeId node, Processor processor, Form maps,
                                          SplitDim dim, Range part) const;
  // Returns transfer_us() for one value, and asks for each use only once.
  double bring_us(ir::ValueId value, const ValueUse& use) const;
  // Returns the time of its steps without waits; infinite where no kernel moves the value.
  double steps_us(ir::ValueId value, const ValueUse& use, const ValueTensors& value_tensors) const;
  // Calls `add` with the time of each of them.
  void each_step_us(ir::ValueId value, const ValueUse& use, const ValueTensors& value_tensors,
                    llvm::function_ref<void(Queue queue, double us)> add) const;
  // Returns, by processor, the time of its conversions between the nodes of a chain.
  std::array<double, 2> conversions_us(llvm::ArrayRef<NodePartition> node_partitions) const;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  PackingSet packings_of(ir::NodeId node) const {
    return packings_.empty() ? kAllPackings : packings_[node];
  }

  const std::vector<PackingSet> packings_;  // indexed by node; empty: all
  const ir::Precision precision_;           // is the graph's, but auto_as in place of Auto
  std::array<FormList, 2> forms_;           // indexed by processor
  std::vector<FormPair> form_pairs_;
  // Holds, by processor and node, the forms to choose from.
  std::array<std::vector<FormList>, 2> node_forms_;
  // Holds choices for whole nodes, by processor, preferred form and node.
  std::array<std::array<std::vector<std::optional<KernelChoice>>, kMaxForms>, 2> whole_;
  // Identifies a part by node, processor, form, dim and range.
  using PartKey = std::pair<uint64_t, uint64_t>;
  mutable llvm::DenseMap<PartKey, std::optional<KernelChoice>> known_parts_;
  // Hold the rules for Height and OutputChannel, by node.
  std::vector<std::optional<SplitRule>> split_rules_[2];
  mutable llvm::DenseMap<uint64_t, double> known_ways_;  // bring_us(), by value and use
  TensorPlacer placer_;
  // Hold the value that is being priced, at its index.
  mutable std::vector<ValueTensors> value_tensors_;
  mutable std::vector<ValueState> states_;
  mutable SegmentSteps steps_;
  mutable StepTimes times_;
};

}  // namespace codl::compiler
