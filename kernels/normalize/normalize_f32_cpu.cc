// Vectors lie along the innermost axis of the memory. Where it is reduced, a unit of work is one
// mean and goes through runs of elements; where it is kept, a unit is a block of neighbouring
// means.
#include "kernels/common/cpu_dispatch.h"
#include "kernels/normalize/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/normalize_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

// Vectors added up before they go into the sum of all: the error of a float sum grows with the
// number of additions in a row, which so is this or the number of such pieces, not their product.
constexpr int64_t kPiece = 128;

struct Sum {
  Vector whole;
  Vector piece;
  int64_t piece_count;

  // Written out: one that the compiler makes would not be compiled for the target.
  HWY_INLINE Sum() : whole(hn::Zero(Floats())), piece(hn::Zero(Floats())), piece_count(0) {}

  HWY_INLINE void add(Vector v) {
    piece = hn::Add(piece, v);
    if (++piece_count < kPiece) return;
    whole = hn::Add(whole, piece);
    piece = hn::Zero(Floats());
    piece_count = 0;
  }
  HWY_INLINE Vector get() const { return hn::Add(whole, piece); }
};

struct Operands {
  const float* x;
  const float* scale;  // null: none
  const float* bias;
  float* y;
};

// What turns distances from the mean into results.
struct Moments {
  Vector mean;
  Vector factor;
};

Vector factor_of(const NormalizeWork& work, float epsilon, Vector squares) {
  const Floats d;
  const Vector variance = hn::Div(squares, hn::Set(d, static_cast<float>(work.element_count)));
  return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(d, epsilon))));
}

// `count` lanes of scale or bias whose first is at `from`.
HWY_INLINE Vector load_broadcast(const float* from, int64_t stride, int64_t count) {
  const Floats d;
  if (stride == 1) return load_lanes(d, from, count);
  if (stride == 0) return hn::Set(d, *from);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int64_t i = 0; i < count && i < kLanes; ++i) lanes[i] = from[i * stride];
  return hn::Load(d, lanes);
}

// The results of lanes [lane, lane + count) of the run at `offsets`.
HWY_INLINE void write_lanes(const NormalizeWork& work, const Operands& operands,
                            const Moments& moments, const int64_t (&offsets)[3], int64_t lane,
                            int64_t count) {
  const Floats d;
  const int64_t at = offsets[kNormalizeX] + lane;
  const Vector x = load_lanes(d, operands.x + at, count);
  Vector y = hn::Mul(hn::Sub(x, moments.mean), moments.factor);
  if (operands.scale != nullptr) {
    const int64_t stride = work.lane_strides[kNormalizeScale];
    const float* scale = operands.scale + offsets[kNormalizeScale] + lane * stride;
    y = hn::Mul(y, load_broadcast(scale, stride, count));
  }
  if (operands.bias != nullptr) {
    const int64_t stride = work.lane_strides[kNormalizeBias];
    const float* bias = operands.bias + offsets[kNormalizeBias] + lane * stride;
    y = hn::Add(y, load_broadcast(bias, stride, count));
  }
  store_lanes(d, y, operands.y + at, count);
}

void zero_pad(const NormalizeWork& work, const Operands& operands, int64_t offset) {
  for (int64_t i = 0; i < work.pad; ++i) operands.y[offset + work.lanes + i] = 0.0f;
}

// One mean over runs of elements that begin at `begin`.
void normalize_runs(const NormalizeWork& work, const NormalizeParams& params,
                    const Operands& operands, const int64_t (&begin)[3]) {
  const Floats d;
  Moments moments = {hn::Zero(d), hn::Zero(d)};
  if (params.is_rms == 0) {
    Sum sum;
    for (NormalizeWalk walk(work.reduced, begin); walk.next();)
      for (int64_t i = 0; i < work.lanes; i += kLanes)
        sum.add(load_lanes(d, operands.x + walk.offsets[kNormalizeX] + i, work.lanes - i));
    moments.mean =
        hn::Div(hn::SumOfLanes(d, sum.get()), hn::Set(d, static_cast<float>(work.element_count)));
  }
  Sum squares;
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < work.lanes; i += kLanes) {
      const int64_t rest = work.lanes - i;
      const Vector x = load_lanes(d, operands.x + walk.offsets[kNormalizeX] + i, rest);
      const Vector distance = keep_lanes(d, hn::Sub(x, moments.mean), rest);
      squares.add(hn::Mul(distance, distance));
    }
  moments.factor = factor_of(work, params.epsilon, hn::SumOfLanes(d, squares.get()));
  for (NormalizeWalk walk(work.reduced, begin); walk.next();) {
    for (int64_t i = 0; i < work.lanes; i += kLanes)
      write_lanes(work, operands, moments, walk.offsets, i, work.lanes - i);
    zero_pad(work, operands, walk.offsets[kNormalizeX]);
  }
}

// Vectors of neighbouring columns that are summed at once: so many lines of memory that follow each
// other are read together. It does not change what is added to what.
constexpr int kColumnVectors = 4;

// Sum for each of the vectors; the additions into one are those of Sum.
struct ColumnSums {
  Vector whole[kColumnVectors];
  Vector piece[kColumnVectors];
  int64_t piece_count;

  HWY_INLINE ColumnSums() : piece_count(0) {
    for (int v = 0; v < kColumnVectors; ++v) whole[v] = piece[v] = hn::Zero(Floats());
  }
  HWY_INLINE void end_of_line() {
    if (++piece_count < kPiece) return;
    for (int v = 0; v < kColumnVectors; ++v) {
      whole[v] = hn::Add(whole[v], piece[v]);
      piece[v] = hn::Zero(Floats());
    }
    piece_count = 0;
  }
  HWY_INLINE Vector get(int v) const { return hn::Add(whole[v], piece[v]); }
};

// Vector `v` of `count` columns; kIsWhole: there are kColumnVectors vectors of them.
template <bool kIsWhole>
HWY_INLINE Vector load_columns(const float* x, int v, int64_t count) {
  const Floats d;
  if (kIsWhole) return hn::LoadU(d, x + v * kLanes);
  return load_lanes(d, x + v * kLanes, count - v * kLanes);
}

// The means of lanes [lane, end), at most kColumnVectors vectors.
template <bool kIsWhole>
void normalize_columns(const NormalizeWork& work, const NormalizeParams& params,
                       const Operands& operands, const int64_t (&begin)[3], int64_t lane,
                       int64_t end) {
  const Floats d;
  const int64_t count = end - lane;
  const Vector element_count = hn::Set(d, static_cast<float>(work.element_count));
  Moments moments[kColumnVectors];
  for (Moments& each : moments) each.mean = hn::Zero(d);
  if (params.is_rms == 0) {
    ColumnSums sums;
    for (NormalizeWalk walk(work.reduced, begin); walk.next(); sums.end_of_line()) {
      const float* x = operands.x + walk.offsets[kNormalizeX] + lane;
#pragma GCC unroll 4
      for (int v = 0; v < kColumnVectors; ++v)
        sums.piece[v] = hn::Add(sums.piece[v], load_columns<kIsWhole>(x, v, count));
    }
    for (int v = 0; v < kColumnVectors; ++v) moments[v].mean = hn::Div(sums.get(v), element_count);
  }
  ColumnSums squares;
  for (NormalizeWalk walk(work.reduced, begin); walk.next(); squares.end_of_line()) {
    const float* x = operands.x + walk.offsets[kNormalizeX] + lane;
#pragma GCC unroll 4
    for (int v = 0; v < kColumnVectors; ++v) {
      const Vector distance = hn::Sub(load_columns<kIsWhole>(x, v, count), moments[v].mean);
      squares.piece[v] = hn::Add(squares.piece[v], hn::Mul(distance, distance));
    }
  }
  for (int v = 0; v < kColumnVectors; ++v)
    moments[v].factor = factor_of(work, params.epsilon, squares.get(v));
  for (NormalizeWalk walk(work.reduced, begin); walk.next();) {
    for (int v = 0; v < kColumnVectors && v * kLanes < count; ++v)
      write_lanes(work, operands, moments[v], walk.offsets, lane + v * kLanes, count - v * kLanes);
    if (end == work.lanes) zero_pad(work, operands, walk.offsets[kNormalizeX]);
  }
}

void normalize_f32(const KernelArgs& args) {
  const auto& params = args.params_as<NormalizeParams>();
  const TensorView* scale = params.has_scale != 0 ? &args.operands[1] : nullptr;
  const TensorView* bias = params.has_bias != 0 ? &args.operands[args.operand_count - 2] : nullptr;
  const NormalizeWork work =
      normalize_work(params, args.operands[0].shape, scale == nullptr ? nullptr : &scale->shape,
                     bias == nullptr ? nullptr : &bias->shape);
  const Operands operands = {
      args.operands[0].as<const float>(), scale == nullptr ? nullptr : scale->as<const float>(),
      bias == nullptr ? nullptr : bias->as<const float>(), args.output().as<float>()};
  const Units units = units_of_tasks(work.units, work.task_count, args.task_begin, args.task_end);
  int64_t unit = units.begin;
  while (unit < units.end) {
    int64_t begin[3] = {};
    work.kept.add_offsets(unit / work.lane_blocks, begin);
    if (!work.has_kept_lanes) {
      normalize_runs(work, params, operands, begin);
      ++unit;
      continue;
    }
    // Blocks up to the end of the lanes that are mine.
    const int64_t block = unit % work.lane_blocks;
    const int64_t rest = work.lane_blocks - block;
    const int64_t blocks = rest < units.end - unit ? rest : units.end - unit;
    const int64_t last = (block + blocks) * kNormalizeBlock;
    const int64_t end = last < work.lanes ? last : work.lanes;
    for (int64_t lane = block * kNormalizeBlock; lane < end; lane += kColumnVectors * kLanes) {
      const int64_t next = lane + kColumnVectors * kLanes;
      if (next <= end)
        normalize_columns<true>(work, params, operands, begin, lane, next);
      else
        normalize_columns<false>(work, params, operands, begin, lane, end);
    }
    unit += blocks;
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace codl::kernels {
CODL_CPU_KERNEL(normalize_f32_cpu, normalize_f32);
}
#endif
