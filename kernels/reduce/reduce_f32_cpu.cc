// Sums and extremes over any axes. Rows of up to 64 neighbours are added to as many results side by
// side. Where the innermost axis is kept, those are outputs. Where it is reduced, they are pieces
// of one output, joined at the end. Where it is reduced and short, the lines of 64 outputs are
// turned first.
//
// A sum takes at most kPieceRows rows before it is added to the others, so that many small numbers
// do not vanish in a large one. The operator's parameters alone decide in which order elements are
// added.
//
// The code that goes through the elements is compiled for each instruction set, all else once.
#include "kernels/common/cpu/cpu_dispatch.h"
#include "kernels/reduce/reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/reduce_f32_cpu.cc"
#include "kernels/common/cpu/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation/activation-inl.h"
#include "kernels/common/cpu/lanes-inl.h"
#include "kernels/common/cpu/stored_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

// Says how an element is changed before it is added up or compared: in a sum it loses its sign (L1)
// or is multiplied by itself; to find the smallest, its sign is changed and the largest is
// searched.
struct Elements {
  Vector bits;    // sum: bits that stay; extreme: bits that change
  Vector square;  // all bits where an element is its own factor, which is 1 else
};

Elements elements_of(int32_t kind) {
  const Floats d;
  const Vector none = hn::Zero(d);
  const Vector all = hn::Not(none);
  const Vector sign = hn::Set(d, -0.0f);
  if (is_extreme(kind)) return {kind == kReduceMin ? sign : none, none};
  return {kind == kReduceL1 ? hn::Not(sign) : all, is_sum_of_squares(kind) ? all : none};
}

template <bool kIsMax>
HWY_INLINE Vector add_element(const Elements& elements, Vector sum, Vector v) {
  if constexpr (kIsMax) return larger(sum, hn::Xor(v, elements.bits));
  v = hn::And(v, elements.bits);
  // The factor is 1 or v, chosen by bits alone.
  const Vector factor =
      hn::Or(hn::And(elements.square, v), hn::AndNot(elements.square, hn::Set(Floats(), 1.0f)));
  return hn::MulAdd(v, factor, sum);
}

// Adds to kVectors vectors of results; if one, to `width` of its lanes, and the lanes behind stay
// as they are.
template <bool kIsMax, int kVectors>
HWY_INLINE void add_strip(const Elements& elements, const float* x, int64_t rows, int64_t step,
                          int64_t width, float* results) {
  const Floats d;
  const int64_t lanes = kVectors > 1 ? kLanes : width;
  Vector sums[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, results + v * kLanes);
  for (int64_t row = 0; row < rows; ++row, x += step)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[v] = add_element<kIsMax>(elements, sums[v], load_lanes(d, x + v * kLanes, lanes));
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) store_lanes(d, sums[v], results + v * kLanes, lanes);
}

template <bool kIsMax>
void add_rows_of(int32_t kind, const float* x, int64_t rows, int64_t step, int64_t width,
                 float* results) {
  const Elements elements = elements_of(kind);
  constexpr int64_t kStrip = 4 * kLanes;
  for (; width >= kStrip; width -= kStrip, x += kStrip, results += kStrip)
    add_strip<kIsMax, 4>(elements, x, rows, step, kStrip, results);
  for (; width > 0; width -= kLanes, x += kLanes, results += kLanes)
    add_strip<kIsMax, 1>(elements, x, rows, step, width, results);
}

// Does the same for halves, some rows at a time.
template <bool kIsMax>
void add_half_rows_of(int32_t kind, const Half* x, int64_t rows, int64_t step, int64_t width,
                      float* results) {
  HWY_ALIGN float block[kStoredBlock];
  int64_t some = kStoredBlock / width;
  for (; rows > 0; rows -= some, x += some * step) {
    if (rows < some) some = rows;
    floats_of_halves(x, step, some, width, block, width);
    add_rows_of<kIsMax>(kind, block, some, width, width, results);
  }
}

void reduce_f32(const KernelArgs& args) {
  const bool is_max = is_extreme(args.params_as<ReduceParams>().kind);
  const AddReduceRows<float> add_rows = is_max ? add_rows_of<true> : add_rows_of<false>;
  if (args.output().shape.dtype != DType::F16)
    return reduce_blocks<float>(args, add_rows, add_rows);
  reduce_blocks<Half>(args, is_max ? add_half_rows_of<true> : add_half_rows_of<false>, add_rows);
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
namespace {

constexpr int64_t kPieceRows = 64;

// Keeps up to kReduceBlock results side by side, each of all rows and of the last few.
template <class T>
class Sums {
 public:
  Sums(int32_t kind, AddReduceRows<T> add_rows, AddReduceRows<float> join_rows)
      : kind_(kind),
        nothing_(is_extreme(kind) ? -__builtin_inff() : 0.0f),
        add_rows_(add_rows),
        join_rows_(join_rows) {}

  HWY_NOINLINE void clear(int64_t width) {
    width_ = width;
    rows_left_ = kPieceRows;
    for (int64_t i = 0; i < width; ++i) all_[i] = piece_[i] = nothing_;
  }

  // Adds `rows` rows of `width` <= that of clear() elements, `step` apart, to the first results.
  HWY_NOINLINE void add(const T* x, int64_t rows, int64_t step, int64_t width) {
    while (rows > 0) {
      const int64_t count = rows < rows_left_ ? rows : rows_left_;
      add_rows_(kind_, x, count, step, width, piece_);
      x += count * step;
      rows -= count;
      rows_left_ -= count;
      if (rows_left_ == 0) end_piece();
    }
  }

  // The results, behind the last row; `is_one`: all are pieces of one.
  HWY_NOINLINE void store(bool is_one, float divisor, T* y) {
    end_piece();
    for (int64_t half = kReduceBlock / 2; is_one && half > 0; half /= 2) {
      const int64_t width = (width_ < 2 * half ? width_ : 2 * half) - half;
      join(all_ + half, width, all_);
    }
    const int64_t count = is_one ? 1 : width_;
    for (int64_t i = 0; i < count; ++i) {
      float result = all_[i] / divisor;
      if (kind_ == kReduceL2) result = __builtin_sqrtf(result);
      y[i] = T(result);
    }
  }

 private:
  // Adds to results what is the sum, or the largest, of elements already.
  void join(const float* x, int64_t width, float* results) {
    join_rows_(is_extreme(kind_) ? kReduceMax : kReduceSum, x, 1, 0, width, results);
  }

  HWY_NOINLINE void end_piece() {
    join(piece_, width_, all_);
    for (int64_t i = 0; i < width_; ++i) piece_[i] = nothing_;
    rows_left_ = kPieceRows;
  }

  int32_t kind_;
  float nothing_;  // changes no result
  AddReduceRows<T> add_rows_;
  AddReduceRows<float> join_rows_;
  int64_t width_ = 0;
  int64_t rows_left_ = 0;
  // Whole vectors are read of both.
  float all_[kReduceBlock + kChannelPanel];
  float piece_[kReduceBlock + kChannelPanel];
};

constexpr int64_t at_most_block(int64_t count) {
  return count < kReduceBlock ? count : kReduceBlock;
}

HWY_NOINLINE int64_t offset_of(const LoopAxes& axes, int64_t at) {
  return reduce_run_at(axes, at, at + 1).offsets[0];
}

}  // namespace

template <class T>
void reduce_blocks(const KernelArgs& args, AddReduceRows<T> add_rows,
                   AddReduceRows<float> join_rows) {
  const auto& params = args.params_as<ReduceParams>();
  const ReduceWork work = reduce_work(params.axes_mask, args.operands[0].shape);
  const T* x = args.operands[0].as<const T>();
  T* y = args.output().as<T>();
  const float divisor = params.kind == kReduceMean  ? static_cast<float>(work.element_count)
                        : params.kind == kReduceMin ? -1.0f
                                                    : 1.0f;
  const int64_t rows = work.lanes / kReduceBlock;  // rows of a line
  const int64_t rest = work.lanes % kReduceBlock;
  const bool is_turned = !work.has_kept_lanes && work.lanes <= kReduceShortLine;
  T turned[kReduceShortLine * kReduceBlock];

  Sums<T> sums(params.kind, add_rows, join_rows);
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  for (int64_t unit = units.begin; unit < units.end;) {
    if (work.has_kept_lanes) {
      const int64_t block = unit % work.lane_blocks * kReduceBlock;
      const int64_t outer = unit / work.lane_blocks;
      const int64_t width = at_most_block(work.lanes - block);
      const T* from = x + offset_of(work.kept, outer) + block;
      sums.clear(width);
      for (int64_t line = 0; line < work.line_count;) {
        const LoopAxes::Run run = reduce_run_at(work.reduced, line, work.line_count);
        sums.add(from + run.offsets[0], run.count, work.reduced.last_step(0), width);
        line += run.count;
      }
      sums.store(false, divisor, y + outer * work.lanes + block);
      ++unit;
    } else if (is_turned) {
      const int64_t width = at_most_block(units.end - unit);
      sums.clear(width);
      for (int64_t line = 0; line < work.line_count; ++line) {
        const T* from = x + offset_of(work.reduced, line);
        for (int64_t at = 0; at < width;) {
          const LoopAxes::Run run = reduce_run_at(work.kept, unit + at, unit + width);
          const T* each = from + run.offsets[0];
          const int64_t step = work.kept.last_step(0);
          for (int64_t k = 0; k < work.lanes; ++k)
            for (int64_t i = 0; i < run.count; ++i)
              turned[k * kReduceBlock + at + i] = each[i * step + k];
          at += run.count;
        }
        sums.add(turned, work.lanes, kReduceBlock, width);
      }
      sums.store(false, divisor, y + unit);
      unit += width;
    } else {
      const T* from = x + offset_of(work.kept, unit);
      sums.clear(at_most_block(work.lanes));
      for (int64_t line = 0; line < work.line_count; ++line) {
        const T* at = from + offset_of(work.reduced, line);
        sums.add(at, rows, kReduceBlock, kReduceBlock);
        if (rest > 0) sums.add(at + rows * kReduceBlock, 1, 0, rest);
      }
      sums.store(true, divisor, y + unit);
      ++unit;
    }
  }
}

template void reduce_blocks(const KernelArgs&, AddReduceRows<float>, AddReduceRows<float>);
template void reduce_blocks(const KernelArgs&, AddReduceRows<Half>, AddReduceRows<float>);

CODL_CPU_KERNEL(reduce_f32_cpu, reduce_f32);

}  // namespace codl::kernels
#endif
