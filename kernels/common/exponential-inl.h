// Powers of e on vectors, where the range of the exponent is known. Highway code, compiled once per
// target.
#if defined(CODL_KERNELS_COMMON_EXPONENTIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_EXPONENTIAL_INL_H
#undef CODL_KERNELS_COMMON_EXPONENTIAL_INL_H
#else
#define CODL_KERNELS_COMMON_EXPONENTIAL_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// The least exponent of power_of_e(): e^-87 is 1.6e-38, and what is less is denormal or nothing.
inline constexpr float kLeastExponent = -87.0f;

// e^t for t in [-87, 88], with a relative error below 2e-7; a NaN stays one.
//
// e^t = 2^n e^r with n = round(t / ln 2), |r| <= ln 2 / 2, and ln 2 in two parts, the first of
// which has 9 bits, so that n times it is exact. The polynomial is a least-squares fit of e^r,
// reweighted until the relative error is level at 7.5e-8.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V power_of_e(D d, V t) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(hn::Mul(t, hn::Set(d, 1.44269504f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), t);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 8.2976479116e-03f);
  p = hn::MulAdd(p, r, hn::Set(d, 4.1915433286e-02f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6667575103e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.9998894397e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.9999969180e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0000000717f));
  // n is -126 to 127. Multiplied, so that a NaN in p stays one whatever n became.
  const auto exponent = hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(exponent)));
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_EXPONENTIAL_INL_H
