// Normalize computes y = activation((x - mean) / sqrt(variance + epsilon) * scale + bias); mean and
// variance (the mean of the squared distances from the mean) over the axes in axes_mask, per index
// of the others. is_rms: the mean is taken as 0.
//
//   x, y         f32, the same dims and layout: Plain, or Nhwc or Image2d with all rows held
//   scale, bias  f32, Plain, present when has_scale, has_bias; each dim, aligned from the right, is
//                x's or 1
//
// Nhwc, Image2d: the axes run over the real channels only; pad lanes of y are written as zero.
// Distances are from the mean, or (CPU kernel) first from a number near it. Parts: OutputChannel of
// Nhwc and Image2d, where the axes are not the channels'. y must not overlap the others. Nothing
// past the end is read.
//
// Buffer kernel: at most 3 groups of neighbouring axes that are reduced, and 3 that are not,
// besides the innermost group. Image kernel: the axes are the rows and the columns; scale and bias
// do not differ between pixels.
#pragma once

#include "kernels/common/contract/broadcast.h"
#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"

namespace codl::kernels {

// A unit of work has so many neighbouring columns if the innermost axis is kept: a cache line.
inline constexpr int64_t kNormalizeBlock = 16;

// Lines of columns that one piece of a mean is made of.
inline constexpr int64_t kNormalizePieceLines = 128;

inline constexpr int32_t kNormalizeX = 0;  // and y: they lie alike
inline constexpr int32_t kNormalizeScale = 1;
inline constexpr int32_t kNormalizeBias = 2;

// Fewer pieces of lines than that are not worth a second phase.
inline constexpr int64_t kMinLinePieces = 4;

// Lists nested axes in the order of x's memory, from the outermost in, with the strides of the
// three.
struct NormalizeAxes {
  int32_t count = 0;
  int64_t extents[kMaxRank] = {};
  int64_t strides[kMaxRank][3] = {};

  constexpr int64_t size() const {
    int64_t size = 1;
    for (int32_t i = 0; i < count; ++i) size *= extents[i];
    return size;
  }
  // Adds the offsets of combination `at`, the last axis fastest.
  constexpr void add_offsets(int64_t at, int64_t (&offsets)[3]) const {
    for (int32_t i = count - 1; i >= 0; --i) {
      for (int32_t k = 0; k < 3; ++k) offsets[k] += at % extents[i] * strides[i][k];
      at /= extents[i];
    }
  }
};

// Goes through all combinations of the axes, the innermost of them as a line of `line_count`
// elements that are line_strides apart: while (walk.next()) ... walk.offsets.
struct NormalizeWalk {
  const NormalizeAxes& axes;
  int64_t offsets[3];
  int64_t line_count = 1;
  int64_t line_strides[3] = {};
  int64_t index[kMaxRank] = {};
  bool has_begun = false;

  constexpr NormalizeWalk(const NormalizeAxes& all, const int64_t (&begin)[3])
      : axes(all), offsets{begin[0], begin[1], begin[2]} {
    if (axes.count == 0) return;
    line_count = axes.extents[axes.count - 1];
    for (int32_t k = 0; k < 3; ++k) line_strides[k] = axes.strides[axes.count - 1][k];
  }

  // Moves to the next line. It is not inlined because much code calls it and each copy is long.
  __attribute__((noinline)) bool next() {
    if (!has_begun) return has_begun = true;
    for (int32_t i = axes.count - 2; i >= 0; --i) {
      const int64_t step = ++index[i] < axes.extents[i] ? 1 : 1 - axes.extents[i];
      for (int32_t k = 0; k < 3; ++k) offsets[k] += step * axes.strides[i][k];
      if (step == 1) return true;
      index[i] = 0;
    }
    return false;
  }
};

// The innermost axis of the memory is the lanes; kept and reduced are the others.
struct NormalizeWork {
  NormalizeAxes kept;
  NormalizeAxes reduced;
  bool has_kept_lanes = false;
  int64_t lanes = 1;
  int64_t lane_strides[3] = {1, 1, 1};
  bool has_operand[3] = {true, false, false};
  // If the step computes a part of the channels, it has lanes [first_lane, + lanes).
  int64_t first_lane = 0;
  int64_t pad = 0;  // elements after the lanes, which are written as zero
  int64_t lane_blocks = 1;
  // Not 0: the means of a map are taken by blocks of lines of all lanes, in two phases. Cut along
  // the lanes, every worker would read what all others have in their caches, and leave it to them
  // so.
  int64_t line_blocks = 0;
  int64_t lines_per_block = 0;
  int64_t units = 1;          // CPU kernels compute kept combinations times blocks of lines, or
                              // lanes
  int64_t element_count = 1;  // elements of one mean
  int32_t task_count = 1;
};

// Returns the work of a step that has passed the contract: operands are x, [scale], [bias], y. A
// part of the channels adds up in the same order as the whole does: whether there are blocks of
// lines, and how many, depends on the whole value.
constexpr NormalizeWork normalize_work(const NormalizeParams& params, SplitDim part_dim, Range part,
                                       const OperandShape& x, const OperandShape* scale,
                                       const OperandShape* bias) {
  NormalizeWork work;
  const bool is_nhwc = x.layout == Layout::Nhwc;
  const bool has_part = part_dim == SplitDim::OutputChannel;
  constexpr int32_t kNhwcOrder[4] = {0, 2, 3, 1};
  int64_t x_strides[kMaxRank] = {};
  strides_of(x, x_strides);
  if (is_nhwc) work.pad = padded_channels(x) - x.dims[1];
  work.has_operand[kNormalizeScale] = scale != nullptr;
  work.has_operand[kNormalizeBias] = bias != nullptr;

  NormalizeAxes axes;  // all of them; neighbours are joined where every operand steps evenly
  bool is_reduced[kMaxRank] = {};
  for (int32_t i = 0; i < x.rank; ++i) {
    const int32_t axis = is_nhwc ? kNhwcOrder[i] : i;
    const bool is_last = i == x.rank - 1;
    // Channels with pad lanes behind them stay an axis even if there is one; those of which there
    // is a part stay one of their own.
    if (x.dims[axis] == 1 && !(is_last && (work.pad > 0 || has_part))) continue;
    const bool reduces = (params.axes_mask >> axis & 1) != 0;
    const int64_t strides[3] = {x_strides[axis],
                                scale != nullptr ? broadcast_stride(*scale, x, axis) : 0,
                                bias != nullptr ? broadcast_stride(*bias, x, axis) : 0};
    bool joins = axes.count > 0 && is_reduced[axes.count - 1] == reduces && !(is_last && has_part);
    for (int32_t k = 0; k < 3; ++k)
      joins = joins && axes.strides[axes.count - 1][k] == strides[k] * x.dims[axis];
    if (!joins) {
      is_reduced[axes.count] = reduces;
      axes.extents[axes.count++] = 1;
    }
    axes.extents[axes.count - 1] *= x.dims[axis];
    for (int32_t k = 0; k < 3; ++k) axes.strides[axes.count - 1][k] = strides[k];
  }

  for (int32_t i = 0; i < axes.count; ++i) {
    if (is_reduced[i]) work.element_count *= axes.extents[i];
    if (i + 1 == axes.count) {
      work.has_kept_lanes = !is_reduced[i];
      work.lanes = axes.extents[i];
      for (int32_t k = 0; k < 3; ++k) work.lane_strides[k] = axes.strides[i][k];
      break;
    }
    NormalizeAxes& to = is_reduced[i] ? work.reduced : work.kept;
    to.extents[to.count] = axes.extents[i];
    for (int32_t k = 0; k < 3; ++k) to.strides[to.count][k] = axes.strides[i][k];
    ++to.count;
  }
  int64_t elements = element_count(x);  // elements of the part
  if (has_part) {
    elements = elements / x.dims[1] * part.count();
    work.first_lane = part.begin;
    work.lanes = part.count();
    if (part.end != x.dims[1]) work.pad = 0;
  }
  if (work.has_kept_lanes) {
    // 16: each block's means are read again by every worker.
    constexpr int64_t kMaxLineBlocks = 16;
    const bool is_even = work.reduced.count == 1 && work.reduced.strides[0][kNormalizeScale] == 0 &&
                         work.reduced.strides[0][kNormalizeBias] == 0;
    const int64_t lines = is_even ? work.reduced.extents[0] : 0;
    const int64_t pieces = ceil_div(lines, kNormalizePieceLines);
    if (pieces >= kMinLinePieces && element_count(x) >= 2 * kSmallStepElements) {
      work.lines_per_block = ceil_div(pieces, kMaxLineBlocks) * kNormalizePieceLines;
      work.line_blocks = ceil_div(lines, work.lines_per_block);
    }
    work.lane_blocks = ceil_div(work.lanes, kNormalizeBlock);
  }
  work.units = work.kept.size() * (work.line_blocks > 0 ? work.line_blocks : work.lane_blocks);
  work.task_count = task_count_for(work.units, elements);
  return work;
}

// Returns the floats that a block of lines leaves: so many means, and as many sums of squares. The
// last vector may end behind the last lane.
constexpr int64_t normalize_moments(const NormalizeWork& work) {
  return round_up(work.lanes, kNormalizeBlock) + kNormalizeBlock;
}
constexpr uint64_t normalize_shared_bytes(const NormalizeWork& work) {
  if (work.line_blocks == 0) return 0;
  return static_cast<uint64_t>(work.units * 2 * normalize_moments(work)) * sizeof(float);
}

constexpr const OperandShape* normalize_scale(const NormalizeParams& params,
                                              const OperandShape* operands) {
  return params.has_scale != 0 ? &operands[1] : nullptr;
}
constexpr const OperandShape* normalize_bias(const NormalizeParams& params,
                                             const OperandShape* operands) {
  if (params.has_bias == 0) return nullptr;
  return params.has_scale != 0 ? &operands[2] : &operands[1];
}

inline NormalizeWork normalize_work(const StepShape& step) {
  const auto& params = step.params_as<NormalizeParams>();
  return normalize_work(params, step.part_dim, step.part, step.operands[0],
                        normalize_scale(params, step.operands),
                        normalize_bias(params, step.operands));
}

// ---- kernel on buffers --------------------------------------------------------------------------

// Says how the work-items of a group share the means, which depends on the whole value, for the
// order of sums.
struct NormalizeItems {
  int32_t columns = 1;   // neighbouring means of a group, one per column
  int32_t row_bits = 0;  // 2 to the power of this are the items of a mean
  int32_t width = 1;     // elements of a piece, which an item loads at once
  int32_t held = 0;      // pieces that an item keeps; 0: it reads them again for each pass

  constexpr int32_t rows() const { return 1 << row_bits; }
  constexpr int32_t group_items() const { return columns > 1 ? columns * rows() : kGroupItems; }
  constexpr int64_t groups(const NormalizeWork& work) const {
    return columns > 1 ? work.kept.size() * work.lane_blocks
                       : ceil_div(work.kept.size(), kGroupItems >> row_bits);
  }
  static constexpr int32_t kGroupItems = 64;  // a wave of Adreno
};

// A mean has no more items than have four pieces each: it takes log2(items) steps to add up what
// they have. What they keep is at most 16 registers.
constexpr NormalizeItems normalize_items(const NormalizeWork& work) {
  constexpr int32_t kHeld = 4;
  constexpr int32_t kQuadLanes = 4;
  if (work.has_kept_lanes) return {.columns = static_cast<int32_t>(kNormalizeBlock), .row_bits = 4};
  NormalizeItems items;
  const auto is_dense = [&work](int32_t k) {
    return work.lane_strides[k] == 1 || !work.has_operand[k];
  };
  if (work.lanes % kQuadLanes == 0 && is_dense(kNormalizeScale) && is_dense(kNormalizeBias))
    items.width = kQuadLanes;
  const int64_t pieces = work.element_count / items.width;
  while (items.rows() < items.kGroupItems && items.rows() * kHeld < pieces) ++items.row_bits;
  if (items.rows() * kHeld >= pieces) items.held = kHeld;
  return items;
}

// ---- kernel on texels ---------------------------------------------------------------------------

inline constexpr int32_t kNormalizePixelAxes = 1 << 2 | 1 << 3;

// A work-item asks for so many texels at once.
inline constexpr int32_t kNormalizeTexels = 4;

// Work-items that share the means of a texel: it depends on the whole map, for the order of sums.
// Few where most of many would have nothing to do; 256 are less than any device's most.
constexpr int32_t normalize_texel_items(const OperandShape& x) {
  constexpr int64_t kManyPixels = 4096;
  return int64_t{x.dims[2]} * x.dims[3] < kManyPixels ? 64 : 256;
}

void normalize_ref(const KernelArgs& args);
void normalize_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
