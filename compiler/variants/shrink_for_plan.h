// Prunes and lowers ranks (compiler/shrink), judged by the plans that a device would have.
#pragma once

#include "compiler/device/device_profile.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/options.h"
#include "compiler/shrink/shrink.h"
#include "compiler/variants/candidate.h"

namespace codl::compiler {

// Calls shrink() for a graph that has no layouts yet, if it is asked for.
// VariantMaker::estimate() judges rewrites, because there are hundreds. What was learned of
// steps is left out: other dims are another node to it, so that a rewrite would gain, or lose,
// that.
llvm::Expected<ShrinkReport> shrink_for_plan(ir::Graph& graph, ShrinkOptions options,
                                             const DeviceProfile& profile, Precision precision,
                                             const PartitionOptions& partition);

}  // namespace codl::compiler
