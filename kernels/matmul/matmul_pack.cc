#include "kernels/matmul/matmul.h"

namespace codl::kernels {

void matmul_pack(const int32_t* dims, const float* src, float* dst) {
  const int64_t depth = dims[0];
  const int64_t columns = dims[1];
  for (int64_t first = 0; first < columns; first += kChannelPanel)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t column = first; column < first + kChannelPanel; ++column)
        *dst++ = column < columns ? src[k * columns + column] : 0.0f;
}

}  // namespace codl::kernels
