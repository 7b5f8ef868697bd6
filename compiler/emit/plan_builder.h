// Writes a plan file: head + FlatBuffer + data. The bytes depend on the inputs only.
#pragma once

#include <cstdint>

#include "compiler/emit/pack_weights.h"
#include "compiler/schedule/schedule.h"
#include "compiler/support/large_bytes.h"

namespace codl::compiler {

// Returns the finished file, which verify_plan has accepted (Internal error if not). The bytes of
// the graphs' constants are freed as they are written.
llvm::Expected<LargeBytes> build_plan(llvm::ArrayRef<EntryToEmit> entries,
                                      const PackedWeights& weights, const PlanInfo& info);

}  // namespace codl::compiler
