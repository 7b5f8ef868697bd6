// Reads and writes numbers that may be halves in memory, and computes with halves where a processor
// does. This is Highway code, compiled once per target.
#if defined(CODL_KERNELS_COMMON_HALF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_HALF_INL_H
#undef CODL_KERNELS_COMMON_HALF_INL_H
#else
#define CODL_KERNELS_COMMON_HALF_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "schema/half.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// Returns numbers as floats.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_floats(D d, const float* p) {
  return hwy::HWY_NAMESPACE::LoadU(d, p);
}
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_floats(D d, const Half* p) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, float_of_half(p->bits));
#else
  const hn::Rebind<uint16_t, D> bits;
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), hn::LoadU(bits, &p->bits)));
#endif
}

// Returns *p in every lane.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> spread_float(D d, const float* p) {
  return hwy::HWY_NAMESPACE::Set(d, *p);
}
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> spread_float(D d, const Half* p) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, float_of_half(p->bits));
#else
  const hn::Rebind<uint16_t, D> bits;
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), hn::Set(bits, p->bits)));
#endif
}

// Stores numbers; halves are the nearest, the even one of two equally near. (Highway's scalar code
// cuts digits off.)
template <class D>
HWY_INLINE void store_floats(D d, hwy::HWY_NAMESPACE::Vec<D> v, float* p) {
  hwy::HWY_NAMESPACE::StoreU(v, d, p);
}
template <class D>
HWY_INLINE void store_floats([[maybe_unused]] D d, hwy::HWY_NAMESPACE::Vec<D> v, Half* p) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR
  p->bits = half_of(double{hn::GetLane(v)});
#else
  const hn::Rebind<uint16_t, D> bits;
  hn::StoreU(hn::BitCast(bits, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v)), bits, &p->bits);
#endif
}

// Do for halves what lanes-inl.h does for floats.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_lanes(D d, const Half* p, int64_t count) {
  const int64_t lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
  if (count >= lanes) return load_floats(d, p);
  Half buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t i = 0; i < count; ++i) buffer[i] = p[i];
  return load_floats(d, buffer);
}
template <class D>
HWY_INLINE void store_lanes(D d, hwy::HWY_NAMESPACE::Vec<D> v, Half* p, int64_t count) {
  const int64_t lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
  if (count >= lanes) return store_floats(d, v, p);
  Half buffer[HWY_MAX_BYTES / sizeof(float)];
  store_floats(d, v, buffer);
  for (int64_t i = 0; i < count; ++i) p[i] = buffer[i];
}

#if HWY_TARGET == HWY_NEON
// Functions with this attribute run where cpu_has(CpuTarget::NeonHalf), and they alone inline those
// below that compute with halves. No file and no namespace is compiled for it: what they inline,
// other functions share.
#define CODL_HALF_ARITHMETIC __attribute__((target("+fp16")))

using HalfVec = uint16x8_t;
constexpr int kHalfLanes = 8;

HWY_INLINE HalfVec load_halves(const Half* p) { return vld1q_u16(&p->bits); }
HWY_INLINE void store_halves(HalfVec v, Half* p) { vst1q_u16(&p->bits, v); }
// Returns x, rounded, in every lane.
HWY_INLINE HalfVec spread_half(float x) {
  const float16x4_t half = vcvt_f16_f32(vdupq_n_f32(x));
  return vreinterpretq_u16_f16(vcombine_f16(half, half));
}
// Returns 8 floats as halves.
HWY_INLINE HalfVec halves_of(const float* p) {
  return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(p)), vld1q_f32(p + 4)));
}

// sum += w * x[kLane], and sum += w * x. The instructions are named, as add_product() of
// panel_tile-inl.h does it: for vfmaq_laneq_f16(), GCC 12 moves the sums of a tile about, some of
// them through memory.
template <int kLane>
HWY_INLINE void add_half_products(HalfVec w, HalfVec x, HalfVec& sum) {
  asm("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(w), "x"(x), "i"(kLane));
}
HWY_INLINE void add_half_products(HalfVec w, HalfVec x, HalfVec& sum) {
  asm("fmla %0.8h, %1.8h, %2.8h" : "+w"(sum) : "w"(w), "w"(x));
}

HWY_INLINE HalfVec add_halves(HalfVec a, HalfVec b) {
  asm("fadd %0.8h, %0.8h, %1.8h" : "+w"(a) : "w"(b));
  return a;
}
HWY_INLINE HalfVec subtract_halves(HalfVec a, HalfVec b) {
  asm("fsub %0.8h, %0.8h, %1.8h" : "+w"(a) : "w"(b));
  return a;
}
HWY_INLINE HalfVec multiply_halves(HalfVec a, HalfVec b) {
  asm("fmul %0.8h, %0.8h, %1.8h" : "+w"(a) : "w"(b));
  return a;
}
HWY_INLINE HalfVec divide_halves(HalfVec a, HalfVec b) {
  asm("fdiv %0.8h, %0.8h, %1.8h" : "+w"(a) : "w"(b));
  return a;
}
// Returns the larger, and the smaller, of the two; a NaN if either is one.
HWY_INLINE HalfVec larger_halves(HalfVec a, HalfVec b) {
  asm("fmax %0.8h, %0.8h, %1.8h" : "+w"(a) : "w"(b));
  return a;
}
HWY_INLINE HalfVec smaller_halves(HalfVec a, HalfVec b) {
  asm("fmin %0.8h, %0.8h, %1.8h" : "+w"(a) : "w"(b));
  return a;
}

// totals[i] += halves[i].
HWY_INLINE void add_halves_to_floats(HalfVec halves, float* totals) {
  const float16x8_t numbers = vreinterpretq_f16_u16(halves);
  vst1q_f32(totals, vaddq_f32(vld1q_f32(totals), vcvt_f32_f16(vget_low_f16(numbers))));
  vst1q_f32(totals + 4, vaddq_f32(vld1q_f32(totals + 4), vcvt_high_f32_f16(numbers)));
}
#endif

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_HALF_INL_H
