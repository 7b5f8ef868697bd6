// MatMul with constant weights: y = activation(x w + bias), float32. The fully connected layer.
//
//   x     [m, k]   Plain
//   w     [k, n]   Packed: [ceil(n/16)][k][16], lanes past n are zero; matmul_pack()
//   bias  [n]      Packed: [round_up(n, 16)], zero past n
//   y     [m, n]   Plain; must not alias an input
//
// A part is a range of columns: part_dim OutputChannel. activation: a Unary member.
//
// Features (of the part):
//   mmacs         million multiply-adds; columns rounded up to 16 on a CPU row, to 4 on a GPU row
//   mbytes        million bytes of x read once and y written once
//   weight_mbytes million bytes of packed w and bias read once
//   steps         1
#pragma once

#include "kernels/common/packed_weights.h"

namespace codl::kernels {

// `dims` are [k, n].
constexpr uint64_t matmul_packed_bytes(const int32_t* dims) {
  return static_cast<uint64_t>(panel_channels(dims[1])) * static_cast<uint64_t>(dims[0]) *
         sizeof(float);
}

// src [k, n] row-major; dst of matmul_packed_bytes().
void matmul_pack(const int32_t* dims, const float* src, float* dst);

}  // namespace codl::kernels
