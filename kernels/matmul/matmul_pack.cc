#include "kernels/common/gemm/byte_panels.h"
#include "kernels/matmul/matmul.h"
#include "schema/half.h"

namespace codl::kernels {

template <typename Element>
void matmul_pack(const int32_t* dims, const float* src, Element* dst) {
  const int64_t depth = dims[0];
  const int64_t columns = dims[1];
  for (int64_t first = 0; first < columns; first += kChannelPanel)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t column = first; column < first + kChannelPanel; ++column)
        *dst++ = static_cast<Element>(column < columns ? src[k * columns + column] : 0.0f);
}

void matmul_pack(const int32_t* dims, const float* src, int8_t* dst) {
  const int64_t depth = dims[0];
  const int64_t columns = dims[1];
  for (int64_t first = 0; first < columns; first += kChannelPanel) {
    const int64_t left = columns - first;
    pack_byte_panel(src + first, left < kChannelPanel ? left : kChannelPanel, 1, 1, depth, columns,
                    dst);
    dst += byte_panel_bytes(1, depth);
  }
}

void matmul_pack(const int32_t* dims, const float* src, WeightBlocks blocks, uint8_t* dst) {
  const int64_t depth = dims[0];
  const int64_t columns = dims[1];
  for (int64_t first = 0; first < columns; first += kChannelPanel) {
    const int64_t left = columns - first;
    pack_block_panel(src + first, left < kChannelPanel ? left : kChannelPanel, columns, depth,
                     blocks, dst);
    dst += block_panel_bytes(blocks, depth);
  }
}

template void matmul_pack(const int32_t*, const float*, float*);
template void matmul_pack(const int32_t*, const float*, Half*);

}  // namespace codl::kernels
