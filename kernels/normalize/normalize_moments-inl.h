// Holds what all ways to normalize share: operands, mean and factor, and the plainest writer. This
// is Highway code, compiled once per target.
#if defined(CODL_KERNELS_NORMALIZE_NORMALIZE_MOMENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_NORMALIZE_NORMALIZE_MOMENTS_INL_H
#undef CODL_KERNELS_NORMALIZE_NORMALIZE_MOMENTS_INL_H
#else
#define CODL_KERNELS_NORMALIZE_NORMALIZE_MOMENTS_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"
#include "kernels/normalize/normalize.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

struct Operands {
  StoredNumbers x;
  const float* scale;  // null: none
  const float* bias;
  StoredNumbers y;
  Activation activation;
};

// Ends what has just been written, while it is in the cache: rows that begin `stride` elements
// apart.
HWY_NOINLINE void activate_written(const Activation& activation, float* y, int64_t stride,
                                   int64_t rows, int64_t count) {
  if (activation.kind == kUnaryIdentity) return;
  if (stride == count) {
    count *= rows;
    rows = 1;
  }
  activate_rows(activation, y, stride, y, stride, rows, count);
}

// A variance that rounding made negative is zero; a NaN stays one.
template <class D>
HWY_INLINE hn::Vec<D> factor_of(D d, const NormalizeWork& work, float epsilon,
                                hn::Vec<D> sum_of_squares) {
  const auto squares = at_least(sum_of_squares, hn::Zero(d));
  const auto variance = hn::Div(squares, hn::Set(d, static_cast<float>(work.element_count)));
  return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(d, epsilon))));
}

// Loads `count` lanes of scale or bias whose first is at `from`.
HWY_INLINE Vector load_broadcast(const float* from, int64_t stride, int64_t count) {
  const Floats d;
  if (stride == 1) return load_lanes(d, from, count);
  if (stride == 0) return hn::Set(d, *from);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count && i < kLanes; ++i) lanes[i] = from[i * stride];
  return hn::Load(d, lanes);
}

// Zeroes the pad lanes, which begin at `y`.
void zero_pad(const NormalizeWork& work, StoredNumbers y) { store_zeros(y, work.pad); }

// The numbers that turn distances from the mean into results: one for all lanes (stride 0), or one
// for each lane from the first on, with a vector's worth of numbers behind the last (stride 1).
struct Moments {
  const float* means;
  const float* factors;
  int64_t stride;
};

// Writes the results of lanes [lane, end) of the line at `walk`, element `i`, and the pad after the
// last.
HWY_NOINLINE __attribute__((noclone)) void write_run(const NormalizeWork& work,
                                                     const Operands& operands,
                                                     const Moments& moments,
                                                     const NormalizeWalk& walk, int64_t i,
                                                     int64_t lane, int64_t end) {
  constexpr float kNoScale = 1.0f;
  constexpr float kNoBias = 0.0f;
  const Floats d;
  int64_t at[3];
  for (int k = 0; k < 3; ++k)
    at[k] = walk.offsets[k] + i * walk.line_strides[k] + lane * work.lane_strides[k];
  const StoredNumbers x = operands.x.at(at[kNormalizeX]);
  const StoredNumbers y = operands.y.at(at[kNormalizeX]);
  const float* scale = operands.scale == nullptr ? &kNoScale : operands.scale + at[kNormalizeScale];
  const float* bias = operands.bias == nullptr ? &kNoBias : operands.bias + at[kNormalizeBias];
  const int64_t scale_stride = work.lane_strides[kNormalizeScale];
  const int64_t bias_stride = work.lane_strides[kNormalizeBias];
  const int64_t count = end - lane;
  Vector mean = hn::Set(d, moments.means[0]);
  Vector factor = hn::Set(d, moments.factors[0]);
#pragma GCC unroll 1
  for (int64_t k = 0; k < count; k += kLanes) {
    if (moments.stride != 0) {
      mean = hn::LoadU(d, moments.means + k);
      factor = hn::LoadU(d, moments.factors + k);
    }
    const Vector from = x.is_half() ? load_lanes(d, x.halves() + k, count - k)
                                    : load_lanes(d, x.floats() + k, count - k);
    const Vector v = hn::Mul(hn::Sub(from, mean), factor);
    const Vector result =
        hn::MulAdd(v, load_broadcast(scale + k * scale_stride, scale_stride, count - k),
                   load_broadcast(bias + k * bias_stride, bias_stride, count - k));
    if (y.is_half())
      store_lanes(d, activate(d, operands.activation, result), y.halves() + k, count - k);
    else
      store_lanes(d, result, y.floats() + k, count - k);
  }
  if (!y.is_half()) activate_written(operands.activation, y.floats(), count, 1, count);
  if (end == work.lanes) zero_pad(work, y.at(count));
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_NORMALIZE_NORMALIZE_MOMENTS_INL_H
