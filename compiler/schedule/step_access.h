// Works out which rows and channels of its operands a step reads and writes.
#pragma once

#include "compiler/partition/segment_steps.h"
#include "compiler/partition/split_geometry.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

struct Access {
  TensorId tensor;
  Region region;
  bool is_write;
};

// A step computes `part` along `dim`. Returns what it accesses of operand number `operand`, which
// has that type: the region that the node's part reads, or the part itself if it is written or the
// step is a transfer (node kNoId).
Region accessed_region(const ir::Graph& graph, ir::NodeId node, uint32_t operand,
                       const ir::TensorType& type, bool is_write, SplitDim dim, Range part);

// Returns the accesses in operand order. Map and Unmap count as writes of the whole tensor, because
// they change who may touch it.
llvm::SmallVector<Access, 6> accesses_of(const ir::Graph& graph, const Schedule& schedule,
                                         StepId id);
// Returns the same for a step that has no schedule yet, without constants.
llvm::SmallVector<Access, 6> accesses_of(const ir::Graph& graph, const PlannedStep& step);

}  // namespace codl::compiler
