// 2-D convolution, float32: y = activation(conv(x, w) + bias + residual).
//
//   x         [n, ic, ih, iw]         Nhwc (Image2d for the image row)
//   w         [oc, ic/groups, kh, kw] Packed, see below
//   bias      [oc]                    Packed: [round_up(oc, 16)], zero past oc
//   residual  [n, oc, oh, ow]         as y; present when has_residual is 1; holds the part's rows
//   y         [n, oc, oh, ow]         Nhwc (Image2d); must not alias an input, but may be the
//                                     residual
//
// oh = (ih + pad_top + pad_bottom - ((kh - 1) dilation_h + 1)) / stride_h + 1, ow likewise. x holds
// the rows that the part's rows reach, clipped to the map.
//
// Packed w: [groups][ceil(og/16)][kh][kw][ic/groups][16] with og = oc/groups; lanes past og are
// zero. So a panel never spans two groups, and output channel c lies in panel
// (c / og) * ceil(og/16) + (c % og) / 16, lane (c % og) % 16. With one group this is
// [ceil(oc/16)][kh][kw][ic][16].
//
// Parts: rows; or output channels, unless groups > 1 and og is no multiple of 16 (a cut would fall
// inside a panel).
//
// Features (of the part):
//   mmacs_1x1, mmacs_3x3_s1, mmacs_3x3_s2, mmacs_other
//                  million multiply-adds, under one of the names by kernel and stride (1x1: any
//                  stride; s1, s2: both strides); output channels of each group rounded up to 16 on
//                  a CPU row, to 4 on a GPU row. The other three are not listed.
//   mbytes         million bytes of activations: the rows of x and the residual read once, y
//                  written once
//   weight_mbytes  million bytes of packed w and bias read once
//   steps          1
#pragma once

#include "kernels/common/packed_weights.h"

namespace codl::kernels {

// `dims` are OIHW.
constexpr uint64_t conv2d_packed_bytes(const int32_t* dims, int32_t groups) {
  return static_cast<uint64_t>(groups) * static_cast<uint64_t>(panel_channels(dims[0] / groups)) *
         static_cast<uint64_t>(dims[1]) * static_cast<uint64_t>(dims[2]) *
         static_cast<uint64_t>(dims[3]) * sizeof(float);
}

// src OIHW; dst of conv2d_packed_bytes().
void conv2d_pack(const int32_t* dims, int32_t groups, const float* src, float* dst);

}  // namespace codl::kernels
