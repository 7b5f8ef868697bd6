// Predicted costs of the alternatives that strategies choose between.
#pragma once

#include <optional>

#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/limits.h"
#include "compiler/partition/partition_plan.h"

namespace codl::compiler {

// Where a value's parts are after the node that made it.
enum class Placement { Cpu, Gpu, Height, OutputChannel };

// The same, and how the GPU has its part of a map: Nhwc or Image2d (Nhwc where it has none).
struct ValuePlace {
  Placement placement = Placement::Cpu;
  Layout maps = Layout::Nhwc;
};

// A run of consecutive nodes that are placed alike: one node, or a chain.
struct Segment {
  std::vector<NodePartition> node_partitions;
  ValuePlace place;       // of what its last node makes
  double compute_us = 0;  // of the slower processor
};

class CostModel {
 public:
  // Borrows the graph, which must not change while the model is used, and the predictor. A node is
  // not whole on the GPU where that takes a launch longer than `limits` allow.
  CostModel(const ir::Graph& graph, const LatencyPredictor& predictor,
            const PlanLimits& limits = {});

  const ir::Graph& graph() const { return graph_; }
  const DeviceProfile& profile() const { return predictor_.profile(); }

  // The layouts that maps may have on the GPU, the device's own first.
  llvm::ArrayRef<Layout> gpu_maps() const;

  // The layout that the node's maps have on the GPU where `preferred` is asked for; Nhwc where no
  // kernel runs it there.
  Layout gpu_maps_of(ir::NodeId node, Layout preferred) const {
    const auto& choice = choose_whole(node, Processor::Gpu, preferred);
    return choice ? choice->maps : Layout::Nhwc;
  }

  // One node on one processor. Nothing if no kernel of the device runs it, or if the GPU would have
  // to touch the application's memory (a graph input or output). The GPU has its maps in layout
  // `maps` where it has a kernel for that, else in another; Image2d stands for the device's own.
  std::optional<Segment> whole(ir::NodeId node, Processor processor,
                               Layout maps = Layout::Image2d) const;

  // Nodes [first, last] in graph order, each cut along `dim` at about `ratio` (GPU share), with the
  // halo that a chain computes twice, and what the GPU converts between them. Nothing if a node
  // cannot be cut so or the nodes do not hang together.
  std::optional<Segment> split(ir::NodeId first, ir::NodeId last, SplitDim dim, double ratio,
                               Layout maps = Layout::Image2d) const;

  // The least time of a part of a node alone on a processor, the other one idle, in whatever
  // layout; nothing if no kernel runs it.
  std::optional<double> part_us(ir::NodeId node, Processor processor, SplitDim dim,
                                Range part) const;

  // The GPU share at which both processors of [first, last] would end together if time were linear.
  std::optional<double> balanced_ratio(ir::NodeId first, ir::NodeId last,
                                       Layout maps = Layout::Image2d) const;

  // Of a synchronisation to the GPU and one back, with nothing to move.
  double synchronisation_us() const {
    return predictor_.transfer().synchronisation_us(0, true) +
           predictor_.transfer().synchronisation_us(0, false);
  }

  // Time to bring what [first, last] reads from outside to where it is read and into the layout in
  // which it is read, if the nodes before left their values at `before`.
  double transfer_us(ir::NodeId first, ir::NodeId last, const ValuePlace& before,
                     const Segment& segment) const;

 private:
  // Both processors have a kernel for all of it.
  bool can_be_split(ir::NodeId node) const { return on_cpu_[node] && on_gpu_[0][node]; }
  // choose_kernel() with maps in layout `maps`, or where there is no kernel for that, in another.
  std::optional<KernelChoice> choose(ir::NodeId node, Processor processor, Layout maps,
                                     SplitDim dim, Range part, bool other_processor_busy) const;
  // Of the whole node, from those made at the start.
  const std::optional<KernelChoice>& choose_whole(ir::NodeId node, Processor processor,
                                                  Layout maps) const;
  // choose() for a part of a split node. Longer and longer chains ask for the same ones.
  std::optional<KernelChoice> choose_part(ir::NodeId node, Processor processor, Layout maps,
                                          SplitDim dim, Range part) const;
  // A share of a value from one processor to the other; the GPU has its map in layout `maps`.
  double move_us(ir::ValueId value, double share, bool to_gpu, Layout maps) const;
  // A share of a map between a buffer and an image, on the GPU.
  double convert_us(ir::ValueId value, double share, bool to_image) const;
  // What the GPU converts between the nodes of a chain.
  double convert_inside_us(llvm::ArrayRef<NodePartition> node_partitions) const;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  std::vector<std::optional<KernelChoice>> on_cpu_;     // by node
  std::vector<std::optional<KernelChoice>> on_gpu_[2];  // the same, with maps in Nhwc and Image2d
  struct KnownPart {
    Processor processor;
    Layout maps;
    SplitDim dim;
    Range part;
    std::optional<KernelChoice> choice;
  };
  mutable std::vector<std::vector<KnownPart>> known_parts_;  // by node
  // Of a whole map and of its launch: by direction and value. Negative: not asked for yet.
  struct Conversion {
    double kernel_us = -1;
    double launch_us = 0;
  };
  mutable std::vector<Conversion> conversions_[2];
};

}  // namespace codl::compiler
