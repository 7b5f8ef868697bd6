// Writes head + FlatBuffer + data. The bytes are a function of the inputs only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/emit/pack_weights.h"
#include "compiler/memory/memory_plan.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

struct PlanInfo {
  std::string device;
  std::string model_hash;    // hex
  std::string profile_hash;  // hex
  uint32_t cpu_threads = 0;
};

// The finished file; verify_plan has accepted it. Internal error if not. Takes the graph: the bytes
// of its constants are let go as they are written.
llvm::Expected<std::vector<uint8_t>> build_plan(ir::Graph graph, llvm::ArrayRef<Schedule> variants,
                                                llvm::ArrayRef<MemoryPlan> memory,
                                                const PackedWeights& weights, const PlanInfo& info);

}  // namespace codl::compiler
