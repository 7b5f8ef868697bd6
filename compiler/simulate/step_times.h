// The times of steps that have no schedule yet, each asked for once.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/device/latency_predictor.h"
#include "compiler/schedule/segment_steps.h"

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
  // What the time depends on.
  struct Key {
    ir::NodeId node = ir::kNoId;
    ir::ValueId value = ir::kNoId;
    const KernelInfo* kernel = nullptr;  // null: a transfer, for which one is chosen
    StepKind kind = StepKind::Kernel;
    SplitDim part_dim = SplitDim::None;
    Range part;
    struct Operand {
      Layout layout = Layout::Plain;
      Range rows;
      Storage storage = Storage::Weights;  // what stays in its place takes no time
      friend bool operator==(const Operand&, const Operand&) = default;
    };
    llvm::SmallVector<Operand, 4> operands;
    friend bool operator==(const Key& a, const Key& b) {
      return a.node == b.node && a.value == b.value && a.kernel == b.kernel && a.kind == b.kind &&
             a.part_dim == b.part_dim && a.part == b.part && a.operands == b.operands;
    }
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  llvm::Expected<StepDemand> predicted_demand(const PlannedStep& step) const;

  const ir::Graph& graph_;
  const LatencyPredictor& predictor_;
  const LatencyPredictor times_;  // predict()'s
  const std::vector<ValuePlacement>& placements_;
  std::unordered_map<Key, StepDemand, Hash> known_;
};

}  // namespace codl::compiler
