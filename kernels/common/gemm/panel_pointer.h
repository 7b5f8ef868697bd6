// Says what a micro-kernel's maps and weights are in memory, and points to the maps that it adds or
// writes: of floats and halves to their elements, of bytes to what may be floats, too.
#pragma once

#include "kernels/common/contract/contract.h"
#include "schema/half.h"

namespace codl::kernels {

// Name numbers of which some are halves, the others floats: inputs and weights, and weights alone.
struct HalfFactors {};
struct HalfWeights {};

// Says what inputs, weights and results are for a T that names all three, and which T names tiles
// of such inputs and weights, whose sums are floats in any case.
template <class T>
struct PanelNumbers {
  using Input = T;
  using Weight = T;
  using Result = T;
  using Tile = T;
};
template <>
struct PanelNumbers<HalfFactors> {
  using Input = Half;
  using Weight = Half;
  using Result = float;
  using Tile = Half;
};
template <>
struct PanelNumbers<HalfWeights> {
  using Input = float;
  using Weight = Half;
  using Result = float;
  using Tile = HalfWeights;
};
template <class T>
using InputOf = typename PanelNumbers<T>::Input;
template <class T>
using WeightOf = typename PanelNumbers<T>::Weight;
template <class T>
using ResultOf = typename PanelNumbers<T>::Result;
template <class T>
using TileOf = typename PanelNumbers<T>::Tile;

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
