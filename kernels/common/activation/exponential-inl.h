// Computes powers of e on vectors, where the range of the exponent is known. This is Highway code,
// compiled once per target.
#if defined(CODL_KERNELS_COMMON_EXPONENTIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_EXPONENTIAL_INL_H
#undef CODL_KERNELS_COMMON_EXPONENTIAL_INL_H
#else
#define CODL_KERNELS_COMMON_EXPONENTIAL_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// power_of_e() makes 0 of this exponent, its least.
inline constexpr float kMinExponent = -88.0f;

// Returns e^t for t in [-88, 88], with a relative error below 4e-7, and 0 below -87.7; a NaN stays
// one.
//
// e^t = 2^n e^r with n = round(t / ln 2), |r| <= ln 2 / 2. To round t / ln 2, a number is added
// whose last bit is worth one: the sum has n in its last bits. The number ends in 127 there, which
// makes them the exponent bits of 2^n (those of 2^-127 are the bits of 0). ln 2 is off by 2e-9, and
// n times that is the largest part of the error. The polynomial is a least-squares fit of e^r,
// reweighted until the relative error is level at 7.5e-8.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V power_of_e(D d, V t) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const V last_bit_is_one = hn::Set(d, 0x1.8p23f + 127.0f);
  const V shifted = hn::MulAdd(t, hn::Set(d, 1.44269504f), last_bit_is_one);
  const V n = hn::Sub(shifted, last_bit_is_one);
  const V r = hn::NegMulAdd(n, hn::Set(d, 0.693147181f), t);
  V p = hn::Set(d, 8.2976479116e-03f);
  p = hn::MulAdd(p, r, hn::Set(d, 4.1915433286e-02f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6667575103e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.9998894397e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.9999969180e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0000000717f));
  // This multiplies, so that a NaN in p stays one whatever n became.
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_EXPONENTIAL_INL_H
