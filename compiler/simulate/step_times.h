// The times of steps that have no schedule yet, each asked for once.
#pragma once

#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/schedule/segment_steps.h"
#include "llvm/ADT/DenseMap.h"

namespace codl::compiler {

class StepTimes {
 public:
  // Borrows all. `predictor` chooses what moves values; placements are by value.
  StepTimes(const ir::Graph& graph, const LatencyPredictor& predictor,
            const std::vector<ValuePlacement>& placements);

  // Alone, launch included, as predict() has it of make_schedule()'s step. Internal error: no
  // kernel runs it.
  llvm::Expected<StepDemand> demand(const PlannedStep& step);

 private:
  // Of all that the time depends on. Steps that take other times hardly ever have the same one.
  uint64_t key_of(const PlannedStep& step) const;
  llvm::Expected<StepDemand> predicted_demand(const PlannedStep& step) const;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  const LatencyPredictor times_;  // predict()'s
  const std::vector<ValuePlacement>& placements_;
  llvm::DenseMap<uint64_t, StepDemand> known_;  // by key
};

}  // namespace codl::compiler
