// Loads and stores the first lanes of a vector. This is Highway code, compiled once per target.
#if defined(CODL_KERNELS_COMMON_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_LANES_INL_H
#undef CODL_KERNELS_COMMON_LANES_INL_H
#else
#define CODL_KERNELS_COMMON_LANES_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// The first `count` lanes from p, the others zero; nothing behind them is read. count <= 0: zeros.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_lanes(D d, const float* p, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count >= lanes) return hn::LoadU(d, p);
  if (count <= 0) return hn::Zero(d);
#if HWY_ARCH_X86
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  // Highway's MaskedLoad is a whole load there.
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t i = 0; i < count; ++i) buffer[i] = p[i];
  return hn::Load(d, buffer);
#endif
}

// The first `count` lanes to p; nothing behind them is written, not even with what was there:
// another worker may own it. count <= 0: none.
template <class D>
HWY_INLINE void store_lanes(D d, hwy::HWY_NAMESPACE::Vec<D> v, float* p, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count >= lanes) return hn::StoreU(v, d, p);
  if (count <= 0) return;
#if HWY_ARCH_X86
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  // Highway's BlendedStore reads, blends and writes the whole vector there.
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, buffer);
  for (int64_t i = 0; i < count; ++i) p[i] = buffer[i];
#endif
}

// Returns v with zeros from lane `count` on.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> keep_lanes(D d, hwy::HWY_NAMESPACE::Vec<D> v, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (count >= static_cast<int64_t>(hn::Lanes(d))) return v;
  return hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count < 0 ? 0 : count)), v);
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_LANES_INL_H
