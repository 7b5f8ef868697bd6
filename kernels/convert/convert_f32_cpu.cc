// Copies, and transposes of a row between [channel][column] (Plain) and [column][channel] (Nhwc) in
// squares of four by four.
#include <cstring>

#include "kernels/common/cpu_dispatch.h"
#include "kernels/convert/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/convert_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int32_t kSide = 4;

// to[i * to_step + k] = from[k * from_step + i] for i < 4, k < in_count; lanes k >= in_count of
// `to` become zero, and only the first out_count runs of `to` are written.
HWY_INLINE void transpose_square(const float* from, int64_t from_step, int32_t in_count, float* to,
                                 int64_t to_step, int32_t out_count) {
#if HWY_TARGET == HWY_SCALAR
  for (int32_t i = 0; i < out_count; ++i)
    for (int32_t k = 0; k < kSide; ++k)
      to[i * to_step + k] = k < in_count ? from[k * from_step + i] : 0.0f;
#else
  const hn::FixedTag<float, kSide> d;
  const auto a = hn::LoadU(d, from);
  const auto b = in_count > 1 ? hn::LoadU(d, from + from_step) : hn::Zero(d);
  const auto c = in_count > 2 ? hn::LoadU(d, from + 2 * from_step) : hn::Zero(d);
  const auto e = in_count > 3 ? hn::LoadU(d, from + 3 * from_step) : hn::Zero(d);
  const auto low_ab = hn::InterleaveLower(d, a, b);
  const auto low_ce = hn::InterleaveLower(d, c, e);
  const auto high_ab = hn::InterleaveUpper(d, a, b);
  const auto high_ce = hn::InterleaveUpper(d, c, e);
  hn::StoreU(hn::ConcatLowerLower(d, low_ce, low_ab), d, to);
  if (out_count > 1) hn::StoreU(hn::ConcatUpperUpper(d, low_ce, low_ab), d, to + to_step);
  if (out_count > 2) hn::StoreU(hn::ConcatLowerLower(d, high_ce, high_ab), d, to + 2 * to_step);
  if (out_count > 3) hn::StoreU(hn::ConcatUpperUpper(d, high_ce, high_ab), d, to + 3 * to_step);
#endif
}

// One row of `columns` pixels from planes `plane` apart to pixels `pixel` apart. Groups of 16
// channels outside, so that every cache line of the output is written at once.
void row_to_nhwc(const float* x, int64_t plane, Range channels, int32_t columns, float* y,
                 int64_t pixel) {
  for (int32_t group = channels.begin; group < channels.end; group += kChannelPanel) {
    const int32_t group_end =
        group + kChannelPanel < channels.end ? group + kChannelPanel : channels.end;
    int32_t w = 0;
    for (; w + kSide <= columns; w += kSide)
      for (int32_t c = group; c < group_end; c += kSide)
        transpose_square(x + c * plane + w, plane, group_end - c, y + w * pixel + c, pixel, kSide);
    for (; w < columns; ++w)
      for (int32_t c = group; c < round_up(group_end, kChannelPad); ++c)
        y[w * pixel + c] = c < group_end ? x[c * plane + w] : 0.0f;
  }
}

// The way back. Whole groups of four lanes are read: behind the last channel are pad lanes.
void row_to_plain(const float* x, int64_t pixel, Range channels, int32_t columns, float* y,
                  int64_t plane) {
  for (int32_t group = channels.begin; group < channels.end; group += kChannelPanel) {
    const int32_t group_end =
        group + kChannelPanel < channels.end ? group + kChannelPanel : channels.end;
    int32_t w = 0;
    for (; w + kSide <= columns; w += kSide)
      for (int32_t c = group; c < group_end; c += kSide) {
        const int32_t planes = kSide < group_end - c ? kSide : group_end - c;
        transpose_square(x + w * pixel + c, pixel, kSide, y + c * plane + w, plane, planes);
      }
    for (; w < columns; ++w)
      for (int32_t c = group; c < group_end; ++c) y[c * plane + w] = x[w * pixel + c];
  }
}

void row_nhwc_to_nhwc(const float* x, Range channels, int32_t columns, float* y, int64_t pixel,
                      bool has_last_channel) {
  const size_t bytes = static_cast<size_t>(channels.count()) * sizeof(float);
  if (channels.count() == pixel) {
    std::memcpy(y, x, bytes * static_cast<size_t>(columns));
    return;
  }
  const int64_t end = has_last_channel ? pixel : channels.end;
  for (int32_t w = 0; w < columns; ++w) {
    std::memcpy(y + w * pixel + channels.begin, x + w * pixel + channels.begin, bytes);
    for (int64_t c = channels.end; c < end; ++c) y[w * pixel + c] = 0.0f;
  }
}

void copy_blocks(const TensorView& x, const TensorView& y, Units units) {
  const int64_t elements = element_count(y.shape);
  const int64_t begin = units.begin * kConvertPlainBlock;
  const int64_t end =
      units.end * kConvertPlainBlock < elements ? units.end * kConvertPlainBlock : elements;
  if (begin < end)
    std::memcpy(y.as<float>() + begin, x.as<const float>() + begin,
                static_cast<size_t>(end - begin) * sizeof(float));
}

void convert_f32(const KernelArgs& args) {
  const TensorView x =
      make_view(convert_shape(args.part_dim, args.operands[0].shape), args.operands[0].data);
  const TensorView y =
      make_view(convert_shape(args.part_dim, args.output().shape), args.output().data);
  const ConvertWork work = convert_work(args.part_dim, args.part, y.shape);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  if (y.shape.rank != 4) {
    copy_blocks(x, y, units);
    return;
  }
  const bool from_nhwc = x.shape.layout == Layout::Nhwc;
  const bool to_nhwc = y.shape.layout == Layout::Nhwc;
  const int32_t columns = y.shape.dims[3];
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t n = unit / work.rows.count();
    const int32_t h = work.rows.begin + static_cast<int32_t>(unit % work.rows.count());
    const float* x_row =
        x.as<const float>() + n * x.strides[0] + (h - x.shape.row_begin) * x.strides[2];
    float* y_row = y.as<float>() + n * y.strides[0] + (h - y.shape.row_begin) * y.strides[2];
    if (from_nhwc && to_nhwc) {
      row_nhwc_to_nhwc(x_row, work.channels, columns, y_row, y.strides[3],
                       work.channels.end == y.shape.dims[1]);
    } else if (to_nhwc) {
      row_to_nhwc(x_row, x.strides[1], work.channels, columns, y_row, y.strides[3]);
    } else if (from_nhwc) {
      row_to_plain(x_row, x.strides[3], work.channels, columns, y_row, y.strides[1]);
    } else {
      for (int32_t c = work.channels.begin; c < work.channels.end; ++c)
        std::memcpy(y_row + c * y.strides[1], x_row + c * x.strides[1],
                    static_cast<size_t>(columns) * sizeof(float));
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(convert_f32_cpu, convert_f32);
}
#endif
