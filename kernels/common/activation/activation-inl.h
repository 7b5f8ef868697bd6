// Computes activations, the members of the family Unary, on vectors. This is Highway code, compiled
// once per target.
#if defined(CODL_KERNELS_COMMON_ACTIVATION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_ACTIVATION_INL_H
#undef CODL_KERNELS_COMMON_ACTIVATION_INL_H
#else
#define CODL_KERNELS_COMMON_ACTIVATION_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/activation/activation.h"

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
  activation.has_curve = kind != kUnaryIdentity && kind != kUnaryRelu && kind != kUnaryClip;
  return activation;
}

// Returns max(v, low); a NaN in v stays one. V is a whole vector of float.
template <class V>
HWY_INLINE V at_least(V v, V low) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Lt(v, low), low, v);
#elif HWY_ARCH_ARM_A64
  // Highway's Min and Max are vminnm and vmaxnm, which prefer the number.
  return V(vmaxq_f32(low.raw, v.raw));
#else
  // x86 gives the second operand if one is a NaN.
  return hn::Max(low, v);
#endif
}

// Returns min(v, high), likewise.
template <class V>
HWY_INLINE V at_most(V v, V high) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Gt(v, high), high, v);
#elif HWY_ARCH_ARM_A64
  return V(vminq_f32(high.raw, v.raw));
#else
  return hn::Min(high, v);
#endif
}

// Returns the larger of the two, a NaN if either is one.
template <class V>
HWY_INLINE V larger(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
#elif HWY_ARCH_ARM_A64
  return V(vmaxq_f32(a.raw, b.raw));
#else
  return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b));
#endif
}

// Returns min(max(v, low), high), likewise.
template <class V>
HWY_INLINE V limit(V v, V low, V high) {
  return at_most(at_least(v, low), high);
}

using ActivationTag = hwy::HWY_NAMESPACE::ScalableTag<float>;
using ActivationVector = hwy::HWY_NAMESPACE::Vec<ActivationTag>;

// Computes the members that are more than limits, with a relative error below 1e-6 (those with erf:
// absolute). They are in activation_f32_cpu.cc, once for all kernels, because they are long and the
// loops that call them must keep their registers.
//
// For code that has only a vector now and then:
ActivationVector activation_curve(const Activation& activation,
                                  hwy::HWY_NAMESPACE::VecArg<ActivationVector> v);

// y = activation(x) for `rows` rows of `count` elements, whose starts are `x_stride` and `y_stride`
// elements apart; y may be x. The members that networks are full of (limits, HardSwish, Swish,
// Sigmoid, Tanh, HardSigmoid) have loops of their own, so this is how a kernel ends what it has
// just stored: a load, a store and some ten instructions per vector in the first level cache.
void activate_rows(const Activation& activation, const float* x, int64_t x_stride, float* y,
                   int64_t y_stride, int64_t rows, int64_t count);

// Returns activation(v) for any kind that is_activation().
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V activate(D d, const Activation& activation, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (activation.has_curve) return activation_curve(activation, v);
  return limit(v, hn::Set(d, activation.low), hn::Set(d, activation.high));
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_ACTIVATION_INL_H
