#include "compiler/simulate/step_times.h"

#include <limits>

#include "compiler/partition/kernel_choice.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "llvm/ADT/Hashing.h"

namespace codl::compiler {
namespace {

// predict() takes the weights of a network without any to be in the caches.
double weight_mbytes_of(const ir::Graph& graph) {
  const bool has_weights = llvm::any_of(graph.values(), [](const ir::Value& value) {
    return value.is_constant && value.type.element_count() > 0;
  });
  return has_weights ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

StepTimes::StepTimes(const ir::Graph& graph, const LatencyPredictor& predictor,
                     const std::vector<ValuePlacement>& placements)
    : graph_(graph),
      predictor_(predictor),
      times_(predictor.profile(), weight_mbytes_of(graph)),
      placements_(placements) {}

llvm::Expected<StepDemand> StepTimes::demand(const PlannedStep& step) {
  if (step.kind == StepKind::Unmap) return StepDemand{};
  Key key;
  key.node = step.node;
  key.value = step.value;
  key.kernel = step.kernel;
  key.kind = step.kind;
  key.part_dim = step.part_dim;
  key.part = step.part;
  for (TensorId tensor : step.operands) {
    Key::Operand& operand = key.operands.emplace_back();
    if (tensor == kNoTensor) continue;
    const PlacedTensor& placed = placements_[value_of_tensor(tensor)].placed(tensor);
    const kernels::OperandShape& shape = placed.shape;
    operand = {shape.layout, {shape.row_begin, shape.row_end}, placed.storage};
  }
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  CODL_ASSIGN_OR_RETURN(demand, predicted_demand(step));
  known_.emplace(std::move(key), demand);
  return demand;
}

size_t StepTimes::Hash::operator()(const Key& key) const {
  size_t hash = llvm::hash_combine(key.node, key.value, key.kernel, static_cast<int>(key.kind),
                                   key.part.begin, key.part.end, static_cast<int>(key.part_dim));
  for (const Key::Operand& operand : key.operands)
    hash = llvm::hash_combine(hash, static_cast<int>(operand.layout), operand.rows.begin,
                              operand.rows.end, static_cast<int>(operand.storage));
  return hash;
}

llvm::Expected<StepDemand> StepTimes::predicted_demand(const PlannedStep& step) const {
  kernels::OperandShape shapes[kernels::kMaxOperands];
  kernels::StepShape shape = shape_of(graph_, placements_, step, shapes);
  int32_t tile[kernels::kMaxTileInts] = {};
  if (step.kind != StepKind::Kernel)
    return StepDemand{
        times_.transfer_us(step.kind, moved_bytes(shapes[0], step.part_dim, step.part))};
  if (step.node == ir::kNoId) {
    shape.kernel = choose_mover(shape, predictor_);
    if (shape.kernel == nullptr)
      return internal_error(graph_.value(step.value).name,
                            "expected a GPU kernel that transfers the value between the queues");
  } else {
    if (step.queue == Queue::Gpu) {  // make_schedule() chooses the same
      shape.tile_count = kernels::choose_tile(shape, predictor_.profile().gpu_facts, tile);
      shape.tile = tile;
    }
    kernels::StepNeeds needs;
    if (const char* expected = kernels::check_step(shape, &needs))
      return internal_error(graph_.node(step.node).name, "{0}: expected {1}", shape.kernel->symbol,
                            expected);
  }
  StepDemand demand = times_.demand(shape);
  demand.us += times_.launch_us(shape);
  return demand;
}

}  // namespace codl::compiler
