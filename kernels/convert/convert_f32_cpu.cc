// Copies, and transposes between [channel][pixel] (Plain) and [pixel][channel] (Nhwc), four runs of
// the output of as many elements as a vector has lanes at a time, and four by four at the ends.
// Rows of an image follow each other in both layouts: they are one row. Either side is floats,
// halves or bytes.
#include <cstring>

#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/convert/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert/convert_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int32_t kSide = 4;
constexpr int32_t kWideSide =
    HWY_TARGET == HWY_SCALAR ? kSide : static_cast<int32_t>(hn::MaxLanes(hn::ScalableTag<float>()));

// Not inline: GCC 12 would make vectors of the few at the ends.
HWY_NOINLINE Half half_as(float number) { return Half(double{number}); }
HWY_NOINLINE float float_as(Half number) { return float_of_half(number.bits); }

template <class To, class From>
HWY_INLINE To as(From number) {
  if constexpr (std::is_same_v<To, From>)
    return number;
  else if constexpr (std::is_same_v<To, Half>)
    return half_as(number);
  else
    return float_as(number);
}

// Whether vectors are transposed that are longer than four: code for what is done most.
template <class From, class To>
constexpr bool kHasWide = std::is_same_v<From, float>&& std::is_same_v<To, float>;

// Transposes each block of four by four: lanes 4b to 4b + 3 of four vectors.
template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D>* rows) {
#if HWY_TARGET != HWY_SCALAR
  const hn::RepartitionToWide<D> pairs;
  const auto low_01 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[0], rows[1]));
  const auto low_23 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high_01 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto high_23 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[2], rows[3]));
  rows[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low_01, low_23));
  rows[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low_01, low_23));
  rows[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high_01, high_23));
  rows[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high_01, high_23));
#else
  static_cast<void>(d);
  static_cast<void>(rows);
#endif
}

// Writes to[i * to_step + k] = from[k * from_step + i] for i < 4, k < in_count; lanes k >= in_count
// of `to` become zero, and only the first out_count runs of `to` are written.
template <class From, class To>
HWY_INLINE void transpose_square(const From* from, int64_t from_step, int32_t in_count, To* to,
                                 int64_t to_step, int32_t out_count) {
#if HWY_TARGET == HWY_SCALAR
  for (int32_t i = 0; i < out_count; ++i)
    for (int32_t k = 0; k < kSide; ++k)
      to[i * to_step + k] = k < in_count ? as<To>(from[k * from_step + i]) : To{};
#else
  const hn::FixedTag<float, kSide> d;
  hn::Vec<decltype(d)> rows[kSide];
#pragma GCC unroll 4
  for (int32_t k = 0; k < kSide; ++k)
    rows[k] = k < in_count ? load_floats(d, from + k * from_step) : hn::Zero(d);
  transpose_blocks(d, rows);
#pragma GCC unroll 4
  for (int32_t i = 0; i < kSide; ++i)
    if (i < out_count) store_floats(d, rows[i], to + i * to_step);
#endif
}

// Loads a vector of blocks of four lanes, block b from `from + b * step`.
template <class D, class From>
HWY_INLINE hn::Vec<D> load_blocks(D d, const From* from, int64_t step) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > kSide) {
    const hn::Half<D> half;
    constexpr int64_t kHalfBlocks = hn::MaxLanes(D()) / 2 / kSide;
    return hn::Combine(d, load_blocks(half, from + kHalfBlocks * step, step),
                       load_blocks(half, from, step));
  }
#else
  static_cast<void>(step);
#endif
  return load_floats(d, from);
}

// Writes to[i * to_step + k] = from[k * from_step + i] for i < 4, k < kWideSide. Blocks are put
// together as they are loaded, which takes less time than shuffling loaded blocks.
template <class From, class To>
HWY_INLINE void transpose_wide(const From* from, int64_t from_step, To* to, int64_t to_step) {
#if HWY_TARGET == HWY_SCALAR
  transpose_square(from, from_step, kSide, to, to_step, kSide);
#else
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> rows[kSide];
#pragma GCC unroll 4
  for (int k = 0; k < kSide; ++k) rows[k] = load_blocks(d, from + k * from_step, kSide * from_step);
  transpose_blocks(d, rows);
#pragma GCC unroll 4
  for (int i = 0; i < kSide; ++i) store_floats(d, rows[i], to + i * to_step);
#endif
}

// Copies `count` pixels from planes `plane` apart to pixels `pixel` apart. The outer loop takes
// groups of 16 channels, so that every cache line of the output is written at once.
template <class From, class To>
HWY_NOINLINE void block_to_nhwc(const From* x, int64_t plane, Range channels, int64_t count, To* y,
                                int64_t pixel) {
  for (int32_t group = channels.begin; group < channels.end; group += kChannelPanel) {
    const int32_t end = group + kChannelPanel < channels.end ? group + kChannelPanel : channels.end;
    int64_t w = 0;
    if (kHasWide<From, To> && end == group + kChannelPanel)
      for (; w + kSide <= count; w += kSide) {
#pragma GCC unroll 4
        for (int i = 0; i < kSide; ++i)
          __builtin_prefetch(y + (w + kConvertPixelsAhead + i) * pixel + group, 1, 3);
#pragma GCC unroll 2
        for (int32_t c = group; c < end; c += kWideSide)
          transpose_wide(x + c * plane + w, plane, y + w * pixel + c, pixel);
      }
    for (; w + kSide <= count; w += kSide)
      for (int32_t c = group; c < end; c += kSide)
        transpose_square(x + c * plane + w, plane, end - c, y + w * pixel + c, pixel, kSide);
    for (; w < count; ++w)
      for (int32_t c = group; c < round_up(end, kChannelPad); ++c)
        y[w * pixel + c] = c < end ? as<To>(x[c * plane + w]) : To{};
  }
}

// Goes the other way. Whole groups of four lanes are read: pad lanes follow the last channel.
template <class From, class To>
HWY_NOINLINE void block_to_plain(const From* x, int64_t pixel, Range channels, int64_t count, To* y,
                                 int64_t plane) {
  for (int32_t group = channels.begin; group < channels.end; group += kChannelPanel) {
    const int32_t end = group + kChannelPanel < channels.end ? group + kChannelPanel : channels.end;
    int64_t w = 0;
    if (kHasWide<From, To> && end == group + kChannelPanel)
      for (; w + kWideSide <= count; w += kWideSide) {
#pragma GCC unroll 4
        for (int32_t c = group; c < end; c += kSide) {
          if (w % kChannelPanel == 0)
            for (int i = 0; i < kSide; ++i)
              __builtin_prefetch(y + (c + i) * plane + w + kConvertPixelsAhead, 1, 3);
          transpose_wide(x + w * pixel + c, pixel, y + c * plane + w, plane);
        }
      }
    for (; w + kSide <= count; w += kSide)
      for (int32_t c = group; c < end; c += kSide)
        transpose_square(x + w * pixel + c, pixel, kSide, y + c * plane + w, plane,
                         kSide < end - c ? kSide : end - c);
    for (; w < count; ++w)
      for (int32_t c = group; c < end; ++c) y[c * plane + w] = as<To>(x[w * pixel + c]);
  }
}

// Copies numbers that follow each other.
void copy_run(const StoredNumbers& from, int64_t count, const StoredNumbers& to) {
  if (from.has_form_of(to)) {
    const int64_t bytes = count * static_cast<int64_t>(dtype_bytes(to.dtype));
    std::memcpy(to.first, from.first, static_cast<size_t>(bytes));
  } else if (to.is_float()) {
    load_rows(from, count, 1, count, to.floats(), count);
  } else if (from.is_float()) {
    store_rows(from.floats(), count, 1, count, to, count);
  } else {
    HWY_ALIGN float block[kStoredBlock];
    for (int64_t i = 0; i < count; i += kStoredBlock) {
      const int64_t some = count - i < kStoredBlock ? count - i : kStoredBlock;
      load_rows(from.at(i), some, 1, some, block, some);
      store_rows(block, some, 1, some, to.at(i), some);
    }
  }
}

void copy_nhwc(StoredNumbers x, Range channels, int64_t pixels, StoredNumbers y, int64_t pixel,
               bool has_last_channel) {
  if (channels.count() == pixel) return copy_run(x, pixel * pixels, y);
  const int64_t end = has_last_channel ? pixel : channels.end;
  for (int64_t i = 0; i < pixels; ++i, x = x.at(pixel), y = y.at(pixel)) {
    copy_run(x.at(channels.begin), channels.count(), y.at(channels.begin));
    store_zeros(y.at(channels.end), end - channels.end);
  }
}

// A side of a block of pixels: the elements from plane to plane (Plain) or pixel to pixel (Nhwc).
struct BlockSide {
  StoredNumbers first;
  int64_t step;
};

// Transposes some channels of some pixels.
using MoveBlock = void (*)(const BlockSide& x, Range channels, int64_t count, const BlockSide& y);

template <class From, class To>
void to_nhwc(const BlockSide& x, Range channels, int64_t count, const BlockSide& y) {
  block_to_nhwc(static_cast<const From*>(x.first.first), x.step, channels, count,
                static_cast<To*>(y.first.first), y.step);
}
template <class From, class To>
void to_plain(const BlockSide& x, Range channels, int64_t count, const BlockSide& y) {
  block_to_plain(static_cast<const From*>(x.first.first), x.step, channels, count,
                 static_cast<To*>(y.first.first), y.step);
}

// Bytes on either side are transposed as floats, a block of a panel of channels at a time.
constexpr int64_t kBlockPixels = 32;

void bytes_to_nhwc(const BlockSide& x, Range channels, int64_t count, const BlockSide& y) {
  HWY_ALIGN float planes[kChannelPanel * kBlockPixels];
  HWY_ALIGN float pixels[kChannelPanel * kBlockPixels];
  for (int32_t c = channels.begin; c < channels.end; c += kChannelPanel) {
    const int32_t own = channels.end - c < kChannelPanel ? channels.end - c : kChannelPanel;
    const int32_t lanes = round_up(own, kChannelPad);
    for (int64_t w = 0; w < count; w += kBlockPixels) {
      const int64_t some = count - w < kBlockPixels ? count - w : kBlockPixels;
      load_rows(x.first.at(c * x.step + w), x.step, own, some, planes, kBlockPixels);
      block_to_nhwc(planes, kBlockPixels, {0, own}, some, pixels, lanes);
      store_rows(pixels, lanes, some, lanes, y.first.at(w * y.step + c), y.step);
    }
  }
}

void bytes_to_plain(const BlockSide& x, Range channels, int64_t count, const BlockSide& y) {
  HWY_ALIGN float planes[kChannelPanel * kBlockPixels];
  HWY_ALIGN float pixels[kChannelPanel * kBlockPixels];
  for (int32_t c = channels.begin; c < channels.end; c += kChannelPanel) {
    const int32_t own = channels.end - c < kChannelPanel ? channels.end - c : kChannelPanel;
    const int32_t lanes = round_up(own, kChannelPad);
    for (int64_t w = 0; w < count; w += kBlockPixels) {
      const int64_t some = count - w < kBlockPixels ? count - w : kBlockPixels;
      load_rows(x.first.at(w * x.step + c), x.step, some, lanes, pixels, lanes);
      block_to_plain(pixels, lanes, {0, own}, some, planes, kBlockPixels);
      store_rows(planes, kBlockPixels, own, some, y.first.at(c * y.step + w), y.step);
    }
  }
}

MoveBlock move_block(DType from, DType to, bool is_to_nhwc) {
  if (from == DType::I8 || to == DType::I8) return is_to_nhwc ? bytes_to_nhwc : bytes_to_plain;
  if (to == DType::F16) {
    if (from == DType::F16) return is_to_nhwc ? to_nhwc<Half, Half> : to_plain<Half, Half>;
    return is_to_nhwc ? to_nhwc<float, Half> : to_plain<float, Half>;
  }
  if (from == DType::F16) return is_to_nhwc ? to_nhwc<Half, float> : to_plain<Half, float>;
  return is_to_nhwc ? to_nhwc<float, float> : to_plain<float, float>;
}

void copy_blocks(const TensorView& x, const TensorView& y, Units units) {
  const int64_t elements = element_count(y.shape);
  const int64_t begin = units.begin * kConvertPlainBlock;
  const int64_t end =
      units.end * kConvertPlainBlock < elements ? units.end * kConvertPlainBlock : elements;
  if (begin < end) copy_run(stored_in(x).at(begin), end - begin, stored_in(y).at(begin));
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
  const MoveBlock move = move_block(x.shape.dtype, y.shape.dtype, to_nhwc);
  int64_t rows = 0;
  for (int64_t unit = units.begin; unit < units.end; unit += rows) {
    const int64_t n = unit / work.rows.count();
    const int64_t row = unit % work.rows.count();
    const int64_t h = work.rows.begin + row;
    rows = work.rows.count() - row < units.end - unit ? work.rows.count() - row : units.end - unit;
    const int64_t pixels = rows * y.shape.dims[3];
    const StoredNumbers from =
        stored_in(x).at(n * x.strides[0] + (h - x.shape.row_begin) * x.strides[2]);
    const StoredNumbers to =
        stored_in(y).at(n * y.strides[0] + (h - y.shape.row_begin) * y.strides[2]);
    if (from_nhwc && to_nhwc) {
      copy_nhwc(from, work.channels, pixels, to, y.strides[3],
                work.channels.end == y.shape.dims[1]);
    } else if (!from_nhwc && !to_nhwc) {
      // Whole planes are one.
      const bool is_one_run = pixels == x.strides[1] && pixels == y.strides[1];
      const int64_t planes = is_one_run ? work.channels.count() : 1;
      for (int64_t c = work.channels.begin; c < work.channels.end; c += planes)
        copy_run(from.at(c * x.strides[1]), planes * pixels, to.at(c * y.strides[1]));
    } else {
      const int64_t x_pixel = from_nhwc ? x.strides[3] : 1;
      const int64_t y_pixel = to_nhwc ? y.strides[3] : 1;
      const int64_t block =
          convert_block_pixels((to_nhwc ? y_pixel : x_pixel) * int64_t{sizeof(float)});
      for (int64_t i = 0; i < pixels; i += block) {
        const int64_t count = pixels - i < block ? pixels - i : block;
        move({from.at(i * x_pixel), from_nhwc ? x_pixel : x.strides[1]}, work.channels, count,
             {to.at(i * y_pixel), to_nhwc ? y_pixel : y.strides[1]});
      }
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
