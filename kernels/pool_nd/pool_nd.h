// PoolNd slides over one to three spatial axes of each channel and keeps one number. What Pool2d
// does not take: integers, other ranks, Lp norms, the places of maxima.
//
//   x  [n, c, s...]   rank 3 to 5; Max, MaxIndex: f32 or integers; Average, Lp: f32
//   y  [n, c, o...]   the dtype of x; MaxIndex: i64
//
// All Plain. Output o looks at inputs o * stride - pad_begin + i * dilation, 0 <= i < kernel, as
// far as they are in the map.
//   Max       the largest of them; of nothing: the dtype's lowest
//   MaxIndex  where that is, the first of equals: its place in x as one row of elements
//             (is_column_major: within a map the first spatial axis counts fastest); of nothing: 0
//   Average   their mean; count_include_pad: divided by the taps in [-pad_begin, extent + pad_end),
//             for in ceil_mode a window may run further and that counts nowhere (ONNX)
//   Lp        (sum |x|^p)^(1/p)
// The output's extent is its operand's; ceil_mode itself changes nothing here.
//
// Windows of rows and parts: none. y must not overlap x. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

inline constexpr int32_t kPoolNdAxes = 3;

// One spatial axis.
struct PoolNdAxis {
  int32_t in = 1;
  int32_t out = 1;
  int32_t kernel = 1;
  int32_t stride = 1;
  int32_t dilation = 1;
  int32_t pad_begin = 0;
  int32_t pad_end = 0;
};

// The axes behind each other, the last of the operands last; those that are missing come first
// and have one element.
struct PoolNdWindow {
  PoolNdAxis axis[kPoolNdAxes];
};

constexpr PoolNdWindow pool_nd_axes(const PoolNdParams& params, const OperandShape& x,
                                    const OperandShape& y) {
  const PoolNdAxis given[] = {
      {1, 1, params.kernel_0, params.stride_0, params.dilation_0, params.pad_begin_0,
       params.pad_end_0},
      {1, 1, params.kernel_1, params.stride_1, params.dilation_1, params.pad_begin_1,
       params.pad_end_1},
      {1, 1, params.kernel_2, params.stride_2, params.dilation_2, params.pad_begin_2,
       params.pad_end_2},
  };
  PoolNdWindow axes;
  const int32_t count = x.rank - 2;
  for (int32_t i = 0; i < count; ++i) {
    PoolNdAxis& axis = axes.axis[kPoolNdAxes - count + i];
    axis = given[i];
    axis.in = x.dims[2 + i];
    axis.out = y.dims[2 + i];
  }
  return axes;
}

void pool_nd_ref(const KernelArgs& args);

}  // namespace codl::kernels
