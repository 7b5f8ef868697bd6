// Declares rules that operators with index operands share.
#pragma once

#include "compiler/ops/op_spec.h"

namespace codl::compiler {

// Returns an Input error unless `indices` has the rank of `data` and, except for `axis`, no larger
// dims.
llvm::Error expect_indices_inside(const ir::NodeView& node, uint32_t data, uint32_t indices,
                                  int32_t axis);

// Checks data, indices and updates. Returns an Unsupported error unless indices are i64, updates
// have data's dtype, and the reduction (a ScatterElements member) exists for it.
llvm::Error expect_scatter_types(const ir::NodeView& node, int32_t reduction);

// Returns what data, indices and updates make.
Interval scatter_bounds(int32_t reduction, llvm::ArrayRef<Interval> operands);

}  // namespace codl::compiler
