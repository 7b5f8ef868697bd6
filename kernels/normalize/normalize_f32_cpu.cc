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

// What turns distances from the mean into results: of all lanes (stride 0), or one for each from
// the first on, with a vector's worth of numbers behind the last (1).
struct Moments {
  const float* means;
  const float* factors;
  int64_t stride;
};

// The results of lanes [lane, end) of the line at `walk`, element `i`, and the pad behind the last.
HWY_NOINLINE void write_run(const NormalizeWork& work, const Operands& operands,
                            const Moments& moments, const NormalizeWalk& walk, int64_t i,
                            int64_t lane, int64_t end) {
  const Floats d;
  int64_t at[3];
  for (int k = 0; k < 3; ++k)
    at[k] = walk.offsets[k] + i * walk.line_strides[k] + lane * work.lane_strides[k];
  const float* x = operands.x + at[kNormalizeX];
  float* y = operands.y + at[kNormalizeX];
  const int64_t scale_stride = work.lane_strides[kNormalizeScale];
  const int64_t bias_stride = work.lane_strides[kNormalizeBias];
  Vector mean = hn::Set(d, moments.means[0]);
  Vector factor = hn::Set(d, moments.factors[0]);
  const int64_t count = end - lane;
#pragma GCC unroll 1
  for (int64_t k = 0; k < count; k += kLanes) {
    if (moments.stride != 0) {
      mean = hn::LoadU(d, moments.means + k);
      factor = hn::LoadU(d, moments.factors + k);
    }
    Vector v = hn::Mul(hn::Sub(load_lanes(d, x + k, count - k), mean), factor);
    if (operands.scale != nullptr)
      v = hn::Mul(v, load_broadcast(operands.scale + at[kNormalizeScale] + k * scale_stride,
                                    scale_stride, count - k));
    if (operands.bias != nullptr)
      v = hn::Add(v, load_broadcast(operands.bias + at[kNormalizeBias] + k * bias_stride,
                                    bias_stride, count - k));
    store_lanes(d, v, y + k, count - k);
  }
  if (end == work.lanes)
    for (int64_t k = 0; k < work.pad; ++k) y[count + k] = 0.0f;
}

// The sum over runs of elements that begin at `begin`, of their distances from `mean` squared or of
// the elements themselves.
HWY_NOINLINE float sum_of_runs(const NormalizeWork& work, const Operands& operands,
                               const int64_t (&begin)[3], bool are_squares, float mean) {
  const Floats d;
  const Vector mean_of_all = hn::Set(d, mean);
  Sum sum;
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i) {
      const float* x = operands.x + walk.offsets[kNormalizeX] + i * walk.line_strides[kNormalizeX];
#pragma GCC unroll 1
      for (int64_t k = 0; k < work.lanes; k += kLanes) {
        const int64_t rest = work.lanes - k;
        const Vector v = keep_lanes(d, hn::Sub(load_lanes(d, x + k, rest), mean_of_all), rest);
        sum.add(are_squares ? hn::Mul(v, v) : v);
      }
    }
  return hn::GetLane(hn::SumOfLanes(d, sum.get()));
}

// One mean over runs of elements that begin at `begin`.
void normalize_runs(const NormalizeWork& work, const NormalizeParams& params,
                    const Operands& operands, const int64_t (&begin)[3]) {
  const Floats d;
  float mean = 0.0f;
  if (params.is_rms == 0)
    mean = sum_of_runs(work, operands, begin, /*are_squares=*/false, 0.0f) /
           static_cast<float>(work.element_count);
  const float squares = sum_of_runs(work, operands, begin, /*are_squares=*/true, mean);
  const float factor = hn::GetLane(factor_of(work, params.epsilon, hn::Set(d, squares)));
  const Moments moments = {&mean, &factor, 0};
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i)
      write_run(work, operands, moments, walk, i, 0, work.lanes);
}

// Vectors of neighbouring columns that are summed at once: so many lines of memory that follow each
// other are read together. It does not change what is added to what.
constexpr int kColumnVectors = 4;

// Sums over the lines of the columns from `lane` on, of their distances from `means` squared or of
// the elements themselves. kIsWhole: `count` columns are kColumnVectors vectors.
template <bool kIsWhole>
HWY_NOINLINE void sum_columns(const NormalizeWork& work, const Operands& operands,
                              const int64_t (&begin)[3], int64_t lane, int64_t count,
                              bool are_squares, const float* means, float* sums) {
  const Floats d;
  Vector whole[kColumnVectors];
  Vector piece[kColumnVectors];
  for (int v = 0; v < kColumnVectors; ++v) whole[v] = piece[v] = hn::Zero(d);
  int64_t piece_count = 0;
  for (NormalizeWalk walk(work.reduced, begin); walk.next();) {
    const float* x = operands.x + walk.offsets[kNormalizeX] + lane;
    for (int64_t i = 0; i < walk.line_count; ++i, x += walk.line_strides[kNormalizeX]) {
#pragma GCC unroll 4
      for (int v = 0; v < kColumnVectors; ++v) {
        const float* from = x + v * kLanes;
        Vector element = kIsWhole ? hn::LoadU(d, from) : load_lanes(d, from, count - v * kLanes);
        element = hn::Sub(element, hn::LoadU(d, means + v * kLanes));
        piece[v] = hn::Add(piece[v], are_squares ? hn::Mul(element, element) : element);
      }
      if (++piece_count < kPiece) continue;
      for (int v = 0; v < kColumnVectors; ++v) {
        whole[v] = hn::Add(whole[v], piece[v]);
        piece[v] = hn::Zero(d);
      }
      piece_count = 0;
    }
  }
  for (int v = 0; v < kColumnVectors; ++v)
    hn::StoreU(hn::Add(whole[v], piece[v]), d, sums + v * kLanes);
}

// The means of lanes [lane, end), at most kColumnVectors vectors.
void normalize_columns(const NormalizeWork& work, const NormalizeParams& params,
                       const Operands& operands, const int64_t (&begin)[3], int64_t lane,
                       int64_t end) {
  const Floats d;
  const int64_t count = end - lane;
  const auto sum = count == kColumnVectors * kLanes ? sum_columns<true> : sum_columns<false>;
  float means[kColumnVectors * kLanes] = {};
  float sums[kColumnVectors * kLanes];
  const Vector element_count = hn::Set(d, static_cast<float>(work.element_count));
  if (params.is_rms == 0) {
    sum(work, operands, begin, lane, count, /*are_squares=*/false, means, sums);
    for (int v = 0; v < kColumnVectors; ++v)
      hn::StoreU(hn::Div(hn::LoadU(d, sums + v * kLanes), element_count), d, means + v * kLanes);
  }
  sum(work, operands, begin, lane, count, /*are_squares=*/true, means, sums);
  for (int v = 0; v < kColumnVectors; ++v)
    hn::StoreU(factor_of(work, params.epsilon, hn::LoadU(d, sums + v * kLanes)), d,
               sums + v * kLanes);
  const Moments moments = {means, sums, 1};
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i)
      write_run(work, operands, moments, walk, i, lane, end);
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
      normalize_columns(work, params, operands, begin, lane, next < end ? next : end);
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
