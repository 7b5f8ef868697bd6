// Predicts the times of steps that have no schedule yet, and computes each only once.
#pragma once

#include <optional>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/partition/segment_steps.h"
#include "llvm/ADT/DenseMap.h"

namespace codl::compiler {

struct StepTime {
  StepDemand alone;
  double launch_us = 0;

  StepDemand with_launch() const { return {alone.us + launch_us, alone.memory_bytes, alone.open}; }
};

class StepTimes {
 public:
  // Borrows all. `predictor` chooses what moves values; value tensors are by value.
  StepTimes(const ir::Graph& graph, const LatencyPredictor& predictor,
            const std::vector<ValueTensors>& value_tensors);

  // Predicts steps of a network with so many million bytes of weights from now on. Returns true if
  // this changes times: the caches of a processor keep the weights now, or keep them no longer.
  bool set_weight_mbytes(double mbytes);

  // Returns what predict() says of make_schedule()'s step. Returns an Internal error if no kernel
  // runs it.
  llvm::Expected<StepTime> time(const PlannedStep& step);

 private:
  // Mixes all that the time depends on. Steps that take other times hardly ever share a key.
  uint64_t key_of(const PlannedStep& step) const;
  llvm::Expected<StepTime> predicted_time(const PlannedStep& step) const;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  std::optional<LatencyPredictor> times_;  // predict()'s
  const std::vector<ValueTensors>& value_tensors_;
  // The key is key_of(). The times hold as long as the same weights are in the caches.
  llvm::DenseMap<uint64_t, StepTime> known_;
};

}  // namespace codl::compiler
