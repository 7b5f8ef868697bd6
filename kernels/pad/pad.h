// Pad: x with begin_i elements in front of it and end_i behind it along each axis.
//
//   x, y   one dtype, the same rank, 0 to 8; y.dims[i] = begin_i + x.dims[i] + end_i.
//          pad_any_cpu: Plain. f32 kernels: Nhwc, all rows held, pads along rows and columns; of a
//          constant along channels, too (CPU kernel)
//   value  optional, Plain, one element of that dtype
//
// kind  Constant: value, or zero without one. The others repeat x, as often as the pad needs:
//       Edge: its first or last element. Wrap: x again and again. Reflect: x forwards and backwards
//       in turn, the element at a turn once (numpy's "reflect"; a dim of 1 repeats its element).
//
// begin and end are not negative. Pad lanes of an Nhwc y are written as zero. y must not overlap x.
// No parts. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

struct PadAxes {
  int32_t begin[kMaxRank];
  int32_t end[kMaxRank];
};

constexpr PadAxes pad_axes(const PadParams& p) {
  return {{p.begin_0, p.begin_1, p.begin_2, p.begin_3, p.begin_4, p.begin_5, p.begin_6, p.begin_7},
          {p.end_0, p.end_1, p.end_2, p.end_3, p.end_4, p.end_5, p.end_6, p.end_7}};
}

// The element of x, of `dim`, that stands at `place`, which may lie in front of x or behind it. For
// kinds that repeat x.
constexpr int64_t pad_place_in_x(int32_t kind, int64_t place, int64_t dim) {
  if (kind == kPadEdge || dim == 1) return place < 0 ? 0 : place < dim ? place : dim - 1;
  const int64_t period = kind == kPadWrap ? dim : 2 * (dim - 1);
  place %= period;
  if (place < 0) place += period;
  return place < dim ? place : period - place;
}

// The pieces of a step of the Nhwc row: (batch, output row) pairs.
struct PadWork {
  int64_t units;
  int32_t task_count;
};

constexpr PadWork pad_work(const OperandShape& y) {
  const int64_t units = int64_t{y.dims[0]} * y.dims[2];
  return {units, task_count_for(units, stored_elements(y))};
}

void pad_ref(const KernelArgs& args);
void pad_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
