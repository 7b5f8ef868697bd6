#include "compiler/schedule/step_access.h"

namespace codl::compiler {

llvm::SmallVector<Access, 6> accesses_of(const ir::Graph& graph, const Schedule& schedule,
                                         StepId id) {
  const Step& step = schedule.steps[id];
  const ir::NodeId node = schedule.nodes[id];
  llvm::SmallVector<Access, 6> accesses;
  const bool is_hand_over = step.kind == StepKind::Map || step.kind == StepKind::Unmap;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const Tensor& tensor = schedule.tensors[step.operands[i]];
    const ir::TensorType& type = graph.value(schedule.values[step.operands[i]]).type;
    Access access{step.operands[i], whole_region(type), is_hand_over || step.writes(i)};
    if (step.part_dim != SplitDim::None && tensor.storage != Storage::Weights) {
      const bool is_node_input = node != ir::kNoId && !access.is_write;
      access.region = is_node_input
                          ? read_region({graph, graph.node(node)}, static_cast<uint32_t>(i),
                                        step.part_dim, step.part)
                          : slab(type, step.part_dim, step.part);
    }
    accesses.push_back(access);
  }
  return accesses;
}

}  // namespace codl::compiler
