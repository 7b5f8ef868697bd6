#include "schema/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/cpu/stored_rows_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/cpu/bytes-inl.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

// Calls convert(from, to, count) for the vectors of the rows; `count` is less than a vector has at
// the end of one.
template <class From, class To, class Convert>
HWY_INLINE void convert_rows(const From* x, int64_t x_stride, int64_t rows, int64_t count, To* y,
                             int64_t y_stride, Convert convert) {
  if (x_stride == count && y_stride == count) {
    count *= rows;
    rows = 1;
  }
  for (int64_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) {
    int64_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
      convert(x + i, y + i, kLanes);
      convert(x + i + kLanes, y + i + kLanes, kLanes);
    }
    for (; i < count; i += kLanes) convert(x + i, y + i, count - i);
  }
}

HWY_INLINE Vector load_lane_steps(const int8_t* p, int64_t count, int32_t zero_point) {
  const Floats d;
  if (count >= kLanes) return load_steps(d, p, zero_point);
  int8_t buffer[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) buffer[i] = p[i];
  return load_steps(d, buffer, zero_point);
}

HWY_INLINE void store_lane_steps(const StepWriter<Floats>& writer, Vector steps, int8_t* p,
                                 int64_t count) {
  const Floats d;
  if (count >= kLanes) return writer.store(d, steps, p);
  int8_t buffer[kLanes];
  writer.store(d, steps, buffer);
  for (int64_t i = 0; i < count; ++i) p[i] = buffer[i];
}

}  // namespace

void floats_of_halves(const Half* x, int64_t x_stride, int64_t rows, int64_t count, float* y,
                      int64_t y_stride) {
  const Floats d;
  convert_rows(x, x_stride, rows, count, y, y_stride,
               [&](const Half* from, float* to, int64_t lanes)
                   HWY_ATTR { store_lanes(d, load_lanes(d, from, lanes), to, lanes); });
}

void halves_of_floats(const float* x, int64_t x_stride, int64_t rows, int64_t count, Half* y,
                      int64_t y_stride) {
  const Floats d;
  convert_rows(x, x_stride, rows, count, y, y_stride,
               [&](const float* from, Half* to, int64_t lanes)
                   HWY_ATTR { store_lanes(d, load_lanes(d, from, lanes), to, lanes); });
}

void load_rows(const StoredNumbers& x, int64_t x_stride, int64_t rows, int64_t count, float* y,
               int64_t y_stride) {
  const Floats d;
  if (x.is_half()) return floats_of_halves(x.halves(), x_stride, rows, count, y, y_stride);
  if (x.is_float()) {
    for (int64_t row = 0; row < rows; ++row)
      __builtin_memcpy(y + row * y_stride, x.floats() + row * x_stride,
                       static_cast<size_t>(count) * sizeof(float));
    return;
  }
  const Vector scale = hn::Set(d, x.scale);
  const int32_t zero_point = x.zero_point;
  convert_rows(x.bytes(), x_stride, rows, count, y, y_stride,
               [&](const int8_t* from, float* to, int64_t lanes) HWY_ATTR {
                 store_lanes(d, hn::Mul(load_lane_steps(from, lanes, zero_point), scale), to,
                             lanes);
               });
}

void store_rows(const float* x, int64_t x_stride, int64_t rows, int64_t count,
                const StoredNumbers& y, int64_t y_stride) {
  const Floats d;
  if (y.is_half()) return halves_of_floats(x, x_stride, rows, count, y.halves(), y_stride);
  if (y.is_float()) {
    for (int64_t row = 0; row < rows; ++row)
      __builtin_memcpy(y.floats() + row * y_stride, x + row * x_stride,
                       static_cast<size_t>(count) * sizeof(float));
    return;
  }
  // The quotient is ONNX's: a factor of 1 / scale would be off by a digit, and ties fall elsewhere.
  const Vector scale = hn::Set(d, y.scale);
  const StepWriter<Floats> writer(d, y.zero_point, -__builtin_inff(), __builtin_inff());
  convert_rows(x, x_stride, rows, count, y.bytes(), y_stride,
               [&](const float* from, int8_t* to, int64_t lanes) HWY_ATTR {
                 store_lane_steps(writer, hn::Div(load_lanes(d, from, lanes), scale), to, lanes);
               });
}

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
