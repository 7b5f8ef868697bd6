// Says which processor computes which part of which node, as partition() decides.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/forms.h"
#include "schema/mix_bits.h"
#include "schema/step_shape.h"

namespace codl::compiler {

// Describes one processor's share of a node.
struct Part {
  Processor processor = Processor::Cpu;
  const KernelInfo* kernel = nullptr;
  // The part reads and writes maps (values of type Nhwc) in this form. If another part on the GPU
  // left them in another form, the schedule converts them there.
  Form form = kBuffers;
  // These are ranges along the node_partition's dim (Height: rows, OutputChannel: channels; None:
  // [0, 1)). The parts' `owned` ranges cover the extent exactly once. `computed` contains `owned`
  // and the rows that the same processor's later nodes in the chain read (the halo, computed twice
  // instead of transferred).
  Range owned;
  Range computed;
  double predicted_us = 0;
  // In a split along Height, the rows at the cut that the other processor's later nodes read are
  // computed first and transferred while the others are computed. This is ignored where they are
  // most of the part, or the value lives in memory that cannot be transferred so (value_tensors.h).
  bool boundary_first = false;
};

// Says how one node is divided: into one part, or one per processor (GPU first).
struct NodePartition {
  ir::NodeId node = ir::kNoId;
  SplitDim dim = SplitDim::None;
  llvm::SmallVector<Part, 2> parts;
  int32_t chain = -1;  // index into PartitionPlan::chains

  const Part* part_on(Processor processor) const {
    for (const Part& part : parts)
      if (part.processor == processor) return &part;
    return nullptr;
  }
  bool is_split() const { return parts.size() > 1; }
};

// Returns true if the two differ at most in what is predicted and in the numbers of chains.
inline bool is_alike(const Part& a, const Part& b) {
  return a.processor == b.processor && a.kernel == b.kernel && a.form == b.form &&
         a.owned == b.owned && a.computed == b.computed && a.boundary_first == b.boundary_first;
}
inline bool is_alike(const NodePartition& a, const NodePartition& b) {
  if (a.node != b.node || a.dim != b.dim || a.parts.size() != b.parts.size()) return false;
  for (size_t i = 0; i < a.parts.size(); ++i)
    if (!is_alike(a.parts[i], b.parts[i])) return false;
  return true;
}

// Partitions that are alike have one key; others hardly ever share it.
inline uint64_t key_of(const NodePartition& node_partition) {
  uint64_t key = uint64_t{node_partition.node} << 8 | static_cast<uint64_t>(node_partition.dim);
  const auto add = [&](uint64_t bits) { key = mix_bits(key + kSplitMixStep) ^ bits; };
  for (const Part& part : node_partition.parts) {
    add(static_cast<uint64_t>(part.boundary_first) << 48 |
        static_cast<uint64_t>(part.processor) << 40 | uint64_t{bits_of(part.form)} << 16 |
        part.kernel->id);
    for (const Range range : {part.owned, part.computed})
      add(static_cast<uint64_t>(range.begin) << 32 | static_cast<uint32_t>(range.end));
  }
  return mix_bits(key);
}

// Returns the form of maps on each processor: kBuffers where the node has no part.
inline FormPair forms_of(const NodePartition& node_partition) {
  FormPair forms = kBothBuffers;
  for (const Part& part : node_partition.parts) forms[index_of(part.processor)] = part.form;
  return forms;
}

// Is a connected, convex region of the graph, split along Height with no transfer inside: its
// internal values are private to each processor.
struct Chain {
  std::vector<ir::NodeId> nodes;  // in graph order
};

struct PartitionPlan {
  std::vector<NodePartition> node_partitions;  // one per node, in graph order
  std::vector<Chain> chains;                   // have two nodes or more
  // Lists nodes that could not be divided as the flags asked, for codlc's report.
  std::vector<ir::NodeId> not_split_as_forced;
};

// Returns the last node of the chain that `first` begins, or `first` itself if it is in none.
inline ir::NodeId last_of_segment(const PartitionPlan& plan, ir::NodeId first) {
  const int32_t chain = plan.node_partitions[first].chain;
  return chain < 0 ? first : plan.chains[static_cast<size_t>(chain)].nodes.back();
}

// Sets it for every part that is split along Height.
inline void set_boundary_first(PartitionPlan& plan, bool is_first) {
  for (NodePartition& node_partition : plan.node_partitions)
    if (node_partition.dim == SplitDim::Height)
      for (Part& part : node_partition.parts) part.boundary_first = is_first;
}

// Checks a plan without knowing how it was made: owned ranges cover each node exactly, cuts keep to
// the granularity and the kernels' splits, maps are where the kernels write them, computed ranges
// cover all that the processor's consumers in the chain read (found by walking input_range), and
// chains are connected, convex and split along Height. Returns an Internal error at the first
// violation: `node: expected ..., found ...`.
llvm::Error check_partition(const ir::Graph& graph, const PartitionPlan& plan);

}  // namespace codl::compiler
