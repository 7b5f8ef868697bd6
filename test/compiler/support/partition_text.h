// A partition as text, for tests of what is made of one: a line for each node of the graph, in its
// order.
//
//   a cpu                       the node named a, whole on the CPU
//   b gpu                       whole on the GPU, its maps as the device has them
//   b gpu buffer                the same, its maps in buffers
//   c rows 6                    split along the height: the GPU has rows [0, 6), the CPU the others
//   d channels 16               the same, output channels
//   d rows 6 buffer             the GPU's part with its maps in buffers
//   e rows 6 chain=0            and in chain 0: of its rows each processor computes what its later
//                               nodes of the chain read, too
#pragma once

#include <sstream>
#include <string>

#include "compiler/partition/kernel_choice.h"
#include "compiler/partition/partition_plan.h"
#include "compiler/partition/split_geometry.h"
#include "test/support/catch.h"

namespace codl::compiler {

inline ir::NodeId node_named(const ir::Graph& graph, const std::string& name) {
  for (ir::NodeId node = 0; node < graph.nodes().size(); ++node)
    if (graph.node(node).name == name) return node;
  FAIL("expected a node " << name);
  return ir::kNoId;
}

// Sets the range that each processor computes of a chain's nodes from the range it owns.
inline void add_halo(const ir::Graph& graph, PartitionPlan& plan) {
  for (const Chain& chain : plan.chains)
    for (size_t part : {0, 1}) {
      std::vector<Range> owned;
      for (ir::NodeId node : chain.nodes)
        owned.push_back(plan.node_partitions[node].parts[part].owned);
      const SplitDim dim = plan.node_partitions[chain.nodes.front()].dim;
      const std::vector<Range> computed = computed_ranges(graph, chain.nodes, dim, owned);
      for (size_t i = 0; i < chain.nodes.size(); ++i)
        plan.node_partitions[chain.nodes[i]].parts[part].computed = computed[i];
    }
}

inline PartitionPlan partition_of(const ir::Graph& graph, const DeviceProfile& profile,
                                  const std::string& text) {
  PartitionPlan plan;
  plan.node_partitions.resize(graph.nodes().size());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, how, word;
    int32_t cut = 0;
    if (!(words >> name)) continue;
    words >> how;
    if (how == "rows" || how == "channels") words >> cut;
    bool has_buffers = false;
    int32_t chain = -1;
    while (words >> word) {
      if (word == "buffer")
        has_buffers = true;
      else
        chain = std::stoi(word.substr(word.find('=') + 1));
    }
    const ir::NodeId node = node_named(graph, name);
    const ir::NodeView view{graph, graph.node(node)};
    NodePartition& node_partition = plan.node_partitions[node];
    node_partition.node = node;
    if (how == "cpu" || how == "gpu") {
      const Processor processor = how == "gpu" ? Processor::Gpu : Processor::Cpu;
      node_partition.parts.push_back({processor, nullptr, kBuffers, {0, 1}, {0, 1}});
    } else {
      node_partition.dim = how == "rows" ? SplitDim::Height : SplitDim::OutputChannel;
      const int32_t extent = view.output().dims[how == "rows" ? 2 : 1];
      node_partition.parts.push_back({Processor::Gpu, nullptr, kBuffers, {0, cut}, {0, cut}});
      node_partition.parts.push_back(
          {Processor::Cpu, nullptr, kBuffers, {cut, extent}, {cut, extent}});
    }
    for (Part& part : node_partition.parts)
      if (!has_buffers) part.form = map_forms(view, part.processor, profile).front();
    if (chain >= 0) {
      node_partition.chain = chain;
      if (plan.chains.size() <= static_cast<size_t>(node_partition.chain))
        plan.chains.resize(node_partition.chain + 1);
      plan.chains[node_partition.chain].nodes.push_back(node);
    }
  }
  for (const NodePartition& node_partition : plan.node_partitions)
    REQUIRE(node_partition.node != ir::kNoId);
  add_halo(graph, plan);
  for (NodePartition& node_partition : plan.node_partitions)
    for (Part& part : node_partition.parts) {
      const ir::NodeView view{graph, graph.node(node_partition.node)};
      const Range computed = node_partition.is_split() ? part.computed : Range{};
      const auto choice =
          choose_kernel(view, part.processor, part.form, node_partition.dim, computed,
                        LatencyPredictor(profile), node_partition.is_split());
      REQUIRE(choice.has_value());
      part.kernel = choice->kernel;
      part.predicted_us = choice->predicted_us;
    }
  return plan;
}

}  // namespace codl::compiler
