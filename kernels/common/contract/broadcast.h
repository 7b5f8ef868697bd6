// Operands that broadcast to the output as in numpy: they are aligned at the last dim; along a dim
// that is 1 or missing, one element stands for all.
#pragma once

#include "schema/step_shape.h"

namespace codl::kernels {

// Returns the operand's dim for dim `axis` of y.
constexpr int32_t broadcast_dim(const OperandShape& operand, const OperandShape& y, int32_t axis) {
  const int32_t own = axis - (y.rank - operand.rank);
  return own < 0 ? 1 : operand.dims[own];
}

// Returns how many elements of a Plain operand one step along dim `axis` of y moves.
constexpr int64_t broadcast_stride(const OperandShape& operand, const OperandShape& y,
                                   int32_t axis) {
  const int32_t own = axis - (y.rank - operand.rank);
  if (own < 0 || operand.dims[own] == 1) return 0;
  int64_t stride = 1;
  for (int32_t i = own + 1; i < operand.rank; ++i) stride *= operand.dims[i];
  return stride;
}

// Returns null if the operand broadcasts to y's dims.
constexpr const char* check_broadcast(const OperandShape& operand, const OperandShape& y) {
  if (operand.rank > y.rank) return "inputs of at most the output's rank";
  for (int32_t i = 0; i < y.rank; ++i) {
    const int32_t dim = broadcast_dim(operand, y, i);
    if (dim != 1 && dim != y.dims[i]) return "input dims that are 1 or the output's";
  }
  return nullptr;
}

}  // namespace codl::kernels
