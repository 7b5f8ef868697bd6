// Weight packing, at compile time. One packing per operator serves every CPU and GPU row.
#pragma once

#include <cstdint>

#include "kernels/common/contract.h"

namespace codl::kernels {

// Bytes of the packed form of constant operand `operand` of the step's op, given its unpacked dims
// (OIHW, or [k, n]; bias: [oc]); 0 if the operand is used as it is.
//   Conv2d w          [ceil(oc/16)][kh][kw][ic/groups][16]    groups > 1: see conv2d.h
//   DepthwiseConv2d w [kh][kw][round_up(c, 16)]
//   MatMul w          [ceil(n/16)][k][16]
//   bias              [round_up(oc, 16)]
// Padding is zero.
uint64_t packed_bytes(OpKind op, uint32_t operand, const int32_t* dims, int32_t rank,
                      int32_t groups);

// Packs `src` (ONNX order) into `dst` (packed_bytes long).
void pack(OpKind op, uint32_t operand, const int32_t* dims, int32_t rank, int32_t groups,
          const float* src, float* dst);

}  // namespace codl::kernels
