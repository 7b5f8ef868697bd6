// Maps in Nhwc: blocks of columns, row by row, vectors along the channels. A pixel is a copy of one
// (Nearest) or weighs four (Linear): first along the columns, then along the rows, so that no cut
// of rows or channels changes a bit. Where the columns of a block come from is computed once for
// all rows: it takes divisions.
#include "kernels/common/cpu_dispatch.h"
#include "kernels/resize/resize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resize/resize_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The four pixels of a Linear output, at its first channel, and the weights of the second column
// and the second row.
struct Corners {
  const float* top_left;
  const float* top_right;
  const float* bottom_left;
  const float* bottom_right;
  float right;
  float bottom;
};

template <class D>
HWY_INLINE hn::Vec<D> between(D d, const float* a, const float* b, hn::Vec<D> weight) {
  const auto from = hn::LoadU(d, a);
  return hn::MulAdd(weight, hn::Sub(hn::LoadU(d, b), from), from);
}

template <class D>
HWY_INLINE void weigh(D d, const Corners& corners, int64_t c, float* y) {
  const auto right = hn::Set(d, corners.right);
  const auto top = between(d, corners.top_left + c, corners.top_right + c, right);
  const auto bottom = between(d, corners.bottom_left + c, corners.bottom_right + c, right);
  hn::StoreU(hn::MulAdd(hn::Set(d, corners.bottom), hn::Sub(bottom, top), top), d, y + c);
}

// `count` channels, a multiple of 4.
HWY_INLINE void weigh_pixel(const Corners& corners, int64_t count, float* y) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int64_t wide_lanes = static_cast<int64_t>(hn::Lanes(wide));
  const int64_t narrow_lanes = static_cast<int64_t>(hn::Lanes(narrow));
  int64_t c = 0;
  for (; c + wide_lanes <= count; c += wide_lanes) weigh(wide, corners, c, y);
  for (; c < count; c += narrow_lanes) weigh(narrow, corners, c, y);
}

HWY_INLINE void copy_pixel(const float* x, int64_t count, float* y) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, kChannelPad> narrow;
  const int64_t wide_lanes = static_cast<int64_t>(hn::Lanes(wide));
  const int64_t narrow_lanes = static_cast<int64_t>(hn::Lanes(narrow));
  int64_t c = 0;
  for (; c + wide_lanes <= count; c += wide_lanes) hn::StoreU(hn::LoadU(wide, x + c), wide, y + c);
  for (; c < count; c += narrow_lanes) hn::StoreU(hn::LoadU(narrow, x + c), narrow, y + c);
}

// Where columns come from, in elements; Nearest has `first` only.
struct ColumnSource {
  int64_t first;
  int64_t second;
  float weight;  // of the second
};

void resize_f32(const KernelArgs& args) {
  const auto& params = args.params_as<ResizeParams>();
  const TensorView& x = args.operands[0];
  const TensorView& y = args.output();
  const int32_t* in = x.shape.dims;
  const int32_t columns = y.shape.dims[3];
  const ResizeWork work = resize_work(args.part_dim, args.part, y.shape);
  ResizeMap map;
  resize_is_map(params, in, y.shape.dims, &map);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  constexpr int32_t kBlockColumns = 64;
  ColumnSource sources[kBlockColumns];
  for (int32_t begin = 0; begin < columns; begin += kBlockColumns) {
    const int32_t count = columns - begin < kBlockColumns ? columns - begin : kBlockColumns;
    for (int32_t i = 0; i < count; ++i) {
      if (params.kind == kResizeNearest) {
        sources[i].first = resize_nearest(map.w, params.nearest, begin + i, in[3]) * x.strides[3];
        continue;
      }
      const ResizePair pair = resize_pair(map.w, begin + i, in[3]);
      sources[i] = {pair.first * x.strides[3], pair.second * x.strides[3], pair.weight};
    }
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      const int64_t n = unit / work.rows.count();
      const int64_t oh = work.rows.begin + unit % work.rows.count();
      const float* x_map = x.as<const float>() + n * x.strides[0] + work.channels.begin;
      const auto row_at = [&](int32_t row) {
        return x_map + (row - x.shape.row_begin) * x.strides[2];
      };
      float* pixel = y.as<float>() + n * y.strides[0] + (oh - y.shape.row_begin) * y.strides[2] +
                     begin * y.strides[3] + work.channels.begin;
      if (params.kind == kResizeNearest) {
        const float* row = row_at(resize_nearest(map.h, params.nearest, oh, in[2]));
        for (int32_t i = 0; i < count; ++i, pixel += y.strides[3])
          copy_pixel(row + sources[i].first, work.channels.count(), pixel);
        continue;
      }
      const ResizePair rows = resize_pair(map.h, oh, in[2]);
      const float* top = row_at(rows.first);
      const float* bottom = row_at(rows.second);
      for (int32_t i = 0; i < count; ++i, pixel += y.strides[3]) {
        const ColumnSource& from = sources[i];
        weigh_pixel({top + from.first, top + from.second, bottom + from.first, bottom + from.second,
                     from.weight, rows.weight},
                    work.channels.count(), pixel);
      }
    }
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
