// Reads and writes numbers that are bytes on a grid in memory (OperandShape::scale): as floats that
// count the steps of the grid from zero, which a kernel scales. This is Highway code, compiled once
// per target.
#if defined(CODL_KERNELS_COMMON_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_BYTES_INL_H
#undef CODL_KERNELS_COMMON_BYTES_INL_H
#else
#define CODL_KERNELS_COMMON_BYTES_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// Returns the steps of as many bytes as a vector of D has lanes.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_steps(D d, const int8_t* p, int32_t zero_point) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<int8_t, D> bytes;
  const hn::Rebind<int32_t, D> integers;
  const auto q = hn::PromoteTo(integers, hn::LoadU(bytes, p));
  return hn::ConvertTo(d, hn::Sub(q, hn::Set(integers, zero_point)));
}

// Stores steps, rounded to the nearest, the even one of two equally near, within [low, high] and
// what bytes have.
template <class D>
class StepWriter {
 public:
  using V = hwy::HWY_NAMESPACE::Vec<D>;

  HWY_INLINE StepWriter(D d, int32_t zero_point, float low, float high)
      : low_(hwy::HWY_NAMESPACE::Set(d, larger_of(static_cast<float>(-128 - zero_point), low))),
        high_(hwy::HWY_NAMESPACE::Set(d, smaller_of(static_cast<float>(127 - zero_point), high))),
        zero_(hwy::HWY_NAMESPACE::Set(Integers(), kShifterBits - zero_point)) {}

  HWY_INLINE void store(D d, V steps, int8_t* p) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const V limited = hn::Min(hn::Max(steps, low_), high_);
    // The last bit of the sum counts ones, so the addition rounds.
    const V sum = hn::Add(limited, hn::Set(d, kShifter));
    const hn::Rebind<int8_t, D> bytes;
    hn::StoreU(hn::DemoteTo(bytes, hn::Sub(hn::BitCast(Integers(), sum), zero_)), bytes, p);
  }

 private:
  using Integers = hwy::HWY_NAMESPACE::Rebind<int32_t, D>;
  static constexpr float kShifter = 0x1.8p23f;
  static constexpr int32_t kShifterBits = 0x4b400000;

  static constexpr float larger_of(float a, float b) { return a > b ? a : b; }
  static constexpr float smaller_of(float a, float b) { return a < b ? a : b; }

  V low_;
  V high_;
  hwy::HWY_NAMESPACE::Vec<Integers> zero_;
};

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_BYTES_INL_H
