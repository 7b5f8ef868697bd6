// Pad: x with begin_i elements in front of it and end_i behind it along each axis.
//
//   x, y   Plain, one dtype, the same rank, 0 to 8; y.dims[i] = begin_i + x.dims[i] + end_i
//   value  optional, one element of that dtype
//
// kind  Constant: value, or zero without one. The others repeat x, as often as the pad needs:
//       Edge: its first or last element. Wrap: x again and again. Reflect: x forwards and backwards
//       in turn, the element at a turn once (numpy's "reflect"; a dim of 1 repeats its element).
//
// begin and end are not negative. y must not overlap x. No parts. Nothing past the end is read.
//
// Features: mbytes (million bytes read and written), steps (1).
#pragma once

#include "kernels/common/check_step_shape.h"

namespace codl::kernels {

struct PadAxes {
  int32_t begin[kMaxRank];
  int32_t end[kMaxRank];
};

constexpr PadAxes pad_axes(const PadParams& p) {
  return {{p.begin_0, p.begin_1, p.begin_2, p.begin_3, p.begin_4, p.begin_5, p.begin_6, p.begin_7},
          {p.end_0, p.end_1, p.end_2, p.end_3, p.end_4, p.end_5, p.end_6, p.end_7}};
}

void pad_ref(const KernelArgs& args);

}  // namespace codl::kernels
