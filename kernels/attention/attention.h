// Attention: y[b, h, m, e] = softmax(scale q[b, h, m, d] k[b, g, n, d]^T + bias) v[b, g, n, e],
// over the n keys.
//
//   q, k, v, y   Plain of rank 4, f32; h is a multiple of g, and h / g neighbouring heads of q
//   share one of k and v bias         Plain of rank 4, f32 beside halves, too; broadcasts to [b, h,
//   m, n]; there if has_bias
//
// The scores of a few rows and of a block of keys are all that is in memory. A later block scales
// what the blocks before have left by e^(old maximum - new maximum) (Milakov, Gimelshein: "Online
// normalizer calculation for softmax", arXiv:1805.02867). Parts of rows. y must not overlap an
// operand. Sums are floats.
#pragma once

#include "kernels/common/contract/broadcast.h"
#include "kernels/common/contract/check_step_shape.h"
#include "kernels/common/contract/tasks.h"
#include "kernels/common/gemm/panel_tile.h"

namespace codl::kernels {

// Neither d nor e is larger in a kernel but the reference.
inline constexpr int32_t kAttentionMaxSize = 256;

// Holds the extents of a step, for operands that have passed the contract. The heads of q that
// share one of k and v are `group` lines for each row of the part: line i is row rows.begin + i %
// rows.count() of head i / rows.count() of the group.
struct AttentionWork {
  int64_t key_heads = 1;  // counts those of all batches
  int64_t group = 1;
  int64_t all_rows = 1;  // in a head
  Range rows;            // those of the part
  int64_t keys = 1;
  int64_t depth = 1;
  int64_t columns = 1;

  constexpr int64_t lines() const { return group * rows.count(); }
  // Returns the row of q and y, counted over all heads, of a line.
  constexpr int64_t row_of(int64_t key_head, int64_t line) const {
    const int64_t head = key_head * group + line / rows.count();
    return head * all_rows + rows.begin + line % rows.count();
  }
};

constexpr AttentionWork attention_work(const OperandShape& q, const OperandShape& k,
                                       const OperandShape& y, SplitDim part_dim, Range part) {
  AttentionWork work;
  work.key_heads = int64_t{k.dims[0]} * k.dims[1];
  work.group = q.dims[1] / k.dims[1];
  work.all_rows = q.dims[2];
  work.rows = rows_of_part(part_dim, part, y);
  work.keys = k.dims[2];
  work.depth = q.dims[3];
  work.columns = y.dims[3];
  return work;
}

constexpr AttentionWork attention_work(const StepShape& step) {
  return attention_work(step.operands[0], step.operands[1], step.output(), step.part_dim,
                        step.part);
}

// Holds the elements from one batch, head, row and key of the bias to the next; 0 along a dim that
// it has not.
struct AttentionBias {
  int64_t heads = 1;  // those of q in a batch
  int64_t batch = 0;
  int64_t head = 0;
  int64_t row = 0;
  int64_t key = 0;

  // Returns the place of the first key's for row `row` of all heads, of which each has `rows`.
  constexpr int64_t at(int64_t row_of_all, int64_t rows) const {
    const int64_t head_of_all = row_of_all / rows;
    return head_of_all / heads * batch + head_of_all % heads * head + row_of_all % rows * row;
  }
};

constexpr AttentionBias attention_bias(const OperandShape& bias, const OperandShape& q,
                                       const OperandShape& k) {
  OperandShape scores = q;
  scores.dims[3] = k.dims[2];
  return {q.dims[1], broadcast_stride(bias, scores, 0), broadcast_stride(bias, scores, 1),
          broadcast_stride(bias, scores, 2), broadcast_stride(bias, scores, 3)};
}

// ---- the CPU kernel ----

// So many keys are a block: those of k and v are 128 KiB of panels at a size of 64, half of a
// second-level cache. All blocks are about as large, whole panels but for the last.
inline constexpr int64_t kAttentionKeys = 256;
// Rows whose scores are made at once stay in the first-level cache; see kBatchMatMulRowGap.
inline constexpr int64_t kAttentionScoreStride = kAttentionKeys + 16;
// A unit of work has so many lines at most, whose sums stay in the second-level cache.
inline constexpr int64_t kAttentionLines = 256;
// With so few lines, as a decoder has them, k and v are read where they are, without panels.
inline constexpr int64_t kAttentionFewLines = 4;

constexpr int64_t attention_key_block(const AttentionWork& work) {
  const int64_t blocks = ceil_div(work.keys, kAttentionKeys);
  return round_up(ceil_div(work.keys, blocks), int64_t{kChannelPanel});
}

// It depends on the whole step, so that no part changes a bit.
constexpr bool has_few_lines(const AttentionWork& work) {
  return work.group * work.all_rows <= kAttentionFewLines;
}

// A unit of work is a block of the lines of one head of k.
struct AttentionUnits {
  int64_t line_blocks;
  int64_t count;
  int32_t task_count;
};

constexpr AttentionUnits attention_units(const AttentionWork& work) {
  constexpr int64_t kMinLines = 84;  // as batch_matmul_units() has it
  AttentionUnits units = {};
  const int64_t wanted = ceil_div(kMaxTasks, work.key_heads);
  const int64_t most = ceil_div(work.lines(), kMinLines);
  const int64_t least = ceil_div(work.lines(), kAttentionLines);
  units.line_blocks = wanted < most ? wanted : most;
  if (units.line_blocks < least) units.line_blocks = least;
  units.count = work.key_heads * units.line_blocks;
  units.task_count = task_count_for(
      units.count, work.key_heads * work.lines() * work.keys / 16 * (work.depth + work.columns));
  return units;
}

// Places what a worker has in its scratch memory, in floats, at multiples of 16.
struct AttentionScratch {
  int64_t query_stride;  // between lines
  int64_t sum_stride;
  int64_t queries;
  int64_t sums;
  int64_t maxima;
  int64_t divisors;
  int64_t scores;
  int64_t keys;  // panels
  int64_t values;
  int64_t end;
};

constexpr AttentionScratch attention_scratch(const AttentionWork& work) {
  constexpr int64_t kPanel = kChannelPanel;
  const int64_t lines = round_up(ceil_div(work.lines(), attention_units(work).line_blocks), kPanel);
  const int64_t block = attention_key_block(work);
  const int64_t panel_lines = has_few_lines(work) ? 0 : block;
  AttentionScratch scratch = {};
  scratch.query_stride = round_up(work.depth, kPanel);
  scratch.sum_stride = round_up(work.columns, kPanel);
  scratch.sums = lines * scratch.query_stride;
  scratch.maxima = scratch.sums + lines * scratch.sum_stride;
  scratch.divisors = scratch.maxima + lines;
  scratch.scores = scratch.divisors + lines;
  scratch.keys = scratch.scores + kPanelTileMaxPixels * kAttentionScoreStride;
  scratch.values = scratch.keys + panel_lines * work.depth;
  scratch.end = scratch.values + panel_lines * scratch.sum_stride;
  return scratch;
}

// ---- the buffer kernel ----

// A group takes 8 times `rows` lines of a head of k. An item has `rows` of them, `item_keys` keys
// of a step, and 4 or 8 columns of the sums. Where it has few registers these are 2, 2 and 4 (8 of
// more than 128 columns): 2, 4 and 4 spill on Mali G610 (compiled by Mesa 25.0.7).
struct AttentionGroup {
  int32_t rows;
  int32_t item_keys;
  int32_t items;  // that share a row

  static constexpr int32_t kSides = 8;
  constexpr int32_t lines() const { return kSides * rows; }
  constexpr int32_t keys() const { return items * item_keys; }
  constexpr int32_t group_items() const { return kSides * items; }
  constexpr int32_t local_floats() const { return lines() * (keys() + items); }
};

inline constexpr uint32_t kAttentionTileInts = 1;
inline constexpr int32_t kAttentionFewRows = 2;
inline constexpr int32_t kAttentionManyRows = 4;

constexpr AttentionGroup attention_group(const StepShape& step) {
  const int32_t columns = step.output().dims[3];
  const int32_t rows = step.tile_count == kAttentionTileInts ? step.tile[0] : kAttentionManyRows;
  const bool has_few = rows == kAttentionFewRows;
  const int32_t item_columns = has_few && columns <= 128 ? 4 : 8;
  return {rows, has_few ? 2 : 4, 8 * static_cast<int32_t>(ceil_div(columns, 8 * item_columns))};
}

void attention_ref(const KernelArgs& args);
void attention_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
