// Activations on vectors: the members of the family Unary. Highway code, compiled once per target.
#if defined(CODL_KERNELS_COMMON_ACTIVATION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_ACTIVATION_INL_H
#undef CODL_KERNELS_COMMON_ACTIVATION_INL_H
#else
#define CODL_KERNELS_COMMON_ACTIVATION_INL_H
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "schema/tables.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// Members are limits, so that the common ones need no branch per vector: Identity, Relu and Clip
// are min(max(v, low), high). The others have a curve behind limits that change nothing.
struct Activation {
  int32_t kind;
  float alpha;
  float beta;
  float low;
  float high;
  bool has_curve;
};

inline Activation make_activation(int32_t kind, float alpha, float beta) {
  constexpr float kInfinity = __builtin_inff();
  Activation activation = {kind, alpha, beta, -kInfinity, kInfinity, false};
  if (kind == kUnaryRelu) activation.low = 0.0f;
  if (kind == kUnaryClip) {
    activation.low = alpha;
    activation.high = beta;
  }
  activation.has_curve = kind == kUnaryLeakyRelu || kind == kUnarySigmoid || kind == kUnaryTanh;
  return activation;
}

// min(max(v, low), high). With v as the second operand a NaN in v stays a NaN on x86 and NEON.
template <class V>
HWY_INLINE V limit(V v, V low, V high) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::Min(high, hn::Max(low, v));
}

// LeakyRelu, Sigmoid and Tanh; relative error below 1e-6. Not inlined: it is long, and the loops
// that call it now and then must keep their registers.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_NOINLINE V activation_curve(D d, int32_t kind, float alpha, hwy::HWY_NAMESPACE::VecArg<V> v) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (kind == kUnaryLeakyRelu)
    return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, hn::Set(d, alpha)), v);
  if (kind == kUnarySigmoid) {
    // 88: exp(88) is the last power of e that is finite in float; 1 / (1 + exp(88)) is below 1e-38.
    const V x = limit(V{v}, hn::Set(d, -88.0f), hn::Set(d, 88.0f));
    const V one = hn::Set(d, 1.0f);
    return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
  }
  // 10: tanh(9.02) is 1 in float; hn::Tanh needs exp of twice its argument to be finite.
  return hn::Tanh(d, limit(V{v}, hn::Set(d, -10.0f), hn::Set(d, 10.0f)));
}

// activation(v) for any member.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V activate(D d, const Activation& activation, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (activation.has_curve) return activation_curve(d, activation.kind, activation.alpha, v);
  return limit(v, hn::Set(d, activation.low), hn::Set(d, activation.high));
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_ACTIVATION_INL_H
