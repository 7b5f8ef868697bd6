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

// In operand order. Map and Unmap count as writes of the whole tensor: they change who may touch
// it.
llvm::SmallVector<Access, 6> accesses_of(const ir::Graph& graph, const Schedule& schedule,
                                         StepId id);

}  // namespace codl::compiler
