// The packing of MatMul's weights as integers of 4 or 8 bits, in blocks of neighbouring depths that
// have a scale and a zero point for each column. A panel of kChannelPanel columns is, block by
// block,
//
//   float scales[16]
//   zero points of `bits` bits: a byte for each column; of 4 bits, byte c has those of columns c
//   (low
//                               bits) and c + 8
//   integers    of 8 bits: [depths of the block][16] bytes
//               of 4 bits: [ceil(depths of the block / 2)][16] bytes with a pair of depths, the
//               even
//                          one in the low bits
//
// A weight is (integer - zero point) * scale, rounded once to a float. All blocks but the last have
// the same number of depths. How large they are, and of how many bits, follows from the packing's
// size: blocks of twice the size are fewer, and bits of half the number take less whatever the
// size.
#pragma once

#include "kernels/common/gemm/packed_weights.h"

namespace codl::kernels {

inline constexpr int32_t kMinBlock = 16;
// Sums of more products have no kernel: workers have room for two panels of floats.
inline constexpr int32_t kMaxBlockedDepth = 1 << 16;

constexpr int64_t block_header_bytes(int32_t bits) {
  return kChannelPanel * int64_t{sizeof(float)} + kChannelPanel * bits / 8;
}
constexpr int64_t block_bytes(int32_t bits, int64_t depths) {
  return block_header_bytes(bits) + (bits == 8 ? depths : (depths + 1) / 2) * kChannelPanel;
}
constexpr int64_t block_panel_bytes(WeightBlocks blocks, int64_t depth) {
  const int64_t rest = depth % blocks.size;
  return depth / blocks.size * block_bytes(blocks.bits, blocks.size) +
         (rest > 0 ? block_bytes(blocks.bits, rest) : 0);
}

// Returns the blocks of packed weights [k, n] of so many bytes, or none.
[[gnu::noinline]] constexpr WeightBlocks blocks_of(const OperandShape& w) {
  const int64_t depth = w.dims[0];
  if (depth > kMaxBlockedDepth) return {};
  for (const int32_t bits : {4, 8})
    for (int32_t size = kMinBlock;; size *= 2) {
      const int64_t panels = ceil_div(w.dims[1], kChannelPanel);
      if (static_cast<uint64_t>(panels * block_panel_bytes({bits, size}, depth)) == w.bytes)
        return {bits, size};
      if (size >= depth) break;
    }
  return {};
}

// Packs `columns` columns, 16 at most, of a matrix [depth, stride] that has such blocks
// (find_blocks()).
void pack_block_panel(const float* src, int64_t columns, int64_t stride, int64_t depth,
                      WeightBlocks blocks, uint8_t* dst);

}  // namespace codl::kernels
