// Pad puts begin_i elements in front of x and end_i after it along each axis.
//
//   x, y   one dtype, the same rank, 0 to 8; y.dims[i] = begin_i + x.dims[i] + end_i.
//          pad_any_cpu: Plain. f32 kernels: Nhwc, pads along rows and columns; of a constant along
//          channels, too (CPU kernel). x must hold the rows of the part that pad_input_range()
//          names
//   value  optional, Plain, one element of that dtype
//
// kind  Constant: value, or zero without one. The others repeat x, as often as the pad needs:
//       Edge: its first or last element. Wrap: x again and again. Reflect: x forwards and backwards
//       in turn, the element at a turn once (numpy's "reflect"; a dim of 1 repeats its element).
//
// begin and end are not negative. Pad lanes of an Nhwc y are written as zero: those of x are. Parts
// of Nhwc: Height; OutputChannel, where no channels are added. y must not overlap x. Nothing past
// the end is read.
#pragma once

#include "kernels/common/contract/row_work.h"

namespace codl::kernels {

struct PadAxes {
  int32_t begin[kMaxRank];
  int32_t end[kMaxRank];
};

constexpr PadAxes pad_axes(const PadParams& p) {
  return {{p.begin_0, p.begin_1, p.begin_2, p.begin_3, p.begin_4, p.begin_5, p.begin_6, p.begin_7},
          {p.end_0, p.end_1, p.end_2, p.end_3, p.end_4, p.end_5, p.end_6, p.end_7}};
}

// Returns the element of x, which has `dim`, that stands at `place`, in x, in front of it or after
// it. For kinds that repeat x.
constexpr int64_t pad_place_in_x(int32_t kind, int64_t place, int64_t dim) {
  if (kind == kPadEdge || dim == 1) return place < 0 ? 0 : place < dim ? place : dim - 1;
  const int64_t period = kind == kPadWrap ? dim : 2 * (dim - 1);
  place %= period;
  if (place < 0) place += period;
  return place < dim ? place : period - place;
}

// Returns the elements of x, which has `dim`, that outputs [range.begin, range.end) look at. The
// range is not empty, and `begin` elements are in front of x. Outputs that are all the constant
// name the element next to them, so that every part has an operand.
constexpr Range pad_input_range(int32_t kind, int64_t begin, Range range, int32_t dim) {
  const int64_t first = range.begin - begin;
  const int64_t last = range.end - 1 - begin;
  const int32_t place_kind = kind == kPadConstant ? kPadEdge : kind;
  const auto from = static_cast<int32_t>(pad_place_in_x(place_kind, first, dim));
  const auto to = static_cast<int32_t>(pad_place_in_x(place_kind, last, dim));
  Range elements = from < to ? Range{from, to + 1} : Range{to, from + 1};
  if (place_kind == kPadEdge || dim == 1) return elements;
  // Rounds `value / divisor` down.
  const auto floor_of = [](int64_t value, int64_t divisor) {
    return value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor);
  };
  if (kind == kPadWrap) {
    // Spans the end of one x and the beginning of the next, so it needs all of it.
    return floor_of(first, dim) == floor_of(last, dim) ? elements : Range{0, dim};
  }
  // The reading direction turns at every multiple of dim - 1: even turns are at the first element,
  // odd ones at the last.
  const int64_t turn = floor_of(last, dim - 1);
  const int64_t turns = turn - floor_of(first - 1, dim - 1);
  if (turns > 1) return {0, dim};
  if (turns == 1 && turn % 2 == 0) elements.begin = 0;
  if (turns == 1 && turn % 2 != 0) elements.end = dim;
  return elements;
}

void pad_ref(const KernelArgs& args);
void pad_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
