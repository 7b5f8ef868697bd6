// Kernels that only move elements know the elements' size, not their dtype.
#pragma once

#include <cstring>

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/loop_axes.h"

namespace codl::kernels {

// ---- contracts ----------------------------------------------------------------------------------

// Does check_operands() for a step of Plain operands. The kernel's layout and splits imply the
// rest: the output is Plain and there is no part.
constexpr const char* check_plain_operands(const StepShape& step, uint32_t min_count,
                                           uint32_t max_count) {
  if (const char* expected = check_operands(step, min_count, max_count)) return expected;
  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (step.operands[i].layout != Layout::Plain) return "Plain operands";
  return nullptr;
}

// Returns the number of elements of axes [begin, end).
constexpr int64_t element_count(const OperandShape& shape, int32_t begin, int32_t end) {
  int64_t count = 1;
  for (int32_t i = begin; i < end; ++i) count *= shape.dims[i];
  return count;
}

// ---- indices known at run time ------------------------------------------------------------------

// Returns whether an index lies in a dim; negative ones count from the end.
constexpr bool is_index_inside(int64_t index, int64_t dim) { return index >= -dim && index < dim; }

// Returns an index into a dim: negative ones count from the end, and one outside becomes the
// nearest inside.
constexpr int64_t clamp_index(int64_t index, int64_t dim) {
  if (index < 0) index += dim;
  if (index < 0) return 0;
  return index < dim ? index : dim - 1;
}

// Returns the elements from the first of `view` to the element at `indices`, one index per axis
// from `first_axis` on.
inline int64_t offset_of_indices(const TensorView& view, int32_t first_axis, const int64_t* indices,
                                 int64_t count) {
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = first_axis + i;
    offset += clamp_index(indices[i], view.shape.dims[axis]) * view.strides[axis];
  }
  return offset;
}

// Returns the elements from the first of `view` to the start of row `row` of `shape`; a row is a
// run along the last axis. The index along `left_out` counts as 0; shape lies inside view's along
// the others.
inline int64_t offset_of_row(const TensorView& view, const OperandShape& shape, int64_t row,
                             int32_t left_out) {
  int64_t offset = 0;
  for (int32_t i = shape.rank - 2; i >= 0; --i) {
    if (i != left_out) offset += row % shape.dims[i] * view.strides[i];
    row /= shape.dims[i];
  }
  return offset;
}

// ---- moves --------------------------------------------------------------------------------------

// Copies a few bytes, mostly one element, for less than a call of memcpy costs.
inline void move_few(char* to, const char* from, int64_t bytes) {
  switch (bytes) {
    case 1:
      std::memcpy(to, from, 1);
      return;
    case 2:
      std::memcpy(to, from, 2);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    default:
      std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

// Copies elements of kBytes each; steps are in bytes, and 0 repeats an element.
template <int64_t kBytes>
void move_run(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  if (to_step == kBytes && from_step == kBytes) {
    std::memcpy(to, from, static_cast<size_t>(count * kBytes));
  } else if (to_step == kBytes && from_step == 0) {
    char element[kBytes];
    std::memcpy(element, from, kBytes);
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * kBytes, element, kBytes);
  } else if (to_step == kBytes) {
    for (int64_t i = 0; i < count; ++i, from += from_step)
      std::memcpy(to + i * kBytes, from, kBytes);
  } else {
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, kBytes);
  }
}

// Squares of this side are turned on the stack: for four-byte elements it is 64 bytes, a cache
// line.
inline constexpr int64_t kTurnSide = 16;

// The axis along which `from` is contiguous where that is not the last, but another, long enough to
// be worth it: moving along the last would use one element of each cache line. Else -1.
constexpr int32_t turned_axis(const LoopAxes& axes) {
  if (axes.count == 0 || axes.last_step(0) == 1) return -1;
  for (int32_t i = 0; i + 1 < axes.count; ++i)
    if (axes.steps[i][0] == 1) return axes.extents[i] >= kTurnSide / 2 ? i : -1;
  return -1;
}

// Turns up to kTurnSide x kTurnSide elements: row r of `to`, to_step bytes apart, has element r of
// each of the columns of `from`, from_step bytes apart. Reads and writes whole lines.
template <int64_t kBytes>
void turn_square(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
                 int64_t columns) {
  char square[kTurnSide][kTurnSide * kBytes];
  for (int64_t c = 0; c < columns; ++c)
    std::memcpy(square[c], from + c * from_step, static_cast<size_t>(rows * kBytes));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(to + r * to_step + c * kBytes, &square[c][r * kBytes], kBytes);
}

// The last rows of a whole square, as many as are asked for: all of it is read, so those before
// must be there.
template <int64_t kBytes>
void turn_whole_square(char* to, int64_t to_step, const char* from, int64_t from_step,
                       int64_t rows) {
  char square[kTurnSide][kTurnSide * kBytes];
  for (int64_t c = 0; c < kTurnSide; ++c)
    std::memcpy(square[c], from + c * from_step, kTurnSide * kBytes);
  for (int64_t r = kTurnSide - rows; r < kTurnSide; ++r)
    for (int64_t c = 0; c < kTurnSide; ++c)
      std::memcpy(to + r * to_step + c * kBytes, &square[c][r * kBytes], kBytes);
}

// `from` has `rows_before` elements more in front of each column's. Squares at the edges are moved
// inwards where there is room: elements that are read twice take a fifth of the time of loops of
// unknown length. None is written that is not asked for.
template <int64_t kBytes>
void turn_matrix(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
                 int64_t columns, int64_t rows_before = 0) {
  for (int64_t r = 0; r < rows; r += kTurnSide) {
    const int64_t own_rows = rows - r < kTurnSide ? rows - r : kTurnSide;
    const int64_t first_row = r + own_rows - kTurnSide;  // where a whole square begins
    const bool is_whole = first_row + rows_before >= 0 && columns >= kTurnSide;
    for (int64_t c = 0; c < columns; c += kTurnSide) {
      const int64_t own_columns = columns - c < kTurnSide ? columns - c : kTurnSide;
      if (!is_whole) {
        turn_square<kBytes>(to + r * to_step + c * kBytes, to_step,
                            from + c * from_step + r * kBytes, from_step, own_rows, own_columns);
        continue;
      }
      const int64_t first_column = c + own_columns - kTurnSide;
      turn_whole_square<kBytes>(to + first_row * to_step + first_column * kBytes, to_step,
                                from + first_column * from_step + first_row * kBytes, from_step,
                                own_rows);
    }
  }
}

template <int64_t kBytes>
void move_axes(const LoopAxes& axes, char* to, const char* from) {
  const int32_t last = axes.count - 1;
  if (last < 0) {
    std::memcpy(to, from, kBytes);
    return;
  }
  const int32_t turned = axes.steps[last][1] == 1 ? turned_axis(axes) : -1;
  int64_t index[kMaxRank] = {};
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  while (true) {
    if (turned >= 0)
      turn_matrix<kBytes>(to + to_offset, axes.steps[turned][1] * kBytes, from + from_offset,
                          axes.steps[last][0] * kBytes, axes.extents[turned], axes.extents[last]);
    else
      move_run<kBytes>(to + to_offset, axes.steps[last][1] * kBytes, from + from_offset,
                       axes.steps[last][0] * kBytes, axes.extents[last]);
    int32_t i = last - 1;
    for (; i >= 0; --i) {
      if (i == turned) continue;
      from_offset += axes.steps[i][0] * kBytes;
      to_offset += axes.steps[i][1] * kBytes;
      if (++index[i] < axes.extents[i]) break;
      index[i] = 0;
      from_offset -= axes.extents[i] * axes.steps[i][0] * kBytes;
      to_offset -= axes.extents[i] * axes.steps[i][1] * kBytes;
    }
    if (i < 0) return;
  }
}

// Moves the elements that `axes` steps through: input 0 of it is `from`, input 1 is `to`.
inline void move_elements(const LoopAxes& axes, DType dtype, char* to, const char* from) {
  switch (dtype_bytes(dtype)) {
    case 1:
      move_axes<1>(axes, to, from);
      return;
    case 2:
      move_axes<2>(axes, to, from);
      return;
    case 4:
      move_axes<4>(axes, to, from);
      return;
    default:
      move_axes<8>(axes, to, from);
  }
}

// Writes `count` copies of the element at `from`.
inline void fill_elements(DType dtype, char* to, const char* from, int64_t count) {
  LoopAxes axes;
  axes.append(count, 0, 1);
  move_elements(axes, dtype, to, from);
}

}  // namespace codl::kernels
