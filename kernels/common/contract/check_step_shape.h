// Checks that contracts share. Each returns null, or a static text that says what was expected.
//
// Contracts are the border between an untrusted plan and memory: they assume only what contract.h
// promises of OperandShape and what check_step() (kernel_table.cc) has checked for every operator:
// dtype, bounded sizes, memory as large as the shape, the output's layout, and a part that the
// kernel can compute and that lies inside the output. Arithmetic is in 64 bits.
#pragma once

#include "kernels/common/launch/cl_launch.h"
#include "schema/step_shape.h"

namespace codl::kernels {

// Returns whether the layout holds a window of rows, with channels innermost.
constexpr bool has_pixels(const OperandShape& shape) {
  return shape.layout == Layout::Nhwc || shape.layout == Layout::Image2d;
}

constexpr bool same_dims(const OperandShape& a, const OperandShape& b) {
  if (a.rank != b.rank) return false;
  for (int32_t i = 0; i < a.rank; ++i)
    if (a.dims[i] != b.dims[i]) return false;
  return true;
}

// Returns the dtype of an operand's numbers: halves and quantised bytes are floats to all but the
// reference kernels.
constexpr DType number_dtype(const StepShape& step, const OperandShape& operand) {
  if (step.kernel->is_reference()) return operand.dtype;
  return operand.dtype == DType::F16 || is_quantised(operand) ? DType::F32 : operand.dtype;
}

// Returns the rows that the memory holds: its window, or for a Plain value of rank 4 every row.
constexpr Range rows_in_memory(const OperandShape& shape) {
  if (has_pixels(shape)) return {shape.row_begin, shape.row_end};
  return {0, shape.rank == 4 ? shape.dims[2] : 1};
}

constexpr bool holds_rows(const OperandShape& shape, Range rows) {
  return rows_in_memory(shape).contains(rows);
}

constexpr bool holds_all_rows(const OperandShape& shape) {
  return rows_in_memory(shape).begin == 0 &&
         (shape.rank != 4 || rows_in_memory(shape).end == shape.dims[2]);
}

// Returns null if there are `min_count` to `max_count` operands, none Packed.
constexpr const char* check_unpacked(const StepShape& step, uint32_t min_count,
                                     uint32_t max_count) {
  if (step.operand_count < min_count || step.operand_count > max_count)
    return "the operator's number of operands";
  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (step.operands[i].layout == Layout::Packed) return "operands that are not packed weights";
  return nullptr;
}

// Does the same, and checks the tile, of a GPU kernel with `check_tile`: the local size at most.
constexpr const char* check_operands(const StepShape& step, uint32_t min_count, uint32_t max_count,
                                     const char* (*check_tile)(const StepShape&) = check_cl_tile) {
  if (const char* expected = check_unpacked(step, min_count, max_count)) return expected;
  if (step.kernel->processor == Processor::Gpu) return check_tile(step);
  return step.tile_count == 0 ? nullptr : "no tile for a CPU kernel";
}

// Returns the elements that the step writes, pad lanes included; for a matrix, the columns of the
// part.
constexpr int64_t part_elements(const StepShape& step) {
  const OperandShape& y = step.output();
  if (y.rank == 2)
    return int64_t{y.dims[0]} * channels_of_part(step.part_dim, step.part, y).count();
  if (y.rank != 4) return element_count(y);
  const int64_t rows = rows_of_part(step.part_dim, step.part, y).count();
  int32_t channels = channels_of_part(step.part_dim, step.part, y).count();
  if (has_pixels(y)) channels = round_up(channels, kChannelPad);
  return rows * y.dims[0] * y.dims[3] * channels;
}

// Returns the bytes of an operand's memory that a whole step passes over once.
constexpr double traffic_bytes(const OperandShape& shape) {
  return static_cast<double>(stored_bytes(shape));
}

}  // namespace codl::kernels
