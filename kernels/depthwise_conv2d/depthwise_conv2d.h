// 2-D convolution with one filter per channel, float32:
// y = activation(conv(x, w) + bias + residual).
//
//   x         [n, c, ih, iw]  Nhwc (Image2d for the image row)
//   w         [c, 1, kh, kw]  Packed: [kh][kw][round_up(c, 16)], lanes past c are zero
//   bias      [c]             Packed: [round_up(c, 16)], zero past c
//   residual  [n, c, oh, ow]  as y; present when has_residual is 1; holds the rows of the part
//   y         [n, c, oh, ow]  Nhwc (Image2d); must not alias an input, but may be the residual
//
// oh = (ih + pad_top + pad_bottom - ((kh - 1) dilation_h + 1)) / stride_h + 1, ow likewise. x holds
// the rows that the part's rows reach, clipped to the map. Parts: rows, or channels.
//
// Features (of the part):
//   mmacs   million multiply-adds; channels rounded up to 16 on a CPU row, to 4 on a GPU row
//   mbytes  million bytes of activations: the rows of x and the residual read once, y written once
//   steps   1
#pragma once

#include "kernels/common/packed_weights.h"

namespace codl::kernels {

// `dims` are [c, 1, kh, kw].
constexpr uint64_t depthwise_conv2d_packed_bytes(const int32_t* dims) {
  return static_cast<uint64_t>(panel_channels(dims[0])) * static_cast<uint64_t>(dims[2]) *
         static_cast<uint64_t>(dims[3]) * sizeof(float);
}

// src OIHW; dst of depthwise_conv2d_packed_bytes().
void depthwise_conv2d_pack(const int32_t* dims, const float* src, float* dst);

}  // namespace codl::kernels
