// Packs constants at compile time: from ONNX's form to the one that a kernel reads.
#pragma once

#include <cstdint>

#include "schema/types.h"

namespace codl::kernels {

// Returns the bytes of a constant's packed form, given its unpacked dims (OIHW, [k, n], [d, n, k]
// of Recurrent, bias: [oc]) and the `groups` of a convolution (else 1); 0 for None, which is ONNX's
// form. In order, the elements are:
//   ConvPanels    [ceil(oc/16)][kh][kw][ic/groups][16]    groups > 1: see conv2d.h
//   Depthwise     [kh][kw][round_up(c, 16)]
//   MatMulPanels  [ceil(n/16)][k][16]
//   Winograd4     [ceil(oc/16)][6 x 6][ic][16]           3x3 filters transformed, see winograd.h
//   Winograd2     [ceil(oc/16)][4 x 4][ic][16]           likewise
//   RecurrentPanels [d][ceil(n/16)][k][16]
//   Bias          [round_up(oc, 16)]
// Padding is zero. Of I8, ConvPanels and MatMulPanels are as common/gemm/byte_panels.h, Depthwise
// as depthwise_conv2d.h describes them; other packings have no bytes. Packing::blocks, which
// MatMulPanels alone may have, are as common/gemm/block_panels.h describes them.
uint64_t packed_bytes(Packing packing, const int32_t* dims, int32_t rank, int32_t groups);

// Packs `src` (ONNX order) into `dst`, which is packed_bytes long and aligned to its elements:
// floats or halves, rounded once to the nearest even, or bytes: then the weights of each output
// channel, or each block of them, lie on a grid (weight_grid.h). `packing` must not be None.
void pack(Packing packing, const int32_t* dims, int32_t rank, int32_t groups, const float* src,
          void* dst);

}  // namespace codl::kernels
