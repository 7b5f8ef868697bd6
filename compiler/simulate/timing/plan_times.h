// Predicts how long partition plans take that differ little from one to the next, as a search asks.
//
// The time is, to the last bit, what predict() says of make_schedule()'s schedule. It computes only
// what has changed since the plan before: the steps of segments that nothing around has changed are
// kept, as are the times of steps by what they depend on, and the simulation goes on from the last
// point before the first step that differs. Where the profile says what the host's calls take, the
// simulation starts anew, because any step may move the calls after it.
#pragma once

#include <memory>

#include "compiler/device/latency_predictor.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition_plan.h"
#include "llvm/Support/Error.h"

namespace codl::compiler {

class PlanTimes {
 public:
  // Borrows both. `predictor` chooses what moves values, as make_schedule()'s does.
  PlanTimes(const ir::Graph& graph, const LatencyPredictor& predictor);
  ~PlanTimes();

  // Returns microseconds, or an Internal error for a step that no kernel runs.
  llvm::Expected<double> time_us(const PartitionPlan& plan);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace codl::compiler
