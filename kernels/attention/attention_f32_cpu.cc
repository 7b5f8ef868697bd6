// Attends with the micro-kernel of matrix products: keys and values of a block are packed into
// panels, and for a tile of lines their scores, the powers of e and the products with the values
// follow each other while the scores are in the first-level cache. A few lines alone read keys and
// values where they are.
//
// Queries are copied as floats times the scale; halves of keys and values become floats as they are
// packed. So all arithmetic is of floats. A line's result depends on no other line.
#include "kernels/attention/attention.h"
#include "kernels/common/cpu/cpu_dispatch.h"
#include "schema/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/activation/exponential-inl.h"
#include "kernels/common/cpu/half-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/gemm/panel_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kChannelPanel>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

// It is below every score but -infinity, which it stands for where a maximum is taken away.
constexpr float kLowest = -3.402823466e38f;
constexpr float kInfinity = __builtin_inff();

alignas(64) constexpr float kNoBias[kAttentionKeys] = {};
static_assert(kAttentionMaxSize <= kAttentionKeys);

// Lines that are worked on together: whole tiles of the micro-kernel.
constexpr int64_t kTileLines = HWY_TARGET == HWY_AVX3 ? 14 : 12;
static_assert(kTileLines <= kPanelTileMaxPixels && kAttentionFewLines <= kTileLines);

// Returns e^x for x <= 0; a NaN stays one.
HWY_INLINE Vector exp_of(Vector x) {
  const Floats d;
  return power_of_e(d, at_least(x, hn::Set(d, kMinExponent)));
}

template <class T>
struct Operands {
  const T* q;
  const T* k;
  const T* v;
  const float* bias;  // null if there is none
  T* y;
};

// The memory of a worker, and what it has in common for all units.
struct State {
  const AttentionWork& work;
  const AttentionBias& bias;
  const AttentionScratch& layout;
  float* scratch;
  float scale;
  bool zero_if_hidden;

  float* query(int64_t line) const { return scratch + line * layout.query_stride; }
  float* sums(int64_t line) const { return scratch + layout.sums + line * layout.sum_stride; }
  float* scores(int64_t line) const {
    return scratch + layout.scores + line * kAttentionScoreStride;
  }
  float& maximum(int64_t line) const { return scratch[layout.maxima + line]; }
  float& divisor(int64_t line) const { return scratch[layout.divisors + line]; }
};

// Copies a line's query, with zeros behind it.
template <class T>
void load_query(const State& state, const T* q, float* to) {
  const Floats d;
  const Vector scale = hn::Set(d, state.scale);
  for (int64_t i = 0; i < state.layout.query_stride; i += kLanes)
    hn::StoreU(hn::Mul(load_lanes(d, q + i, state.work.depth - i), scale), d, to + i);
}

// Makes powers of `count` scores of a line, and adapts its maximum, divisor and sums. Lanes behind
// the scores, up to a whole panel, become zeros.
void raise_scores(const State& state, const float* bias, int64_t line, int64_t count, float* s) {
  const Floats d;
  const int64_t end = round_up(count, int64_t{kChannelPanel});
  for (int64_t i = count; i < end; ++i) s[i] = -kInfinity;
  Vector highest = hn::Set(d, kLowest);
  if (bias == nullptr) {
    for (int64_t i = 0; i < end; i += kLanes) highest = hn::Max(highest, hn::LoadU(d, s + i));
  } else {
    const Vector one = hn::Set(d, *bias);
    for (int64_t i = 0; i < end; i += kLanes) {
      const Vector added = state.bias.key != 0 ? load_lanes(d, bias + i, count - i) : one;
      const Vector v = hn::Add(hn::LoadU(d, s + i), added);
      hn::StoreU(v, d, s + i);
      highest = hn::Max(highest, v);
    }
  }
  const Vector before = hn::Set(d, state.maximum(line));
  const Vector maximum = hn::Max(before, hn::MaxOfLanes(d, highest));
  Vector sum = hn::Zero(d);
  for (int64_t i = 0; i < end; i += kLanes) {
    const Vector power = exp_of(hn::Sub(hn::LoadU(d, s + i), maximum));
    hn::StoreU(power, d, s + i);
    sum = hn::Add(sum, power);
  }
  const Vector shrink = exp_of(hn::Sub(before, maximum));
  state.maximum(line) = hn::GetLane(maximum);
  state.divisor(line) =
      state.divisor(line) * hn::GetLane(shrink) + hn::GetLane(hn::SumOfLanes(d, sum));
  float* const sums = state.sums(line);
  for (int64_t i = 0; i < state.layout.sum_stride; i += kLanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, sums + i), shrink), d, sums + i);
}

// Makes a line ready for its first keys.
void clear(const State& state, int64_t line) {
  state.maximum(line) = kLowest;
  state.divisor(line) = 0.0f;
  __builtin_memset(static_cast<void*>(state.sums(line)), 0,
                   static_cast<size_t>(state.layout.sum_stride) * sizeof(float));
}

// Divides the sums of a line. Without any score but -infinity, the divisor is zero: NaN, or zeros.
template <class T>
void store_line(const State& state, int64_t line, T* y) {
  const Floats d;
  const float divisor = state.divisor(line);
  const bool is_zero = divisor == 0.0f && state.zero_if_hidden;
  const Vector factor = hn::Div(hn::Set(d, 1.0f), hn::Set(d, is_zero ? 1.0f : divisor));
  const float* const sums = state.sums(line);
  for (int64_t i = 0; i < state.work.columns; i += kLanes)
    store_lanes(d, is_zero ? hn::Zero(d) : hn::Mul(hn::LoadU(d, sums + i), factor), y + i,
                state.work.columns - i);
}

// ---- many lines: panels ----

#if HWY_TARGET != HWY_SCALAR
using Four = hn::FixedTag<float, 4>;

// Transposes 4 x 4 numbers: rows that are `from_stride` apart become columns.
template <class T>
HWY_INLINE void transpose_four(const T* from, int64_t from_stride, float* to, int64_t to_stride) {
  const Four d;
  const hn::Repartition<uint64_t, Four> pairs;
  const auto a = load_floats(d, from);
  const auto b = load_floats(d, from + from_stride);
  const auto c = load_floats(d, from + 2 * from_stride);
  const auto e = load_floats(d, from + 3 * from_stride);
  const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ab_upper = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_upper = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_upper, ce_upper)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_upper, ce_upper)), d, to + 3 * to_stride);
}
#endif

// Writes panels [ceil(keys / 16)][depth][16]; the lanes behind `keys` become zero.
template <class T>
void pack_keys(const T* k, int64_t keys, int64_t depth, float* to) {
  for (int64_t first = 0; first < keys; first += kChannelPanel, to += depth * kChannelPanel) {
    const int64_t lanes = keys - first < kChannelPanel ? keys - first : kChannelPanel;
    if (lanes < kChannelPanel)
      __builtin_memset(static_cast<void*>(to), 0,
                       static_cast<size_t>(depth * kChannelPanel) * sizeof(float));
    for (int64_t lane = 0; lane < lanes;) {
      const T* const rows = k + (first + lane) * depth;
      int64_t at = 0;
      int64_t count = 1;
#if HWY_TARGET != HWY_SCALAR
      if (lane + 4 <= lanes) {
        count = 4;
        for (; at + 4 <= depth; at += 4)
          transpose_four(rows + at, depth, to + at * kChannelPanel + lane, kChannelPanel);
      }
#endif
      for (int64_t i = 0; i < count; ++i)
        for (int64_t j = at; j < depth; ++j)
          to[j * kChannelPanel + lane + i] =
              hn::GetLane(spread_float(Floats(), rows + i * depth + j));
      lane += count;
    }
  }
}

// Writes panels [ceil(columns / 16)][keys][16]; the lanes behind `columns` become zero.
template <class T>
void pack_values(const T* v, int64_t keys, int64_t columns, float* to) {
  const Floats d;
  for (int64_t first = 0; first < columns; first += kChannelPanel)
    for (int64_t key = 0; key < keys; ++key, to += kChannelPanel)
      for (int64_t i = 0; i < kChannelPanel; i += kLanes)
        hn::StoreU(load_lanes(d, v + key * columns + first + i, columns - first - i), d, to + i);
}

PanelRows<float> product_of(const float* x, int64_t x_stride, int64_t depth, const float* weights,
                            float* y, int64_t y_stride, int64_t columns) {
  return {.x = x,
          .x_stride = x_stride,
          .depth = depth,
          .weights = weights,
          .bias = kNoBias,
          .y = y,
          .y_stride = y_stride,
          .columns = static_cast<int32_t>(columns),
          .is_row = false,
          .brings_ahead = false,
          .adds_to_y = false,
          .activation = make_activation(kUnaryIdentity, 0.0f, 0.0f)};
}

Range panels_of(int64_t columns) {
  return {0, static_cast<int32_t>(ceil_div(columns, kChannelPanel))};
}

// Attends with lines [begin, end) of a head of k. `packed` is the head whose keys and values are
// all in the panels, or -1.
template <class T>
void attend_in_panels(const State& state, const Operands<T>& operands, int64_t head, int64_t begin,
                      int64_t end, int64_t* packed) {
  const AttentionWork& work = state.work;
  const int64_t block = attention_key_block(work);
  float* const key_panels = state.scratch + state.layout.keys;
  float* const value_panels = state.scratch + state.layout.values;
  const int64_t lines = end - begin;
  for (int64_t line = 0; line < lines; ++line) {
    load_query(state, operands.q + work.row_of(head, begin + line) * work.depth, state.query(line));
    clear(state, line);
  }
  for (int64_t key = 0; key < work.keys; key += block) {
    const int64_t count = work.keys - key < block ? work.keys - key : block;
    if (*packed != head) {
      const int64_t row = head * work.keys + key;
      pack_keys(operands.k + row * work.depth, count, work.depth, key_panels);
      pack_values(operands.v + row * work.columns, count, work.columns, value_panels);
      if (count == work.keys) *packed = head;
    }
    for (int64_t first = 0; first < lines; first += kTileLines) {
      const int64_t rows = lines - first < kTileLines ? lines - first : kTileLines;
      multiply_rows<FloatSums<float>>(
          product_of(state.query(first), state.layout.query_stride, work.depth, key_panels,
                     state.scores(0), kAttentionScoreStride, count),
          0, rows, panels_of(count));
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = work.row_of(head, begin + first + i);
        const float* const bias =
            operands.bias == nullptr
                ? nullptr
                : operands.bias + state.bias.at(row, work.all_rows) + key * state.bias.key;
        raise_scores(state, bias, first + i, count, state.scores(i));
      }
      PanelRows<float> product =
          product_of(state.scores(0), kAttentionScoreStride, count, value_panels, state.sums(first),
                     state.layout.sum_stride, work.columns);
      product.adds_to_y = true;
      multiply_rows<FloatSums<float>>(product, 0, rows, panels_of(work.columns));
    }
  }
  for (int64_t line = 0; line < lines; ++line)
    store_line(state, line, operands.y + work.row_of(head, begin + line) * work.columns);
}

// ---- a few lines ----

// Makes the scores of a line with `count` keys that follow each other.
template <class T>
void score_keys(const float* q, const T* k, int64_t count, int64_t depth, float* s) {
  const Floats d;
  for (int64_t key = 0; key < count; ++key, k += depth) {
    Vector sum = hn::Zero(d);
    int64_t i = 0;
    for (; i + kLanes <= depth; i += kLanes)
      sum = hn::MulAdd(hn::LoadU(d, q + i), load_floats(d, k + i), sum);
    if (i < depth) sum = hn::MulAdd(hn::LoadU(d, q + i), load_lanes(d, k + i, depth - i), sum);
    s[key] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

// Adds `count` values, times the powers, to the sums of a line: kVectors vectors of them from
// column `first` on.
template <int kVectors, class T>
void add_values(const float* powers, const T* v, int64_t count, int64_t columns, int64_t first,
                float* sums) {
  const Floats d;
  Vector sum[kVectors];
  for (int i = 0; i < kVectors; ++i) sum[i] = hn::LoadU(d, sums + first + i * kLanes);
  v += first;
  for (int64_t key = 0; key < count; ++key, v += columns) {
    const Vector power = hn::Set(d, powers[key]);
    for (int i = 0; i < kVectors; ++i) {
      const Vector value = kVectors > 1
                               ? load_floats(d, v + i * kLanes)
                               : load_lanes(d, v + i * kLanes, columns - first - i * kLanes);
      sum[i] = hn::MulAdd(power, value, sum[i]);
    }
  }
  for (int i = 0; i < kVectors; ++i) hn::StoreU(sum[i], d, sums + first + i * kLanes);
}

template <class T>
void attend_few(const State& state, const Operands<T>& operands, int64_t head) {
  constexpr int kVectors = 4;
  const AttentionWork& work = state.work;
  const int64_t block = attention_key_block(work);
  for (int64_t line = 0; line < work.lines(); ++line) {
    load_query(state, operands.q + work.row_of(head, line) * work.depth, state.query(line));
    clear(state, line);
  }
  for (int64_t key = 0; key < work.keys; key += block) {
    const int64_t count = work.keys - key < block ? work.keys - key : block;
    const T* const k = operands.k + (head * work.keys + key) * work.depth;
    const T* const v = operands.v + (head * work.keys + key) * work.columns;
    for (int64_t line = 0; line < work.lines(); ++line) {
      float* const scores = state.scores(line);
      const int64_t row = work.row_of(head, line);
      score_keys(state.query(line), k, count, work.depth, scores);
      raise_scores(state,
                   operands.bias == nullptr
                       ? nullptr
                       : operands.bias + state.bias.at(row, work.all_rows) + key * state.bias.key,
                   line, count, scores);
      int64_t column = 0;
      for (; column + kVectors * kLanes <= work.columns; column += kVectors * kLanes)
        add_values<kVectors>(scores, v, count, work.columns, column, state.sums(line));
      for (; column < work.columns; column += kLanes)
        add_values<1>(scores, v, count, work.columns, column, state.sums(line));
    }
  }
  for (int64_t line = 0; line < work.lines(); ++line)
    store_line(state, line, operands.y + work.row_of(head, line) * work.columns);
}

// ---- the kernel ----

template <class T>
void attend(const KernelArgs& args) {
  const auto& params = args.params_as<AttentionParams>();
  const TensorView* x = args.operands;
  const AttentionWork work =
      attention_work(x[0].shape, x[1].shape, args.output().shape, args.part_dim, args.part);
  const AttentionUnits units = attention_units(work);
  const AttentionScratch layout = attention_scratch(work);
  const bool has_bias = params.has_bias != 0;
  const AttentionBias bias =
      has_bias ? attention_bias(x[3].shape, x[0].shape, x[1].shape) : AttentionBias{};
  const Operands<T> operands = {x[0].as<const T>(), x[1].as<const T>(), x[2].as<const T>(),
                                has_bias ? x[3].as<const float>() : nullptr, args.output().as<T>()};
  const State state = {work,         bias,
                       layout,       static_cast<float*>(args.scratch),
                       params.scale, params.zero_if_hidden != 0};
  const Units mine = units_of_tasks(units.count, units.task_count, args.task_begin, args.task_end);
  int64_t packed = -1;
  for (int64_t unit = mine.begin; unit < mine.end; ++unit) {
    const int64_t head = unit / units.line_blocks;
    const int64_t line_block = unit % units.line_blocks;
    if (has_few_lines(work)) {
      attend_few(state, operands, head);
      continue;
    }
    attend_in_panels(state, operands, head, work.lines() * line_block / units.line_blocks,
                     work.lines() * (line_block + 1) / units.line_blocks, &packed);
  }
}

void attention(const KernelArgs& args) {
  if (args.output().shape.dtype == DType::F16) return attend<Half>(args);
  attend<float>(args);
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(attention_f32_cpu, attention);
}
#endif
