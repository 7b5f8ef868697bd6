// Predicted costs of the alternatives that strategies choose between.
#pragma once

#include <optional>

#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/partition_plan.h"

namespace codl::compiler {

// Where a value's parts are after the node that made it.
enum class Placement { Cpu, Gpu, Height, OutputChannel };

// A run of consecutive nodes that are placed alike: one node, or a chain.
struct Segment {
  std::vector<Division> divisions;
  Placement placement = Placement::Cpu;
  double compute_us = 0;  // of the slower lane
};

class CostModel {
 public:
  // Borrows both. The graph must not change while the model is used.
  CostModel(const ir::Graph& graph, const LatencyPredictor& predictor);

  const ir::Graph& graph() const { return graph_; }
  const DeviceProfile& profile() const { return predictor_.profile(); }

  // One node on one processor. Nothing if no kernel of the device runs it, or if the GPU would have
  // to touch the application's memory (a graph input or output).
  std::optional<Segment> whole(ir::NodeId node, Processor processor) const;

  // Nodes [first, last] in graph order, each cut along `dim` at about `ratio` (GPU share), with the
  // halo that a chain computes twice. Nothing if a node cannot be cut so or the nodes do not hang
  // together.
  std::optional<Segment> split(ir::NodeId first, ir::NodeId last, SplitDim dim, double ratio) const;

  // The least time of a part of a node alone on a processor, the other one idle; nothing if no
  // kernel runs it.
  std::optional<double> part_us(ir::NodeId node, Processor processor, SplitDim dim,
                                Range part) const;

  // The GPU share at which both lanes of [first, last] would end together if time were linear.
  std::optional<double> balanced_ratio(ir::NodeId first, ir::NodeId last) const;

  // Time to bring what [first, last] reads from outside to where it is read, if the nodes before
  // left their values at `before`.
  double exchange_us(ir::NodeId first, ir::NodeId last, Placement before,
                     const Segment& segment) const;

 private:
  // choose_kernel() for a part of a split node. Longer and longer chains ask for the same ones.
  std::optional<KernelChoice> choose_part(ir::NodeId node, Processor processor, SplitDim dim,
                                          Range part) const;
  double move_us(const ir::Value& value, double share, bool to_gpu) const;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  std::vector<std::optional<KernelChoice>> whole_[2];  // by processor and node
  struct KnownPart {
    Processor processor;
    SplitDim dim;
    Range part;
    std::optional<KernelChoice> choice;
  };
  mutable std::vector<std::vector<KnownPart>> known_parts_;  // by node
};

}  // namespace codl::compiler
