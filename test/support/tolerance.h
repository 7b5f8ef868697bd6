// Bounds the difference between a kernel's result and the reference, per dtype.
#pragma once

#include <cmath>

#include "schema/tables.h"

namespace codl::test {

struct Tolerance {
  float absolute;
  float relative;
};

// F32: cases reduce at most a few thousand products of numbers in [-1, 1]. The reference adds them
// in double. A kernel adds n of them in float, one after the other; the error stays below n^(1/2)
// 2^-24 times their size, 4e-6 for n = 4000, and exp, tanh and division add some units in the last
// place. 5e-5 leaves a factor of ten, and is far below the error of a wrong tap or queue. I64 is
// copied, never computed.
constexpr Tolerance tolerance_of(DType dtype) {
  return dtype == DType::F32 ? Tolerance{5e-5f, 5e-5f} : Tolerance{0.0f, 0.0f};
}

// A kernel's own tolerance, if it is not as exact as its dtype's. With Winograd's method, an output
// has the error of its whole tile, 1.1e-6 of the outputs' size (kernels/conv2d/winograd.h), whether
// it is large or near zero. The cases' outputs are sums of up to 520 channels with a standard
// deviation of 23; the worst of some thousand outputs is 1.8e-4 off with one draw of inputs, 2.6e-4
// with another. A wrong tap or queue makes an error of 0.3.
constexpr Tolerance tolerance_of(const KernelInfo& kernel) {
  // A reference kernel is compared with itself.
  Tolerance tolerance = kernel.is_reference() ? Tolerance{0, 0} : tolerance_of(DType::F32);
  if (kernel.packing == PackingKind::Winograd4) tolerance.absolute = 4e-4f;
  return tolerance;
}

// Adds the rounding of a result that is stored as halves: to the nearest of 11 bits in a buffer; an
// image may round towards zero (OpenCL 1.2, section 8.3.2).
constexpr Tolerance with_half_rounding(Tolerance tolerance, Layout layout) {
  tolerance.relative += layout == Layout::Image2d ? 0x1p-10f : 0x1p-11f;
  return tolerance;
}

// A NaN is close to a NaN, and infinity to itself.
inline bool is_close(float expected, float found, Tolerance tolerance) {
  if (expected == found || (std::isnan(expected) && std::isnan(found))) return true;
  return std::fabs(expected - found) <=
         tolerance.absolute + tolerance.relative * std::fabs(expected);
}

}  // namespace codl::test
