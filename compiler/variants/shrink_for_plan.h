// Pruning and low rank (compiler/shrink), judged by the plans that a device would have.
#pragma once

#include "compiler/device/device_profile.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/options.h"
#include "compiler/shrink/shrink.h"
#include "compiler/variants/candidate.h"

namespace codl::compiler {

// shrink() of a graph that has no layouts yet, if it is asked for. A rewrite is judged by
// VariantMaker::estimate_us(), as it is one of hundreds. What was learned of steps is left out:
// other dims are another node to it, so that a rewrite would gain, or lose, that.
llvm::Expected<ShrinkReport> shrink_for_plan(ir::Graph& graph, ShrinkOptions options,
                                             const DeviceProfile& profile, Precision precision,
                                             const PartitionOptions& partition);

}  // namespace codl::compiler
