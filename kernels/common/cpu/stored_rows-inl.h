// Converts rows of halves and of bytes to floats and back, for kernels that compute with floats:
// they work on blocks of so few numbers that these stay in the first-level cache in between. So the
// code that computes exists once. This is Highway code, compiled once per target.
#if defined(CODL_KERNELS_COMMON_STORED_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_COMMON_STORED_ROWS_INL_H
#undef CODL_KERNELS_COMMON_STORED_ROWS_INL_H
#else
#define CODL_KERNELS_COMMON_STORED_ROWS_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/contract/contract.h"
#include "schema/half.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {

// A block has so many numbers: 2 KiB of floats.
inline constexpr int64_t kStoredBlock = 512;

// Points to numbers that are floats, halves, or bytes on a grid in memory.
struct StoredNumbers {
  void* first;
  DType dtype = DType::F32;
  int32_t zero_point = 0;  // bytes have one, and a scale
  float scale = 0;

  bool is_float() const { return dtype == DType::F32; }
  bool is_half() const { return dtype == DType::F16; }
  bool is_byte() const { return dtype == DType::I8; }
  StoredNumbers at(int64_t element) const {
    const int64_t bytes = is_float() ? 4 : is_half() ? 2 : 1;
    return {static_cast<char*>(first) + element * bytes, dtype, zero_point, scale};
  }
  float* floats() const { return static_cast<float*>(first); }
  Half* halves() const { return static_cast<Half*>(first); }
  int8_t* bytes() const { return static_cast<int8_t*>(first); }
  bool has_form_of(const StoredNumbers& other) const {
    return dtype == other.dtype && scale == other.scale && zero_point == other.zero_point;
  }
};

inline StoredNumbers stored_in(const TensorView& view) {
  return {view.data, view.shape.dtype, view.shape.zero_point, view.shape.scale};
}

// Returns the activation without a rounding to the grid of `y`, which storing does.
inline Activation without_rounding(const Activation& activation, const StoredNumbers& y) {
  const bool rounds = activation.kind == kUnaryQuantize8 && y.is_byte() &&
                      activation.alpha == y.scale &&
                      activation.beta == static_cast<float>(y.zero_point + 128);
  return rounds ? make_activation(kUnaryIdentity, 0, 0) : activation;
}

// Makes `count` neighbours zero, which is the zero point of bytes.
inline void store_zeros(const StoredNumbers& y, int64_t count) {
  const int64_t bytes = count * (y.is_float() ? 4 : y.is_half() ? 2 : 1);
  if (bytes > 0) __builtin_memset(y.first, y.zero_point, static_cast<size_t>(bytes));
}

// These convert `rows` rows of `count` numbers, whose starts are `x_stride` and `y_stride` elements
// apart. They are in stored_rows_f32_cpu.cc, once for all kernels.
void floats_of_halves(const Half* x, int64_t x_stride, int64_t rows, int64_t count, float* y,
                      int64_t y_stride);
void halves_of_floats(const float* x, int64_t x_stride, int64_t rows, int64_t count, Half* y,
                      int64_t y_stride);
void load_rows(const StoredNumbers& x, int64_t x_stride, int64_t rows, int64_t count, float* y,
               int64_t y_stride);
void store_rows(const float* x, int64_t x_stride, int64_t rows, int64_t count,
                const StoredNumbers& y, int64_t y_stride);

}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_COMMON_STORED_ROWS_INL_H
