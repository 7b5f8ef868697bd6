// What a step reads and writes: rows and channels of its operands.
#pragma once

#include "compiler/partition/split_geometry.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

struct Access {
  TensorId tensor;
  Region region;
  bool is_write;
};

// Of operand number `operand`, of that type, of a step that computes `part` along `dim`: what the
// node's part reads of it, or the part itself where it is written or the step is of no node (kNoId:
// a transfer).
Region accessed_region(const ir::Graph& graph, ir::NodeId node, uint32_t operand,
                       const ir::TensorType& type, bool is_write, SplitDim dim, Range part);

// In operand order. Map and Unmap count as writes of the whole tensor: they change who may touch
// it.
llvm::SmallVector<Access, 6> accesses_of(const ir::Graph& graph, const Schedule& schedule,
                                         StepId id);

}  // namespace codl::compiler
