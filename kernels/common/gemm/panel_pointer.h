// Points to the maps that a micro-kernel adds or writes: of floats and halves to their elements, of
// bytes to what may be floats, too.
#pragma once

#include "kernels/common/contract/contract.h"

namespace codl::kernels {

// Points to numbers that are bytes or floats.
struct ByteOrFloat {
  char* p = nullptr;
  int32_t element_bytes = 1;

  ByteOrFloat operator+(int64_t elements) const {
    return {p + elements * element_bytes, element_bytes};
  }
  ByteOrFloat& operator+=(int64_t elements) { return *this = *this + elements; }
};

template <class T>
struct PanelPointer {
  using Type = T*;
  static Type of(const TensorView& view) { return view.as<T>(); }
};
template <>
struct PanelPointer<int8_t> {
  using Type = ByteOrFloat;
  static Type of(const TensorView& view) { return {view.as<char>(), element_bytes(view.shape)}; }
};

}  // namespace codl::kernels
