// Softmax computes y = e^(x - max) / sum of e^(x - max), maximum and sum over the elements along
// `axis`. is_log: y = x - max - log(sum).
//
//   x, y  the same dims and layout: Plain of rank >= 1, or Nhwc
//
// Nhwc: axis 1 runs over the real channels only; both operands hold the same rows, axis 2 needs all
// of them. Pad lanes of y are written as zero. y must not overlap x. No parts. Nothing past the end
// is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// Neighbouring columns of one unit of work where the axis is not the innermost: a cache line of
// each step along the axis is used whole.
inline constexpr int64_t kSoftmaxBlock = 64;

// Describes the memory of x and y as [outer][axis][inner] with inner contiguous; pad lanes of Nhwc
// count as inner unless the axis is the channels. Strides in elements.
struct SoftmaxWork {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t outer_stride = 1;
  int64_t axis_stride = 1;
  int64_t inner_blocks = 1;
  int64_t units = 1;
  int32_t task_count = 1;
};

constexpr SoftmaxWork softmax_work(int32_t axis, const OperandShape& y) {
  SoftmaxWork work;
  if (y.layout == Layout::Nhwc) {
    const int64_t extents[4] = {y.dims[0], rows_held(y), y.dims[3], padded_channels(y)};
    constexpr int32_t kPlaceOf[4] = {0, 3, 1, 2};  // places of n, c, h, w in memory
    const int32_t place = kPlaceOf[axis];
    for (int32_t i = 0; i < place; ++i) work.outer *= extents[i];
    for (int32_t i = place + 1; i < 4; ++i) work.inner *= extents[i];
    work.outer_stride = extents[place] * work.inner;
    work.axis = axis == 1 ? y.dims[1] : extents[place];
  } else {
    for (int32_t i = 0; i < axis; ++i) work.outer *= y.dims[i];
    for (int32_t i = axis + 1; i < y.rank; ++i) work.inner *= y.dims[i];
    work.axis = y.dims[axis];
    work.outer_stride = work.axis * work.inner;
  }
  work.axis_stride = work.inner;
  work.inner_blocks = ceil_div(work.inner, kSoftmaxBlock);
  work.units = work.outer * work.inner_blocks;
  work.task_count = task_count_for(work.units, work.outer * work.axis * work.inner);
  return work;
}

// A CPU worker copies so many halves to floats at a time, and has room for as many results.
inline constexpr int64_t kSoftmaxScratch = 4096;
constexpr int64_t softmax_scratch_elements(const SoftmaxWork& work) {
  if (work.inner != 1) return work.axis * (work.inner < kSoftmaxBlock ? work.inner : kSoftmaxBlock);
  return work.outer_stride < kSoftmaxScratch ? kSoftmaxScratch : work.outer_stride;
}

// Says how work-items of a GPU share a run of neighbouring elements, which depends on the whole
// value, for the order of the sum.
struct SoftmaxItems {
  int32_t items = 1;  // share a run
  int32_t held = 0;   // elements that an item keeps; 0: it reads them again for each pass
};
inline constexpr int32_t kSoftmaxGroupItems = 64;  // a wave of Adreno
// A run has no more items than have eight elements each: it takes log2(items) steps to join what
// they have.
constexpr SoftmaxItems softmax_items(const SoftmaxWork& work) {
  constexpr int32_t kMinShared = 64;  // elements
  constexpr int32_t kHeld = 8;
  SoftmaxItems items;
  if (work.inner != 1 || work.axis < kMinShared) return items;
  while (items.items < kSoftmaxGroupItems && items.items * kHeld < work.axis) items.items *= 2;
  if (items.items * kHeld >= work.axis) items.held = kHeld;
  return items;
}

void softmax_ref(const KernelArgs& args);
void softmax_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
