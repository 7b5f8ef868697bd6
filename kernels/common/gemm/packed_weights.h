// The packings of Conv2d, DepthwiseConv2d and MatMul have this in common: panels of kChannelPanel
// output channels, padded with zeros. kernels/pack.h lists the forms.
#pragma once

#include "schema/plan_layout.h"
#include "schema/step_shape.h"

namespace codl::kernels {

// Returns `channels` rounded up to whole panels.
constexpr int64_t panel_channels(int64_t channels) {
  return ceil_div(channels, kChannelPanel) * kChannelPanel;
}

// Returns null if the memory of packed weights has the size of so many elements.
constexpr const char* check_packed_weights(const OperandShape& weights, uint64_t elements) {
  if (elements > static_cast<uint64_t>(kMaxElements))
    return "packed weights of at most 2^30 elements";
  return weights.bytes == elements * dtype_bytes(weights.dtype)
             ? nullptr
             : "packed weights of their shape's size";
}

// Sums of products begin with the bias: it is f32 whatever the weights are.
constexpr bool is_packed_bias(const OperandShape& bias, int32_t channels) {
  return bias.layout == Layout::Packed && bias.dtype == DType::F32 && bias.rank == 1 &&
         bias.dims[0] == channels &&
         bias.bytes == static_cast<uint64_t>(panel_channels(channels)) * dtype_bytes(bias.dtype);
}

// Returns whether bytes have what makes real numbers of them.
constexpr bool has_byte_grid(const OperandShape& shape) {
  return shape.dtype == DType::I8 && shape.scale > 0 && shape.scale <= 0x1p100f &&
         shape.scale >= 0x1p-100f && shape.zero_point >= -128 && shape.zero_point <= 127;
}

// Returns null if the operands of a step x, w, bias, [residual], y are those of a kernel of 8 bits
// that sums `products` products: bytes, but for the bias, and the residual and y that may be
// floats.
constexpr const char* check_byte_operands(const StepShape& step, int64_t products) {
  if (!has_byte_grid(step.operands[0]) || step.operands[1].dtype != DType::I8)
    return "an input and weights of 8 bits";
  for (uint32_t i = 3; i < step.operand_count; ++i)
    if (step.operands[i].dtype != DType::F32 && !has_byte_grid(step.operands[i]))
      return "a result of 8 bits or floats";
  // Each product of bytes less a zero point is below 2^15.
  return products <= (1 << 16) ? nullptr : "sums of at most 2^16 products of bytes";
}

// Returns whether all operands but the bias, operand 2, have the dtype of the weights, operand 1.
constexpr bool has_dtype_of_weights(const StepShape& step) {
  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (i != 2 && step.operands[i].dtype != step.operands[1].dtype) return false;
  return true;
}

}  // namespace codl::kernels
