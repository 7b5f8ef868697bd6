#include <cmath>
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/pool_nd/pool_nd.h"

namespace codl::kernels {
namespace {

// Describes the taps of one output inside the map, along one axis or as a box of three.
struct WindowTaps {
  int64_t first[kPoolNdAxes];  // element of the map
  int64_t count[kPoolNdAxes];
  int64_t step[kPoolNdAxes];    // elements of the axis
  int64_t padded[kPoolNdAxes];  // taps that an average with padding divides by

  bool is_empty() const { return count[0] == 0 || count[1] == 0 || count[2] == 0; }
};

void set_taps(const PoolNdAxis& axis, int64_t o, int32_t i, WindowTaps* taps) {
  const int64_t start = o * axis.stride - axis.pad_begin;
  const int64_t begin = start < 0 ? ceil_div(-start, axis.dilation) : 0;
  // Counts the taps in front of `extent`, none if the window begins behind it.
  const auto taps_before = [&](int64_t extent) -> int64_t {
    if (start >= extent) return 0;
    const int64_t fit = ceil_div(extent - start, axis.dilation);
    return fit < axis.kernel ? fit : axis.kernel;
  };
  const int64_t end = taps_before(axis.in);
  taps->first[i] = start + begin * axis.dilation;
  taps->count[i] = end > begin ? end - begin : 0;
  taps->step[i] = axis.dilation;
  taps->padded[i] = taps_before(int64_t{axis.in} + axis.pad_end);
}

// Offset of the first largest tap in a map of [.., in1, in2]; there is at least one tap. A NaN
// is larger than all else.
template <typename T>
int64_t place_of_maximum(const void* map, const WindowTaps& taps, int64_t in1, int64_t in2) {
  const T* x = static_cast<const T*>(map);
  int64_t best = (taps.first[0] * in1 + taps.first[1]) * in2 + taps.first[2];
  for (int64_t i = 0; i < taps.count[0]; ++i)
    for (int64_t j = 0; j < taps.count[1]; ++j) {
      const int64_t row =
          (taps.first[0] + i * taps.step[0]) * in1 + taps.first[1] + j * taps.step[1];
      int64_t at = row * in2 + taps.first[2];
      for (int64_t k = 0; k < taps.count[2]; ++k, at += taps.step[2])
        if (x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])) best = at;
    }
  return best;
}

using Maximum = int64_t (*)(const void* map, const WindowTaps& taps, int64_t in1, int64_t in2);

Maximum maximum_of(DType dtype) {
  switch (dtype) {
    case DType::I8:
      return place_of_maximum<int8_t>;
    case DType::U8:
      return place_of_maximum<uint8_t>;
    case DType::I16:
      return place_of_maximum<int16_t>;
    case DType::U16:
      return place_of_maximum<uint16_t>;
    case DType::I32:
      return place_of_maximum<int32_t>;
    case DType::U32:
      return place_of_maximum<uint32_t>;
    case DType::I64:
      return place_of_maximum<int64_t>;
    case DType::U64:
      return place_of_maximum<uint64_t>;
    default:
      return place_of_maximum<float>;
  }
}

// Returns the least element of a dtype, little endian.
uint64_t lowest_bits(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return __builtin_bit_cast(uint32_t, -__builtin_inff());
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64:
      return uint64_t{1} << (8 * dtype_bytes(dtype) - 1);
    default:
      return 0;
  }
}

// Returns the place in map number `map` as MaxIndex counts it.
int64_t index_of(int64_t map, int64_t place, const PoolNdWindow& window, bool is_column_major) {
  const int64_t in0 = window.axis[0].in;
  const int64_t in1 = window.axis[1].in;
  const int64_t in2 = window.axis[2].in;
  if (is_column_major) {
    const int64_t k = place % in2;
    const int64_t j = place / in2 % in1;
    const int64_t i = place / in2 / in1;
    place = (k * in1 + j) * in0 + i;
  }
  return map * in0 * in1 * in2 + place;
}

float average_or_norm(const PoolNdParams& params, const float* map, const WindowTaps& taps,
                      int64_t in1, int64_t in2) {
  const bool is_average = params.kind == kPoolNdAverage;
  double sum = 0.0;
  for (int64_t i = 0; i < taps.count[0]; ++i)
    for (int64_t j = 0; j < taps.count[1]; ++j) {
      const int64_t row =
          (taps.first[0] + i * taps.step[0]) * in1 + taps.first[1] + j * taps.step[1];
      const float* x = map + row * in2 + taps.first[2];
      for (int64_t k = 0; k < taps.count[2]; ++k, x += taps.step[2]) {
        if (is_average)
          sum += *x;
        else if (params.p == 2)
          sum += double{*x} * *x;
        else
          sum += std::pow(std::fabs(double{*x}), params.p);
      }
    }
  if (!is_average)
    return static_cast<float>(params.p == 2 ? std::sqrt(sum) : std::pow(sum, 1.0 / params.p));
  const int64_t* counts = params.count_include_pad != 0 ? taps.padded : taps.count;
  const double divisor = static_cast<double>(counts[0]) * static_cast<double>(counts[1]) *
                         static_cast<double>(counts[2]);
  return divisor == 0.0 ? 0.0f : static_cast<float>(sum / divisor);
}

class Pooling {
 public:
  explicit Pooling(const KernelArgs& args)
      : params_(args.params_as<PoolNdParams>()),
        x_(args.operands[0]),
        y_(args.output()),
        window_(pool_nd_axes(params_, x_.shape, y_.shape)),
        element_bytes_(static_cast<int64_t>(dtype_bytes(x_.shape.dtype))),
        maximum_(maximum_of(x_.shape.dtype)),
        lowest_(lowest_bits(x_.shape.dtype)) {}

  void run() const {
    const int64_t maps = int64_t{x_.shape.dims[0]} * x_.shape.dims[1];
    int64_t output = 0;
    WindowTaps taps;
    for (int64_t map = 0; map < maps; ++map)
      for (int32_t o0 = 0; o0 < window_.axis[0].out; ++o0) {
        set_taps(window_.axis[0], o0, 0, &taps);
        for (int32_t o1 = 0; o1 < window_.axis[1].out; ++o1) {
          set_taps(window_.axis[1], o1, 1, &taps);
          for (int32_t o2 = 0; o2 < window_.axis[2].out; ++o2) {
            set_taps(window_.axis[2], o2, 2, &taps);
            compute(map, taps, output++);
          }
        }
      }
  }

 private:
  void compute(int64_t map, const WindowTaps& taps, int64_t output) const {
    const int64_t in1 = window_.axis[1].in;
    const int64_t in2 = window_.axis[2].in;
    const int64_t map_bytes = window_.axis[0].in * in1 * in2 * element_bytes_;
    const char* x = x_.as<const char>() + map * map_bytes;
    if (params_.kind == kPoolNdAverage || params_.kind == kPoolNdLp) {
      y_.as<float>()[output] =
          average_or_norm(params_, reinterpret_cast<const float*>(x), taps, in1, in2);
      return;
    }
    const int64_t place = taps.is_empty() ? -1 : maximum_(x, taps, in1, in2);
    if (params_.kind == kPoolNdMaxIndex) {
      y_.as<int64_t>()[output] =
          place < 0 ? 0 : index_of(map, place, window_, params_.is_column_major != 0);
      return;
    }
    const void* from = place < 0 ? static_cast<const void*>(&lowest_) : x + place * element_bytes_;
    std::memcpy(y_.as<char>() + output * element_bytes_, from, static_cast<size_t>(element_bytes_));
  }

  const PoolNdParams& params_;
  const TensorView& x_;
  const TensorView& y_;
  PoolNdWindow window_;
  int64_t element_bytes_;
  Maximum maximum_;
  uint64_t lowest_;
};

}  // namespace

void pool_nd_ref(const KernelArgs& args) { Pooling(args).run(); }

CODL_CPU_KERNEL_PLAIN(pool_nd_any_cpu, pool_nd_ref);

}  // namespace codl::kernels
