// Bounds the difference between a kernel's result and the reference on the numbers that the
// kernel's operands hold.
#pragma once

#include <algorithm>
#include <cmath>

#include "schema/tables.h"

namespace codl::test {

struct Tolerance {
  float absolute;
  float relative;
};

// AnyType: the reference kernel is compared with itself.
//
// F32: cases reduce at most a few thousand products of numbers in [-1, 1]. The reference adds them
// in double. A kernel adds n of them in float, one after the other; the error stays below n^(1/2)
// 2^-24 times their size, 4e-6 for n = 4000, and exp, tanh and division add some units in the last
// place. 5e-5 leaves a factor of ten, and is far below the error of a wrong tap or queue.
//
// F16: 128 products are added in halves, then those sums in float. 128 products are a sum with a
// standard deviation of 3.8, whose additions are each off by up to 2^-10: 6e-3 together; the errors
// of n products grow as n^(1/2). Outputs whose sums are large on the way are off by more: the worst
// measured under qemu, by 3.7e-3 n^(1/2). A wrong tap makes an error of 0.3.
inline Tolerance tolerance_of(Signature signature, double products) {
  switch (signature) {
    case Signature::AnyType:
      return {0, 0};
    case Signature::F32:
    case Signature::F16Store:
    case Signature::Q8Store:  // before the result is rounded to bytes
    case Signature::Blocks:
      return {5e-5f, 5e-5f};
    case Signature::F16:
      return {static_cast<float>(5e-3 * std::sqrt(products)), 5e-5f};
    case Signature::Q8:  // bytes_test.cc compares such kernels with integers
      return {0, 0};
  }
  __builtin_unreachable();
}

// Returns a kernel's own tolerance, if it is not as exact as its signature. With Winograd's method,
// an output has the error of its whole tile, 1.1e-6 of the outputs' size
// (kernels/conv2d/winograd.h), whether it is large or near zero. The cases' outputs are sums of up
// to 520 channels with a standard deviation of 23; the worst of some thousand outputs is 1.8e-4 off
// with one draw of inputs, 2.6e-4 with another. A wrong tap or queue makes an error of 0.3.
inline Tolerance tolerance_of(const KernelInfo& kernel, Signature signature, double products) {
  // Only sums of products are halves.
  if (signature == Signature::F16 && kernel.op == OpKind::Convert) signature = Signature::F16Store;
  Tolerance tolerance = tolerance_of(signature, products);
  if (kernel.packing == PackingKind::Winograd4)
    tolerance.absolute = std::max(tolerance.absolute, 4e-4f);
  return tolerance;
}

// Adds what rounding to halves makes of it: expected and found results on two sides of a half fall
// to neighbours, 2^-10 apart, and an image may round towards zero (OpenCL 1.2, section 8.3.2).
constexpr Tolerance with_half_rounding(Tolerance tolerance) {
  tolerance.relative += 0x1p-10f;
  return tolerance;
}

// A NaN is close to a NaN, and infinity to itself.
inline bool is_close(float expected, float found, Tolerance tolerance) {
  if (expected == found || (std::isnan(expected) && std::isnan(found))) return true;
  return std::fabs(expected - found) <=
         tolerance.absolute + tolerance.relative * std::fabs(expected);
}

}  // namespace codl::test
