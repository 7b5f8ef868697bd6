#include "kernels/recurrent/recurrent.h"
#include "schema/half.h"

namespace codl::kernels {

template <typename Element>
void recurrent_pack(const int32_t* dims, const float* src, Element* dst) {
  const int64_t rows = dims[1];
  const int64_t depth = dims[2];
  for (int64_t direction = 0; direction < dims[0]; ++direction, src += rows * depth)
    for (int64_t first = 0; first < rows; first += kChannelPanel)
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t row = first; row < first + kChannelPanel; ++row)
          *dst++ = static_cast<Element>(row < rows ? src[row * depth + k] : 0.0f);
}

template void recurrent_pack(const int32_t*, const float*, float*);
template void recurrent_pack(const int32_t*, const float*, Half*);

}  // namespace codl::kernels
