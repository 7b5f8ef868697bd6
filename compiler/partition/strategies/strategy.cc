#include "compiler/partition/strategies/strategy.h"

#include "compiler/support/error.h"
#include "schema/tables.h"

namespace codl::compiler {

llvm::ArrayRef<NamedStrategy> named_strategies() {
  using enum StrategyUser;
  static constexpr NamedStrategy kStrategies[] = {
      {"segments", strategy_segments, Search},
      {"cpu", strategy_cpu, Everybody},
      {"gpu", strategy_gpu, Everybody},
      {"coarse", strategy_coarse, Everybody},
      {"fine", strategy_fine, Everybody},
      {"mulayer", strategy_mulayer, Everybody},
      {"codl", strategy_codl, Everybody},
      {"gpu-image", strategy_gpu_image, Papers},
      {"gpu-buffer", strategy_gpu_buffer, Papers},
      {"codl-buffer", strategy_codl_buffer, Papers},
  };
  return kStrategies;
}

void append_segment(PartitionPlan& plan, Segment segment) {
  const bool is_chain = segment.node_partitions.size() > 1;
  if (is_chain) plan.chains.emplace_back();
  for (NodePartition& node_partition : segment.node_partitions) {
    if (is_chain) {
      node_partition.chain = static_cast<int32_t>(plan.chains.size()) - 1;
      plan.chains.back().nodes.push_back(node_partition.node);
    }
    plan.node_partitions.push_back(std::move(node_partition));
  }
}

llvm::Expected<PartitionPlan> prefer_processor(const CostModel& costs, Processor preferred,
                                               const FormPair& forms) {
  PartitionPlan plan;
  std::string missing;
  for (ir::NodeId id = 0; id < costs.graph().nodes().size(); ++id) {
    const auto on = [&](Processor processor) {
      return costs.whole(id, processor, forms[index_of(processor)]);
    };
    std::optional<Segment> segment = on(preferred);
    if (!segment) segment = on(other_of(preferred));
    if (segment) {
      append_segment(plan, std::move(*segment));
      continue;
    }
    const ir::Node& node = costs.graph().node(id);
    missing +=
        llvm::formatv("{0}{1} ({2})", missing.empty() ? "" : ", ", node.name, op_info(node.op).name)
            .str();
  }
  if (!missing.empty())
    return unsupported_error(
        costs.profile().name,
        "expected a kernel with a latency model for every node, found none for {0}", missing);
  return plan;
}

}  // namespace codl::compiler
