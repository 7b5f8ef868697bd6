#include "kernels/common/activation/activation.h"
#include "kernels/recurrent/recurrent.h"
#include "schema/plan_layout.h"

namespace codl::kernels::recurrent {
namespace {

template <typename... Dims>
bool has_dims(const OperandShape& shape, Dims... dims) {
  const int64_t expected[] = {dims...};
  if (shape.rank != static_cast<int32_t>(sizeof...(dims))) return false;
  for (int32_t i = 0; i < shape.rank; ++i)
    if (shape.dims[i] != expected[i]) return false;
  return true;
}

// Checks a kernel that takes packed weights, with activations on vectors.
const char* check_packed(const StepShape& step) {
  const auto& params = step.params_as<RecurrentParams>();
  const int32_t count = recurrent_activations(params.kind) * recurrent_directions(params.direction);
  for (int32_t i = 0; i < count; ++i)
    if (!is_activation(recurrent_activation(params, i).kind)) return "known activations";
  for (uint32_t i = 1; i <= 2; ++i) {
    const OperandShape& weights = step.operands[i];
    if (const char* expected =
            check_packed_weights(weights, recurrent_packed_elements(weights.dims)))
      return expected;
  }
  return nullptr;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  const auto& params = step.params_as<RecurrentParams>();
  if (params.kind < kRecurrentRnn || params.kind > kRecurrentLstm) return "a member of Recurrent";
  if (params.direction < 0 || params.direction > 2) return "direction 0, 1 or 2";
  const RecurrentOperands operands = recurrent_operands(params);
  if (step.operand_count != operands.count + 1) return "the operator's number of operands";
  if (step.tile_count != 0) return "no tile for a CPU kernel";
  if (params.kind != kRecurrentLstm && (operands.c0 != 0 || operands.peepholes != 0))
    return "cell states and peepholes of an Lstm";
  for (uint32_t i = 0; i < step.operand_count; ++i) {
    const bool is_lengths = i != 0 && i == operands.lengths;
    const bool is_packed = step.kernel->packing_of(i) != PackingKind::None;
    if (number_dtype(step, step.operands[i]) != (is_lengths ? DType::I64 : DType::F32) ||
        step.operands[i].layout != (is_packed ? Layout::Packed : Layout::Plain))
      return "operands of f32, lengths of i64, plain but for packed weights";
  }
  const OperandShape* const shapes = step.operands;
  const OperandShape& y = step.output();
  if (shapes[0].rank != 3 || y.rank != 4) return "a sequence [s, b, i] and an output of rank 4";
  const int64_t steps = shapes[0].dims[0];
  const int64_t batch = shapes[0].dims[1];
  const int64_t inputs = shapes[0].dims[2];
  const int64_t units = y.dims[3];
  const int64_t directions = recurrent_directions(params.direction);
  const int64_t rows = units * recurrent_gates(params.kind);
  if (!has_dims(y, steps + 2, directions, batch, units)) return "an output [s + 2, d, b, h]";
  if (!has_dims(shapes[1], directions, rows, inputs)) return "weights [d, g * h, i]";
  if (!has_dims(shapes[2], directions, rows, units)) return "weights [d, g * h, h]";
  if (operands.bias != 0 && !has_dims(shapes[operands.bias], directions, 2 * rows))
    return "a bias [d, 2 * g * h]";
  if (operands.lengths != 0 && !has_dims(shapes[operands.lengths], batch)) return "lengths [b]";
  for (uint32_t state : {operands.h0, operands.c0})
    if (state != 0 && !has_dims(shapes[state], directions, batch, units)) return "states [d, b, h]";
  if (operands.peepholes != 0 && !has_dims(shapes[operands.peepholes], directions, 3 * units))
    return "peepholes [d, 3 * h]";
  if (step.kernel->is_reference()) return nullptr;
  if (const char* expected = check_packed(step)) return expected;

  const RecurrentWork work = recurrent_work(params, shapes[0], y);
  out_needs->task_count = static_cast<int32_t>(work.directions * work.groups);
  out_needs->scratch_bytes = static_cast<uint64_t>(work.scratch_floats() * kRecurrentSumBytes);
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::recurrent
