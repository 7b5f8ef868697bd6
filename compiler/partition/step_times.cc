#include "compiler/partition/step_times.h"

#include "compiler/partition/kernel_choice.h"
#include "compiler/support/error.h"
#include "kernels/kernel_table.h"
#include "kernels/work_table.h"
#include "schema/mix_bits.h"

namespace codl::compiler {
StepTimes::StepTimes(const ir::Graph& graph, const LatencyPredictor& predictor,
                     const std::vector<ValueTensors>& value_tensors)
    : graph_(graph),
      predictor_(predictor),
      times_(std::in_place, predictor.profile()),
      value_tensors_(value_tensors) {}

bool StepTimes::set_weight_mbytes(double mbytes) {
  const LatencyPredictor times(predictor_.profile(), mbytes);
  if (times.has_warm_weights() == times_->has_warm_weights()) return false;
  times_.emplace(times);
  known_.clear();
  return true;
}

llvm::Expected<StepTime> StepTimes::time(const PlannedStep& step) {
  if (step.kind == StepKind::Unmap) return StepTime{};
  const uint64_t key = key_of(step);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  CODL_ASSIGN_OR_RETURN(time, predicted_time(step));
  known_.try_emplace(key, time);
  return time;
}

uint64_t StepTimes::key_of(const PlannedStep& step) const {
  uint64_t key = 0;
  const auto add = [&](uint64_t high, uint64_t low) {
    key = mix_bits((key ^ (high << 32 | low)) + kSplitMixStep);
  };
  const auto add_range = [&](Range range) {
    add(static_cast<uint32_t>(range.begin), static_cast<uint32_t>(range.end));
  };
  add(step.node, step.value);
  add(step.kernel == nullptr ? UINT32_MAX : step.kernel->id,  // a transfer's is chosen here
      static_cast<uint64_t>(step.queue) << 16 | static_cast<uint64_t>(step.kind) << 8 |
          static_cast<uint64_t>(step.part_dim));
  add_range(step.part);
  for (TensorId tensor : step.operands) {
    // Storages count, because a step that leaves its operand in place takes no time.
    if (tensor == kNoTensor) {
      add(0, static_cast<uint64_t>(Storage::Weights));
      continue;
    }
    const SlotTensor& placed = value_tensors_[value_of_tensor(tensor)].placed(tensor);
    add(bits_of({placed.shape.layout, placed.shape.dtype}), static_cast<uint64_t>(placed.storage));
    add_range({placed.shape.row_begin, placed.shape.row_end});
  }
  // llvm::DenseMap keeps two keys for itself.
  return key < UINT64_MAX - 1 ? key : 0;
}

llvm::Expected<StepTime> StepTimes::predicted_time(const PlannedStep& step) const {
  kernels::OperandShape shapes[kernels::kMaxOperands];
  kernels::StepShape shape = shape_of(graph_, value_tensors_, step, shapes);
  int32_t tile[kernels::kMaxTileInts] = {};
  if (step.kind != StepKind::Kernel)
    return StepTime{
        {times_->transfer_us(step.kind, moved_bytes(shapes[0], step.part_dim, step.part))}};
  if (step.node == ir::kNoId) {
    shape.kernel = choose_mover(shape, processor_of(step.queue), predictor_);
    if (shape.kernel == nullptr)
      return internal_error(graph_.value(step.value).name,
                            "expected a kernel that transfers the value between the queues");
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
  return StepTime{times_->demand(shape), times_->launch_us(shape)};
}

}  // namespace codl::compiler
