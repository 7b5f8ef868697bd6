// Unary: y = f(x), element by element; f is a member of the family Unary (ops.def).
//
//   x, y  the same dims and the same layout: Plain of any rank, Nhwc, or Image2d (image row)
//
//   Identity   x
//   Relu       max(x, 0)
//   LeakyRelu  x < 0 ? alpha x : x
//   Clip       min(max(x, alpha), beta); alpha > beta gives beta
//   Sigmoid    1 / (1 + e^-x)
//   Tanh       tanh x
//
// Windows of rows: both must hold the rows of the part. Parts: Height and OutputChannel for Nhwc
// and Image2d; none for Plain. Pad lanes of y are written as zero whatever f(0) is. y must not
// overlap x. Nothing past the end is read.
//
// Features: mbytes (million bytes read and written), steps (1).
#pragma once

#include "kernels/common/check_step_shape.h"
#include "kernels/common/tasks.h"

namespace codl::kernels {

// Elements of one unit of work of a Plain step; a multiple of every vector length.
inline constexpr int64_t kUnaryPlainBlock = 4096;

// The pieces of a step: (batch, row) pairs, or blocks of a Plain tensor.
struct UnaryWork {
  Range rows;
  Range channels;
  int64_t units;
  int32_t task_count;
};

constexpr UnaryWork unary_work(SplitDim part_dim, Range part, const OperandShape& y) {
  UnaryWork work = {};
  if (!has_pixels(y)) {
    work.units = ceil_div(element_count(y), kUnaryPlainBlock);
    work.task_count = task_count_for(work.units, element_count(y));
    return work;
  }
  work.rows = rows_of_part(part_dim, part, y);
  work.channels = channels_of_part(part_dim, part, y);
  work.units = int64_t{y.dims[0]} * work.rows.count();
  work.task_count = task_count_for(work.units, work.units * y.dims[3] * work.channels.count());
  return work;
}

// f(x) for one element; the reference kernels of every operator with an activation use it.
float unary_value_ref(int32_t kind, float alpha, float beta, float x);

void unary_ref(const KernelArgs& args);
void unary_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
