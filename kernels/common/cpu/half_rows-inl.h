// Converts rows of halves to floats and back, for kernels that compute with floats: they work on
// blocks of so few numbers that these stay in the first-level cache in between. So the code that
// computes exists once. This is Highway code, compiled once per target.
#if defined(CODL_KERNELS_COMMON_HALF_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_HALF_ROWS_INL_H
#undef CODL_KERNELS_COMMON_HALF_ROWS_INL_H
#else
#define CODL_KERNELS_COMMON_HALF_ROWS_INL_H
#endif

#include "hwy/highway.h"
#include "schema/half.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// A block has so many numbers: 2 KiB of floats.
inline constexpr int64_t kHalfBlock = 512;

// Points to numbers that are floats or halves in memory.
struct StoredNumbers {
  void* first;
  bool is_half;

  StoredNumbers at(int64_t element) const {
    const auto bytes = static_cast<int64_t>(is_half ? sizeof(Half) : sizeof(float));
    return {static_cast<char*>(first) + element * bytes, is_half};
  }
  float* floats() const { return static_cast<float*>(first); }
  Half* halves() const { return static_cast<Half*>(first); }
};

// Both convert `rows` rows of `count` numbers, whose starts are `x_stride` and `y_stride` elements
// apart. They are in half_rows_f32_cpu.cc, once for all kernels.
void floats_of_halves(const Half* x, int64_t x_stride, int64_t rows, int64_t count, float* y,
                      int64_t y_stride);
void halves_of_floats(const float* x, int64_t x_stride, int64_t rows, int64_t count, Half* y,
                      int64_t y_stride);

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_HALF_ROWS_INL_H
