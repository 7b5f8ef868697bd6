#include "compiler/schedule/step_access.h"

namespace codl::compiler {

Region accessed_region(const ir::Graph& graph, ir::NodeId node, uint32_t operand,
                       const ir::TensorType& type, bool is_write, SplitDim dim, Range part) {
  if (dim == SplitDim::None) return whole_region(type);
  return node != ir::kNoId && !is_write ? read_region({graph, graph.node(node)}, operand, dim, part)
                                        : slab(type, dim, part);
}

llvm::SmallVector<Access, 6> accesses_of(const ir::Graph& graph, const Schedule& schedule,
                                         StepId id) {
  const Step& step = schedule.steps[id];
  const ir::NodeId node = schedule.nodes[id];
  llvm::SmallVector<Access, 6> accesses;
  const bool is_map_or_unmap = step.kind == StepKind::Map || step.kind == StepKind::Unmap;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const Tensor& tensor = schedule.tensors[step.operands[i]];
    const ir::TensorType& type = graph.value(schedule.values[step.operands[i]]).type;
    Access access{step.operands[i], whole_region(type), is_map_or_unmap || step.writes(i)};
    if (tensor.storage != Storage::Weights)
      access.region = accessed_region(graph, node, static_cast<uint32_t>(i), type, access.is_write,
                                      step.part_dim, step.part);
    accesses.push_back(access);
  }
  return accesses;
}

llvm::SmallVector<Access, 6> accesses_of(const ir::Graph& graph, const PlannedStep& step) {
  llvm::SmallVector<Access, 6> accesses;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const TensorId tensor = step.operands[i];
    if (tensor == kNoTensor) continue;
    const bool is_write = step.is_map_or_unmap() || i + 1 == step.operands.size();
    accesses.push_back({tensor,
                        accessed_region(graph, step.node, static_cast<uint32_t>(i),
                                        graph.value(value_of_tensor(tensor)).type, is_write,
                                        step.part_dim, step.part),
                        is_write});
  }
  return accesses;
}

}  // namespace codl::compiler
