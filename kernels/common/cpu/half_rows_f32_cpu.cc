#include "schema/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/cpu/half_rows_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/half_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {

template <class From, class To>
HWY_INLINE void convert_rows(const From* x, int64_t x_stride, int64_t rows, int64_t count, To* y,
                             int64_t y_stride) {
  const hwy::HWY_NAMESPACE::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::Lanes(d));
  if (x_stride == count && y_stride == count) {
    count *= rows;
    rows = 1;
  }
  for (int64_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) {
    int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto first = load_floats(d, x + i);
      const auto second = load_floats(d, x + i + lanes);
      store_floats(d, first, y + i);
      store_floats(d, second, y + i + lanes);
    }
    for (; i < count; i += lanes) store_lanes(d, load_lanes(d, x + i, count - i), y + i, count - i);
  }
}

}  // namespace

void floats_of_halves(const Half* x, int64_t x_stride, int64_t rows, int64_t count, float* y,
                      int64_t y_stride) {
  convert_rows(x, x_stride, rows, count, y, y_stride);
}

void halves_of_floats(const float* x, int64_t x_stride, int64_t rows, int64_t count, Half* y,
                      int64_t y_stride) {
  convert_rows(x, x_stride, rows, count, y, y_stride);
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
