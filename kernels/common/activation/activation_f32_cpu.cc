// Computes the members of Unary that are more than limits, once per instruction set for all
// kernels.
#include "kernels/unary/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/activation/activation_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/activation/exponential-inl.h"
#include "kernels/common/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = ActivationTag;
using Vector = ActivationVector;

// Returns e^x for any x but a NaN; hn::Exp ends at 104. Beyond 88.722839 the result is more than
// the largest float.
HWY_INLINE Vector exponential(Vector x) {
  const D d;
  const Vector last = hn::Set(d, 88.722839f);
  return hn::IfThenElse(hn::Gt(x, last), hn::Inf(d), hn::CallExp(d, hn::Min(x, last)));
}

// Returns scale (e^x - 1) for x below 0, and x for the others.
HWY_INLINE Vector exponential_below_zero(Vector x, float scale) {
  const D d;
  const Vector zero = hn::Zero(d);
  const Vector curve = hn::Mul(hn::Set(d, scale), hn::CallExpm1(d, hn::Min(x, zero)));
  return hn::IfThenElse(hn::Lt(x, zero), curve, x);
}

// Returns 1 / x for an x between 1 and 1e38.
HWY_INLINE Vector reciprocal(Vector x) {
  const D d;
#if HWY_TARGET == HWY_AVX3
  // A division of 16 takes as long as all the rest of a sigmoid. The estimate has 14 digits, a step
  // of Newton's method doubles them.
  const Vector y = hn::ApproximateReciprocal(x);
  return hn::Mul(y, hn::NegMulAdd(x, y, hn::Set(d, 2.0f)));
#else
  return hn::Div(hn::Set(d, 1.0f), x);
#endif
}

// Returns 1 / (1 + e^-v); 0 below -87, so that it vanishes beside any factor. A NaN stays one.
HWY_INLINE Vector sigmoid(Vector v) {
  const D d;
  const Vector low = hn::Set(d, -87.0f);
  // At 20 and above 1 + e^-v is 1.
  const Vector x = limit(v, low, hn::Set(d, 20.0f));
  const Vector y = reciprocal(hn::Add(hn::Set(d, 1.0f), power_of_e(d, hn::Neg(x))));
  return hn::IfThenZeroElse(hn::Lt(v, low), y);
}

HWY_INLINE Vector affine(Vector x, float alpha, float beta) {
  const D d;
  return hn::MulAdd(x, hn::Set(d, alpha), hn::Set(d, beta));
}

// Returns alpha x + beta, limited to [0, 1].
HWY_INLINE Vector ramp(Vector x, float alpha, float beta) {
  const D d;
  return limit(affine(x, alpha, beta), hn::Zero(d), hn::Set(d, 1.0f));
}

HWY_INLINE Vector leaky_relu(Vector x, float slope) {
  const D d;
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, slope)), x);
}

// Returns P(u) / Q(u); Q is between 1 and 1e38.
template <int kCount>
HWY_INLINE Vector rational(Vector u, const float (&p)[kCount], const float (&q)[kCount]) {
  const D d;
  Vector above = hn::Set(d, p[kCount - 1]);
  Vector below = hn::Set(d, q[kCount - 1]);
  for (int i = kCount - 2; i >= 0; --i) {
    above = hn::MulAdd(above, u, hn::Set(d, p[i]));
    below = hn::MulAdd(below, u, hn::Set(d, q[i]));
  }
  return hn::Mul(above, reciprocal(below));
}

// x P(x^2) / Q(x^2), a least-squares fit of tanh(x) / x on [0, 9], reweighted until the relative
// error is level at 2.1e-8; in float it is below 5e-7. tanh(9) is 1 - 3.1e-8. A NaN stays one.
HWY_INLINE Vector hyperbolic_tangent(Vector v) {
  const D d;
  const Vector x = limit(v, hn::Set(d, -9.0f), hn::Set(d, 9.0f));
  constexpr float kP[] = {9.9999997948e-01f, 1.3381007459e-01f, 3.4955661856e-03f,
                          2.0608709264e-05f, 1.3354128060e-08f};
  constexpr float kQ[] = {1.0f, 4.6714323061e-01f, 2.5876899619e-02f, 3.2855983826e-04f,
                          7.7763431305e-07f};
  const Vector y = hn::Mul(x, rational(hn::Mul(x, x), kP, kQ));
  return limit(y, hn::Set(d, -1.0f), hn::Set(d, 1.0f));
}

HWY_INLINE Vector hard_swish(Vector x) { return hn::Mul(x, ramp(x, 1.0f / 6.0f, 0.5f)); }

HWY_INLINE Vector quantize8(Vector x, float scale, float zero_point) {
  const D d;
  const Vector alpha = hn::Set(d, scale);
  const Vector steps = hn::Round(hn::Div(x, alpha));
  return hn::Mul(limit(steps, hn::Set(d, -zero_point), hn::Set(d, 255.0f - zero_point)), alpha);
}

HWY_INLINE Vector swish(Vector x, float alpha) {
  return hn::Mul(x, sigmoid(hn::Mul(x, hn::Set(D(), alpha))));
}

// x P(x^2) / Q(x^2), a least-squares fit of erf(x) / x on [0, 3.9], reweighted until the relative
// error is level at 1.8e-8; in float it is below 4e-7. erf(3.9) is 1 - 3.5e-8.
HWY_INLINE Vector error_function(Vector v) {
  const D d;
  const Vector x = limit(v, hn::Set(d, -3.9f), hn::Set(d, 3.9f));
  const Vector u = hn::Mul(x, x);
  constexpr float kP[] = {1.1283791478e+00f, 1.8965794902e-01f, 5.2666754380e-02f,
                          3.7379262637e-03f, 2.8504635490e-04f, 2.0664562064e-06f};
  constexpr float kQ[] = {1.0f,
                          5.0141276495e-01f,
                          1.1381515079e-01f,
                          1.4913437008e-02f,
                          1.1572626650e-03f,
                          3.8269018199e-05f};
  Vector p = hn::Set(d, kP[5]);
  Vector q = hn::Set(d, kQ[5]);
  for (int i = 4; i >= 0; --i) {
    p = hn::MulAdd(p, u, hn::Set(d, kP[i]));
    q = hn::MulAdd(q, u, hn::Set(d, kQ[i]));
  }
  return limit(hn::Div(hn::Mul(x, p), q), hn::Set(d, -1.0f), hn::Set(d, 1.0f));
}

HWY_INLINE Vector gelu(Vector x) {
  const D d;
  const Vector half = hn::Set(d, 0.5f);
  const Vector erf = error_function(hn::Mul(x, hn::Set(d, 0.70710678f)));
  return hn::Mul(x, hn::MulAdd(erf, half, half));
}

// Uses (1 + tanh u) / 2 = sigmoid(2 u); 1.5957691 = 2 sqrt(2 / pi)
HWY_INLINE Vector gelu_tanh(Vector x) {
  const D d;
  const Vector cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f), hn::Set(d, 1.0f));
  return hn::Mul(x, sigmoid(hn::Mul(hn::Mul(x, hn::Set(d, 1.5957691f)), cubic)));
}

HWY_INLINE Vector selu(Vector x, float alpha, float beta) {
  return hn::Mul(hn::Set(D(), beta), exponential_below_zero(x, alpha));
}

HWY_INLINE Vector thresholded_relu(Vector x, float alpha) {
  return hn::IfThenElseZero(hn::Gt(x, hn::Set(D(), alpha)), x);
}

HWY_INLINE Vector softsign(Vector x) {
  const D d;
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), hn::Abs(x)));
}

HWY_INLINE Vector shrink(Vector x, float bias, float limit) {
  const D d;
  const Vector moved = hn::Set(d, bias);
  const Vector above = hn::IfThenElseZero(hn::Gt(x, hn::Set(d, limit)), hn::Sub(x, moved));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -limit)), hn::Add(x, moved), above);
}

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
HWY_INLINE Vector softplus(Vector x) {
  const D d;
  const Vector power = hn::CallExp(d, hn::Neg(hn::Abs(x)));
  return hn::Add(hn::Max(x, hn::Zero(d)), hn::CallLog1p(d, power));
}

// It uses tanh(log(1 + p)) = n / (n + 2) with n = p (p + 2). From e^20 on, that is 1 in float.
HWY_INLINE Vector mish(Vector x) {
  const D d;
  const Vector two = hn::Set(d, 2.0f);
  const Vector power = hn::CallExp(d, hn::Min(x, hn::Set(d, 20.0f)));
  const Vector n = hn::Mul(power, hn::Add(power, two));
  return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
}

HWY_INLINE Vector celu(Vector x, float scale) {
  const D d;
  const Vector zero = hn::Zero(d);
  const Vector alpha = hn::Set(d, scale);
  // Where e^88 is not enough, alpha is below 0 and the sum below -1e38.
  const Vector power = hn::CallExpm1(d, hn::Min(hn::Div(x, alpha), hn::Set(d, 88.0f)));
  return hn::Add(hn::Max(x, zero), hn::Min(hn::Mul(alpha, power), zero));
}

HWY_INLINE Vector logarithm(Vector x) {
  const D d;
  const Vector zero = hn::Zero(d);
  const Vector curve = hn::IfThenElse(hn::Eq(x, hn::Inf(d)), x, hn::CallLog(d, x));
  const Vector pole = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), hn::NaN(d));
  return hn::IfThenElse(hn::Gt(x, zero), curve, pole);
}

HWY_INLINE Vector sign(Vector x) {
  const D d;
  return hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), hn::CopySign(hn::Set(d, 1.0f), x));
}

// Serves functions that no network needs fast.
HWY_NOINLINE Vector by_lane(const Activation& activation, hn::VecArg<Vector> x) {
  const D d;
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    lanes[i] = unary_value_ref(activation.kind, activation.alpha, activation.beta, lanes[i]);
  return hn::Load(d, lanes);
}

// hn::Sin and hn::Cos lose their digits beyond 39000.
HWY_INLINE bool is_slow(Vector x) {
  const D d;
  return !hn::AllTrue(d, hn::Lt(hn::Abs(x), hn::Set(d, 39000.0f)));
}

// hn::Sin makes 0 of -0.
HWY_INLINE Vector sine(Vector x) {
  const D d;
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Sin(d, x));
}

// Computes the member with this number; x is no NaN.
HWY_INLINE Vector curve_of(const Activation& activation, Vector x) {
  const float alpha = activation.alpha;
  const float beta = activation.beta;
  switch (activation.kind) {
#define BY_LANE by_lane(activation, x)
#define CODL_ACTIVATION(Name, number, parameters, use, formula, vector, cpu_cost, cl_cost, cl) \
  case number:                                                                                 \
    return vector;
#include "schema/activations.def"
#undef BY_LANE
    default:
      return x;
  }
}

// Describes rows of memory, as activate_rows() has them.
struct Rows {
  const float* x;
  int64_t x_stride;
  float* y;
  int64_t y_stride;
  int64_t rows;
  int64_t count;
};

template <class Function>
HWY_INLINE void transform_rows(Rows rows, Function function) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < rows.rows; ++row) {
    int64_t i = 0;
    // Vectors go in pairs, whose loads come before a store that might change what they read.
    for (; i + 2 * lanes <= rows.count; i += 2 * lanes) {
      const Vector first = function(hn::LoadU(d, rows.x + i));
      const Vector second = function(hn::LoadU(d, rows.x + i + lanes));
      hn::StoreU(first, d, rows.y + i);
      hn::StoreU(second, d, rows.y + i + lanes);
    }
    for (; i + lanes <= rows.count; i += lanes)
      hn::StoreU(function(hn::LoadU(d, rows.x + i)), d, rows.y + i);
    if (i < rows.count)
      store_lanes(d, function(load_lanes(d, rows.x + i, rows.count - i)), rows.y + i,
                  rows.count - i);
    rows.x += rows.x_stride;
    rows.y += rows.y_stride;
  }
}

}  // namespace

Vector activation_curve(const Activation& activation, hn::VecArg<Vector> v) {
  const D d;
  const auto is_nan = hn::IsNaN(v);
  const Vector y = curve_of(activation, hn::IfThenZeroElse(is_nan, v));
  // Comparisons with a NaN are false.
  const bool has_comparisons_only =
      activation.kind == kUnaryThresholdedRelu || activation.kind == kUnaryShrink;
  return hn::IfThenElse(is_nan, has_comparisons_only ? hn::Zero(d) : Vector{v}, y);
}

void activate_rows(const Activation& activation, const float* x, int64_t x_stride, float* y,
                   int64_t y_stride, int64_t rows, int64_t count) {
  const Rows all = {x, x_stride, y, y_stride, rows, count};
  const float alpha = activation.alpha;
  const float beta = activation.beta;
  const Vector low = hn::Set(D(), activation.low);
  const Vector high = hn::Set(D(), activation.high);
  // These keep a NaN by themselves.
  switch (activation.kind) {
    case kUnaryIdentity:
    case kUnaryRelu:
    case kUnaryClip:
      return transform_rows(all, [=](Vector v) HWY_ATTR { return limit(v, low, high); });
    case kUnarySigmoid:
      return transform_rows(all, [](Vector v) HWY_ATTR { return sigmoid(v); });
    case kUnaryTanh:
      return transform_rows(all, [](Vector v) HWY_ATTR { return hyperbolic_tangent(v); });
    case kUnarySwish:
      return transform_rows(all, [=](Vector v) HWY_ATTR { return swish(v, alpha); });
    case kUnaryHardSigmoid:
      return transform_rows(all, [=](Vector v) HWY_ATTR { return ramp(v, alpha, beta); });
    case kUnaryHardSwish:
      return transform_rows(all, [](Vector v) HWY_ATTR { return hard_swish(v); });
    default:
      return transform_rows(all,
                            [&](Vector v) HWY_ATTR { return activation_curve(activation, v); });
  }
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
