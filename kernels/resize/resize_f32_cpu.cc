// Resizes maps in Nhwc in blocks of columns, row by row, with vectors along the channels. A pixel
// copies one input (Nearest) or weighs four (Linear): first along the rows, once for neighbours
// that share a column, then along the columns, so that no cut of rows or channels changes a bit.
// The source columns of a block are computed once for all rows, because that takes divisions.
#include <type_traits>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/resize/resize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize/resize_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/cpu/bytes-inl.h"
#include "kernels/common/cpu/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Where columns come from, in elements, of which a step has 2^30 at most; Nearest has `first` only.
struct ColumnSource {
  int32_t first;
  int32_t second;
  float weight;  // weight of the second
};

// Describes some columns of a Linear row.
template <class T>
struct LinearRow {
  const T* top;  // at column 0
  const T* bottom;
  float weight;  // weight of the bottom
  const ColumnSource* sources;
  int32_t count;
  T* y;           // the first column
  int64_t pixel;  // elements from pixel to pixel of y
  // Bytes have zero points; this is the step of x in those of y.
  int32_t x_zero;
  int32_t y_zero;
  float step;
};

// Bytes are weighed as steps of their grid.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_numbers(D d, const LinearRow<T>& row, const T* from) {
  if constexpr (std::is_same_v<T, int8_t>)
    return load_steps(d, from, row.x_zero);
  else
    return load_floats(d, from);
}

// Pixels are fetched so long before they are written: with stores alone, too few cache lines are on
// their way from the second-level cache.
constexpr int64_t kPixelsAhead = 4;
constexpr int64_t kLineBytes = 64;  // bytes of a cache line

// Computes `kVectors` vectors of channels of a row, from channel `c` on. A column of the input
// serves all neighbours that weigh it.
template <int kVectors, class D, class T>
HWY_INLINE void weigh_columns(D d, const LinearRow<T>& row, int64_t c) {
  using V = hn::Vec<D>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V bottom = hn::Set(d, row.weight);
  V left[kVectors];
  V right[kVectors];
  for (int v = 0; v < kVectors; ++v) left[v] = right[v] = hn::Zero(d);
  int64_t left_at = -1;
  int64_t right_at = -1;
  const auto between_rows = [&](int64_t column, V* to) HWY_ATTR {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const V from = load_numbers(d, row, row.top + column + c + v * lanes);
      const V away = hn::Sub(load_numbers(d, row, row.bottom + column + c + v * lanes), from);
      to[v] = hn::MulAdd(bottom, away, from);
    }
  };
  const StepWriter<D> writer(d, row.y_zero, -__builtin_inff(), __builtin_inff());
  T* y = row.y + c;
  for (int32_t i = 0; i < row.count; ++i, y += row.pixel) {
    const ColumnSource& from = row.sources[i];
    if (from.first == right_at) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) left[v] = right[v];
    } else if (from.first != left_at) {
      between_rows(from.first, left);
    }
    left_at = from.first;
    if (from.second != right_at) between_rows(from.second, right);
    right_at = from.second;
    const V weight = hn::Set(d, from.weight);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if ((c + v * lanes) * int64_t{sizeof(T)} % kLineBytes == 0)
        __builtin_prefetch(y + kPixelsAhead * row.pixel + v * lanes, 1, 3);
      const V number = hn::MulAdd(weight, hn::Sub(right[v], left[v]), left[v]);
      if constexpr (std::is_same_v<T, int8_t>)
        writer.store(d, hn::Mul(number, hn::Set(d, row.step)), y + v * lanes);
      else
        store_floats(d, number, y + v * lanes);
    }
  }
}

// So many columns have all channels done before the next ones begin: memory is then written almost
// in order, and the columns left of the first do not count.
constexpr int32_t kColumnsAtOnce = 64;

// Weighs `count` channels, a multiple of 4.
template <class T>
HWY_NOINLINE void weigh_row(LinearRow<T> row, int64_t count) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int64_t wide_lanes = static_cast<int64_t>(hn::Lanes(wide));
  const int64_t narrow_lanes = static_cast<int64_t>(hn::Lanes(narrow));
  for (int32_t rest = row.count; rest > 0; rest -= row.count) {
    row.count = rest < kColumnsAtOnce ? rest : kColumnsAtOnce;
    int64_t c = 0;
    // Halves and bytes wait for their conversion in any case.
    if constexpr (std::is_same_v<T, float>)
      for (; c + 4 * wide_lanes <= count; c += 4 * wide_lanes) weigh_columns<4>(wide, row, c);
    for (; c + wide_lanes <= count; c += wide_lanes) weigh_columns<1>(wide, row, c);
    for (; c < count; c += narrow_lanes) weigh_columns<1>(narrow, row, c);
    row.sources += row.count;
    row.y += row.count * row.pixel;
  }
}

// Copies a multiple of 4 bytes.
HWY_INLINE void copy_pixel(const void* from, int64_t bytes, void* to) {
  const hn::ScalableTag<uint16_t> wide;
  const hn::CappedTag<uint16_t, 4> narrow;
  const auto* const x = static_cast<const uint16_t*>(from);
  auto* const y = static_cast<uint16_t*>(to);
  const int64_t count = bytes / 2;
  const int64_t wide_lanes = static_cast<int64_t>(hn::Lanes(wide));
  const int64_t narrow_lanes = static_cast<int64_t>(hn::Lanes(narrow));
  int64_t c = 0;
  for (; c + 4 * wide_lanes <= count; c += 4 * wide_lanes) {
    const auto v0 = hn::LoadU(wide, x + c);
    const auto v1 = hn::LoadU(wide, x + c + wide_lanes);
    const auto v2 = hn::LoadU(wide, x + c + 2 * wide_lanes);
    const auto v3 = hn::LoadU(wide, x + c + 3 * wide_lanes);
    hn::StoreU(v0, wide, y + c);
    hn::StoreU(v1, wide, y + c + wide_lanes);
    hn::StoreU(v2, wide, y + c + 2 * wide_lanes);
    hn::StoreU(v3, wide, y + c + 3 * wide_lanes);
  }
  for (; c + wide_lanes <= count; c += wide_lanes) hn::StoreU(hn::LoadU(wide, x + c), wide, y + c);
  for (; c + narrow_lanes <= count; c += narrow_lanes)
    hn::StoreU(hn::LoadU(narrow, x + c), narrow, y + c);
  if (c < count) __builtin_memcpy(y + c, x + c, 4);
}

template <class T>
void resize(const KernelArgs& args) {
  const auto& params = args.params_as<ResizeParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const int32_t* in = x.shape.dims;
  const int32_t columns = y.shape.dims[3];
  const RowWork work = row_work(args.part_dim, args.part, y.shape);
  ResizeMap map;
  resize_is_map(params, in, y.shape.dims, &map);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  const auto pixel_elements = static_cast<int32_t>(x.strides[3]);
  const float step = is_quantised(y.shape) ? x.shape.scale / y.shape.scale : 0.0f;
  // Columns of a row at once: the more the better for prefetchers, but they take stack.
  constexpr int32_t kBlockColumns = 256;
  ColumnSource sources[kBlockColumns];
  for (int32_t begin = 0; begin < columns; begin += kBlockColumns) {
    const int32_t count = columns - begin < kBlockColumns ? columns - begin : kBlockColumns;
    for (int32_t i = 0; i < count; ++i) {
      if (params.kind == kResizeNearest) {
        sources[i].first = resize_nearest(map.w, map.rounding_w, begin + i, in[3]) * pixel_elements;
        continue;
      }
      const ResizePair pair = resize_pair(map.w, begin + i, in[3]);
      sources[i] = {pair.first * pixel_elements, pair.second * pixel_elements, pair.weight};
    }
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      const int64_t n = unit / work.rows.count();
      const int64_t oh = work.rows.begin + unit % work.rows.count();
      const T* x_map = x.as<const T>() + n * x.strides[0] + work.channels.begin;
      const auto row_at = [&](int32_t row) {
        return x_map + (row - x.shape.row_begin) * x.strides[2];
      };
      T* pixel = y.as<T>() + n * y.strides[0] + (oh - y.shape.row_begin) * y.strides[2] +
                 begin * y.strides[3] + work.channels.begin;
      if (params.kind == kResizeNearest) {
        const T* row = row_at(resize_nearest(map.h, map.rounding_h, oh, in[2]));
        for (int32_t i = 0; i < count; ++i, pixel += y.strides[3])
          copy_pixel(row + sources[i].first, work.channels.count() * int64_t{sizeof(T)}, pixel);
        continue;
      }
      const ResizePair rows = resize_pair(map.h, oh, in[2]);
      weigh_row<T>({row_at(rows.first), row_at(rows.second), rows.weight, sources, count, pixel,
                    y.strides[3], x.shape.zero_point, y.shape.zero_point, step},
                   work.channels.count());
    }
  }
}

void resize_f32(const KernelArgs& args) {
  switch (args.output().shape.dtype) {
    case DType::I8:
      return resize<int8_t>(args);
    case DType::F16:
      return resize<Half>(args);
    default:
      return resize<float>(args);
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(resize_f32_cpu, resize_f32);
}
#endif
