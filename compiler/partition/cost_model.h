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

// Adds how the GPU has its part of a map, Nhwc or Image2d (Nhwc where it has none), and which rows
// or channels, of `extent`, each processor has.
struct ValueSplit {
  Assignment assignment = Assignment::Cpu;
  Layout maps = Layout::Nhwc;
  int32_t extent = 1;
  Range gpu = {0, 0};
  Range cpu = {0, 1};
  std::array<int32_t, 2> boundary_unit = {};  // as ValueUse has it

  // The value is on the CPU only.
  static ValueSplit on_cpu() { return {}; }
  static ValueSplit on_gpu(Layout maps) { return {Assignment::Gpu, maps, 1, {0, 1}, {0, 0}}; }
  // Returns where a node that is placed so leaves its value.
  static ValueSplit of(const NodePartition& node_partition);
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
  // not whole on the GPU where that takes a launch longer than `limits` allow. `packings` is
  // PartitionOptions::packings.
  CostModel(const ir::Graph& graph, const LatencyPredictor& predictor,
            const PlanLimits& limits = {}, std::vector<PackingSet> packings = {});

  const ir::Graph& graph() const { return graph_; }
  const DeviceProfile& profile() const { return predictor_.profile(); }

  // Returns the layouts that maps may have on the GPU, the device's own first.
  llvm::ArrayRef<Layout> gpu_maps() const;

  // Returns the layout that the node's maps have on the GPU where `preferred` is asked for; Nhwc
  // where no kernel runs it there.
  Layout gpu_maps_of(ir::NodeId node, Layout preferred) const {
    const auto& choice = choose_whole(node, Processor::Gpu, preferred);
    return choice ? choice->maps : Layout::Nhwc;
  }

  // Returns the rule of compiler/partition/split_geometry.h, which is computed only once.
  const std::optional<SplitRule>& split_rule(ir::NodeId node, SplitDim dim) const {
    return split_rules_[dim == SplitDim::OutputChannel][node];
  }

  // Returns one node on one processor; nothing if no kernel of the device runs it, or if the GPU
  // would have to touch the application's memory (a graph input or output). The GPU has its maps in
  // layout `maps` if it has a kernel for that, else in another; Image2d stands for the device's
  // own.
  std::optional<Segment> whole(ir::NodeId node, Processor processor,
                               Layout maps = Layout::Image2d) const;

  // Returns nodes [first, last] in graph order, each cut along `dim` at about `ratio` (GPU share),
  // with the halo that a chain of rows computes twice, and the values that the GPU converts between
  // them. Returns nothing if a node cannot be cut so, if the nodes are not connected, or if a node
  // of a chain of channels reads channels that the other processor makes. `boundary_first`, by
  // processor, sets Part::boundary_first of parts of rows.
  std::optional<Segment> split(ir::NodeId first, ir::NodeId last, SplitDim dim, double ratio,
                               Layout maps = Layout::Image2d,
                               std::array<bool, 2> boundary_first = {}) const;

  // Returns the least time of a part of a node on a processor while the other one is idle, in any
  // layout; nothing if no kernel runs it.
  std::optional<double> part_us(ir::NodeId node, Processor processor, SplitDim dim,
                                Range part) const;

  // Returns the GPU share at which both processors of [first, last] would end together if time were
  // linear.
  std::optional<double> balanced_ratio(ir::NodeId first, ir::NodeId last,
                                       Layout maps = Layout::Image2d) const;

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

  // Returns the time to bring what a segment reads from outside to where it is read, in the layout
  // in which it is read, if the nodes before left their values at `before`. It counts the
  // schedule's steps that do so, one after the other, the map with which the host writes its part,
  // and the waits.
  double transfer_us(const ValueSplit& before, llvm::ArrayRef<OutsideRead> reads) const;
  double transfer_us(const ValueSplit& before, const Segment& segment) const {
    return transfer_us(before, outside_reads(segment));
  }

 private:
  // Returns true if both processors have a kernel for all of it.
  bool can_be_split(ir::NodeId node) const { return on_cpu_[node] && on_gpu_[0][node]; }
  // Calls choose_kernel() with maps in layout `maps`, or in another where no kernel takes that.
  std::optional<KernelChoice> choose(ir::NodeId node, Processor processor, Layout maps,
                                     SplitDim dim, Range part, bool other_processor_busy) const;
  // Returns the choice for the whole node, made at the start.
  const std::optional<KernelChoice>& choose_whole(ir::NodeId node, Processor processor,
                                                  Layout maps) const;
  // Calls choose() for a part of a split node, once for each part: longer and longer chains ask for
  // the same ones.
  std::optional<KernelChoice> choose_part(ir::NodeId node, Processor processor, Layout maps,
                                          SplitDim dim, Range part) const;
  // Returns transfer_us() for one value, and asks for each use only once.
  double bring_us(ir::ValueId value, const ValueUse& use) const;
  // Returns the time of its steps without waits; infinite where no kernel moves the value.
  double steps_us(ir::ValueId value, const ValueUse& use, const ValueTensors& value_tensors) const;
  // Returns the time of the conversions that the GPU makes between the nodes of a chain.
  double conversions_us(llvm::ArrayRef<NodePartition> node_partitions) const;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  PackingSet packings_of(ir::NodeId node) const {
    return packings_.empty() ? kAllPackings : packings_[node];
  }

  const std::vector<PackingSet> packings_;              // indexed by node; empty: all
  std::vector<std::optional<KernelChoice>> on_cpu_;     // indexed by node
  std::vector<std::optional<KernelChoice>> on_gpu_[2];  // the same, with maps in Nhwc and Image2d
  // Identifies a part by node, processor, layout, dim and range.
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
