// ConvNd is a convolution, plain or transposed, over one to three spatial axes; the weights may be
// computed. It takes what Conv2d and DepthwiseConv2d do not.
//
//   x  [n, ic, s...]             rank 3 to 5
//   w  [oc, ic / groups, k...]   transposed: [ic, oc / groups, k...]
//   bias [oc]                    if has_bias
//   y  [n, oc, o...]
//
// All are Plain, f32 or i32. Along each axis input element i, tap k and output element o belong
// together if
//   o * stride - pad_begin + k * dilation = i
//   i * stride - pad_begin + k * dilation = o   transposed
// Elements outside x count as zero. Pads may be negative: they crop. The output's extent is its
// operand's; pad_end and output_padding only explain it.
//
// A transposed convolution is computed like the other one, output row by output row: nothing is
// scattered. Every output element is the sum of the bias and then its products in the order of
// (input channel, taps): in float, or modulo 2^32.
//
// Windows of rows and parts: none. y must not overlap x or w. Nothing past the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

inline constexpr int32_t kConvNdAxes = 3;

// One spatial axis.
struct ConvNdAxis {
  int32_t in = 1;
  int32_t out = 1;
  int32_t kernel = 1;
  int32_t stride = 1;
  int32_t dilation = 1;
  int32_t pad_begin = 0;
};

// The axes behind each other, the last of the operands last; those that are missing come first
// and have one element.
struct ConvNdAxes {
  ConvNdAxis axis[kConvNdAxes];
};

constexpr ConvNdAxes conv_nd_axes(const ConvNdParams& params, const OperandShape& x,
                                  const OperandShape& w, const OperandShape& y) {
  const int32_t strides[] = {params.stride_0, params.stride_1, params.stride_2};
  const int32_t dilations[] = {params.dilation_0, params.dilation_1, params.dilation_2};
  const int32_t pads[] = {params.pad_begin_0, params.pad_begin_1, params.pad_begin_2};
  ConvNdAxes axes;
  const int32_t count = x.rank - 2;
  for (int32_t i = 0; i < count; ++i)
    axes.axis[kConvNdAxes - count + i] = {x.dims[2 + i], y.dims[2 + i], w.dims[2 + i],
                                          strides[i],    dilations[i],  pads[i]};
  return axes;
}

void conv_nd_ref(const KernelArgs& args);

}  // namespace codl::kernels
