// Writes head + FlatBuffer + data. The bytes are a function of the inputs only.
#pragma once

#include <cstdint>

#include "compiler/emit/pack_weights.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/large_bytes.h"

namespace codl::compiler {

// The finished file; verify_plan has accepted it. Internal error if not. Takes the graph: the bytes
// of its constants are let go as they are written.
llvm::Expected<LargeBytes> build_plan(ir::Graph graph, llvm::ArrayRef<Schedule> variants,
                                      const PackedWeights& weights, const PlanInfo& info);

}  // namespace codl::compiler
