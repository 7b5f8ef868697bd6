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

// Lines of columns that one piece of a mean is made of: 64 columns of them fit a first-level cache.
constexpr int64_t kPieceLines = 128;
// Elements of a run that one piece is made of.
constexpr int64_t kPieceElements = 2048;

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
  int64_t k = 0;
  // Layer norm: scale and bias beside x, one mean.
  if (moments.stride == 0 && operands.scale != nullptr && operands.bias != nullptr &&
      scale_stride == 1 && bias_stride == 1) {
    const float* scale = operands.scale + at[kNormalizeScale];
    const float* bias = operands.bias + at[kNormalizeBias];
    for (; k + kLanes <= count; k += kLanes) {
      const Vector v = hn::Mul(hn::Sub(hn::LoadU(d, x + k), mean), factor);
      hn::StoreU(hn::Add(hn::Mul(v, hn::LoadU(d, scale + k)), hn::LoadU(d, bias + k)), d, y + k);
    }
  }
  // Instance norm: one of each.
  if (moments.stride == 0 && operands.scale != nullptr && operands.bias != nullptr &&
      scale_stride == 0 && bias_stride == 0) {
    const Vector scale = hn::Set(d, operands.scale[at[kNormalizeScale]]);
    const Vector bias = hn::Set(d, operands.bias[at[kNormalizeBias]]);
    for (; k + kLanes <= count; k += kLanes) {
      const Vector v = hn::Mul(hn::Sub(hn::LoadU(d, x + k), mean), factor);
      hn::StoreU(hn::Add(hn::Mul(v, scale), bias), d, y + k);
    }
  }
#pragma GCC unroll 1
  for (; k < count; k += kLanes) {
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
    for (int64_t pad = 0; pad < work.pad; ++pad) y[count + pad] = 0.0f;
}

// Four sums side by side, so that additions need not wait for each other.
struct Sums {
  Vector parts[4];

  // Written out: one that the compiler makes would not be compiled for the target.
  HWY_INLINE Sums() {
    for (Vector& part : parts) part = hn::Zero(Floats());
  }
  HWY_INLINE double total() const {
    const Floats d;
    const Vector sum = hn::Add(hn::Add(parts[0], parts[1]), hn::Add(parts[2], parts[3]));
    return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
};

// The sum of `count` elements, of their distances from `mean` squared or of the elements
// themselves.
template <bool kAreSquares>
HWY_INLINE double sum_of(const float* x, int64_t count, float mean) {
  const Floats d;
  const Vector mean_of_all = hn::Set(d, mean);
  Sums sums;
  const auto add = [&](Vector v, Vector& sum)
                       HWY_ATTR { sum = kAreSquares ? hn::MulAdd(v, v, sum) : hn::Add(sum, v); };
  int64_t k = 0;
  // Unrolled, so that the sums are registers.
  for (; k + 4 * kLanes <= count; k += 4 * kLanes)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      add(hn::Sub(hn::LoadU(d, x + k + i * kLanes), mean_of_all), sums.parts[i]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i, k += kLanes)
    if (k < count)
      add(keep_lanes(d, hn::Sub(load_lanes(d, x + k, count - k), mean_of_all), count - k),
          sums.parts[i]);
  return sums.total();
}

// One mean over runs of elements that begin at `begin`: of pieces that are read twice while a
// cache has them, put together as in Chan, Golub and LeVeque, "Algorithms for Computing the Sample
// Variance", The American Statistician 37(3), 1983.
void normalize_runs(const NormalizeWork& work, const NormalizeParams& params,
                    const Operands& operands, const int64_t (&begin)[3]) {
  const Floats d;
  double seen = 0;
  double mean = 0;
  double squares = 0;
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i) {
      const float* x = operands.x + walk.offsets[kNormalizeX] + i * walk.line_strides[kNormalizeX];
      for (int64_t k = 0; k < work.lanes; k += kPieceElements) {
        const int64_t count = work.lanes - k < kPieceElements ? work.lanes - k : kPieceElements;
        const double elements = static_cast<double>(count);
        double piece_mean = 0;
        if (params.is_rms == 0)
          piece_mean = sum_of</*kAreSquares=*/false>(x + k, count, 0.0f) / elements;
        // The mean that the distances are from is a float.
        const auto near_mean = static_cast<float>(piece_mean);
        const double off = piece_mean - static_cast<double>(near_mean);
        squares += sum_of</*kAreSquares=*/true>(x + k, count, near_mean) - off * off * elements;
        // The first piece, often the only one, needs no division.
        if (seen == 0) {
          mean = piece_mean;
          seen = elements;
          continue;
        }
        const double away = piece_mean - mean;
        squares += away * away * (seen * elements / (seen + elements));
        mean += away * (elements / (seen + elements));
        seen += elements;
      }
    }
  const float mean_of_all = static_cast<float>(mean);
  // What rounding makes negative is zero; a NaN stays one.
  const Vector squares_of_all = hn::Set(d, squares < 0 ? 0.0f : static_cast<float>(squares));
  const float factor = hn::GetLane(factor_of(work, params.epsilon, squares_of_all));
  const Moments moments = {&mean_of_all, &factor, 0};
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i)
      write_run(work, operands, moments, walk, i, 0, work.lanes);
}

// Vectors of neighbouring columns that are computed at once: so many lines of memory that follow
// each other are read together. It does not change what is added to what.
constexpr int kColumnVectors = 4;

// Columns from `lane` on: kVectors vectors, the last with `last_lanes` lanes.
struct Columns {
  int64_t lane;
  int64_t last_lanes;
};

// Vector `v` of kVectors from `from`.
template <int kVectors>
HWY_INLINE Vector load_column(const Columns& columns, const float* from, int v) {
  if (v + 1 < kVectors) return hn::LoadU(Floats(), from + v * kLanes);
  return load_lanes(Floats(), from + v * kLanes, columns.last_lanes);
}

// The means of columns over the lines, and the sums of squared distances from them, piece by piece
// as in normalize_runs().
template <int kVectors>
void moments_of_columns(const NormalizeWork& work, const Operands& operands,
                        const int64_t (&begin)[3], const Columns& columns, bool is_rms,
                        float* means, float* squares) {
  const Floats d;
  Vector mean[kVectors];
  Vector square[kVectors];
  for (int v = 0; v < kVectors; ++v) mean[v] = square[v] = hn::Zero(d);
  double seen = 0;
  for (NormalizeWalk walk(work.reduced, begin); walk.next();) {
    const int64_t stride = walk.line_strides[kNormalizeX];
    const float* x = operands.x + walk.offsets[kNormalizeX] + columns.lane;
    for (int64_t i = 0; i < walk.line_count; i += kPieceLines, x += kPieceLines * stride) {
      const int64_t rest = walk.line_count - i;
      const int64_t lines = rest < kPieceLines ? rest : kPieceLines;
      // Even lines and odd ones, so that additions need not wait for each other.
      Vector even[kVectors];
      Vector odd[kVectors];
      Vector piece_mean[kVectors];
      for (int v = 0; v < kVectors; ++v) even[v] = odd[v] = piece_mean[v] = hn::Zero(d);
      if (!is_rms) {
        int64_t line = 0;
        for (; line + 2 <= lines; line += 2)
          for (int v = 0; v < kVectors; ++v) {
            const float* from = x + line * stride;
            even[v] = hn::Add(even[v], load_column<kVectors>(columns, from, v));
            odd[v] = hn::Add(odd[v], load_column<kVectors>(columns, from + stride, v));
          }
        const Vector share = hn::Set(d, 1.0f / static_cast<float>(lines));
        for (int v = 0; v < kVectors; ++v) {
          if (line < lines)
            even[v] = hn::Add(even[v], load_column<kVectors>(columns, x + line * stride, v));
          piece_mean[v] = hn::Mul(hn::Add(even[v], odd[v]), share);
          even[v] = odd[v] = hn::Zero(d);
        }
      }
      int64_t line = 0;
      for (; line + 2 <= lines; line += 2)
        for (int v = 0; v < kVectors; ++v) {
          const float* from = x + line * stride;
          const Vector a = hn::Sub(load_column<kVectors>(columns, from, v), piece_mean[v]);
          const Vector b = hn::Sub(load_column<kVectors>(columns, from + stride, v), piece_mean[v]);
          even[v] = hn::MulAdd(a, a, even[v]);
          odd[v] = hn::MulAdd(b, b, odd[v]);
        }
      const double all = seen + static_cast<double>(lines);
      const Vector mean_share = hn::Set(d, static_cast<float>(static_cast<double>(lines) / all));
      const Vector square_share =
          hn::Set(d, static_cast<float>(seen * static_cast<double>(lines) / all));
      for (int v = 0; v < kVectors; ++v) {
        if (line < lines) {
          const float* from = x + line * stride;
          const Vector a = hn::Sub(load_column<kVectors>(columns, from, v), piece_mean[v]);
          even[v] = hn::MulAdd(a, a, even[v]);
        }
        const Vector away = hn::Sub(piece_mean[v], mean[v]);
        square[v] = hn::Add(square[v], hn::Add(even[v], odd[v]));
        square[v] = hn::MulAdd(hn::Mul(away, away), square_share, square[v]);
        mean[v] = hn::MulAdd(away, mean_share, mean[v]);
      }
      seen = all;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(mean[v], d, means + v * kLanes);
    hn::StoreU(square[v], d, squares + v * kLanes);
  }
}

// One scale and one bias per column: all that is written is (x - mean) * factor + bias.
template <int kVectors>
void write_columns(const NormalizeWork& work, const Operands& operands, const int64_t (&begin)[3],
                   const Columns& columns, const float* means, const float* factors) {
  const Floats d;
  Vector mean[kVectors];
  Vector factor[kVectors];
  Vector bias[kVectors];
  const auto of_columns = [&](const float* from, int k, int v) HWY_ATTR {
    const int64_t stride = work.lane_strides[k];
    const int64_t count = v + 1 < kVectors ? kLanes : columns.last_lanes;
    return load_broadcast(from + begin[k] + (columns.lane + v * kLanes) * stride, stride, count);
  };
  for (int v = 0; v < kVectors; ++v) {
    mean[v] = hn::LoadU(d, means + v * kLanes);
    factor[v] = hn::LoadU(d, factors + v * kLanes);
    if (operands.scale != nullptr)
      factor[v] = hn::Mul(factor[v], of_columns(operands.scale, kNormalizeScale, v));
    bias[v] = operands.bias == nullptr ? hn::Zero(d) : of_columns(operands.bias, kNormalizeBias, v);
  }
  const int64_t end = columns.lane + (kVectors - 1) * kLanes + columns.last_lanes;
  const int64_t pad = end == work.lanes ? work.pad : 0;
  for (NormalizeWalk walk(work.reduced, begin); walk.next();) {
    const int64_t stride = walk.line_strides[kNormalizeX];
    const float* x = operands.x + walk.offsets[kNormalizeX] + columns.lane;
    float* y = operands.y + walk.offsets[kNormalizeX] + columns.lane;
    for (int64_t i = 0; i < walk.line_count; ++i, x += stride, y += stride) {
      for (int v = 0; v < kVectors; ++v) {
        const Vector away = hn::Sub(load_column<kVectors>(columns, x, v), mean[v]);
        const Vector result = hn::MulAdd(away, factor[v], bias[v]);
        if (v + 1 < kVectors)
          hn::StoreU(result, d, y + v * kLanes);
        else
          store_lanes(d, result, y + v * kLanes, columns.last_lanes);
      }
      for (int64_t k = 0; k < pad; ++k) y[(kVectors - 1) * kLanes + columns.last_lanes + k] = 0.0f;
    }
  }
}

// True if scale and bias are the same on every line.
bool has_even_lines(const NormalizeWork& work) {
  for (int32_t i = 0; i < work.reduced.count; ++i)
    if (work.reduced.strides[i][kNormalizeScale] != 0 ||
        work.reduced.strides[i][kNormalizeBias] != 0)
      return false;
  return true;
}

template <int kVectors>
void normalize_columns(const NormalizeWork& work, const NormalizeParams& params,
                       const Operands& operands, const int64_t (&begin)[3],
                       const Columns& columns) {
  const Floats d;
  float means[kVectors * kLanes];
  float factors[kVectors * kLanes];
  moments_of_columns<kVectors>(work, operands, begin, columns, params.is_rms != 0, means, factors);
  for (int v = 0; v < kVectors; ++v) {
    float* at = factors + v * kLanes;
    hn::StoreU(factor_of(work, params.epsilon, hn::LoadU(d, at)), d, at);
  }
  if (has_even_lines(work))
    return write_columns<kVectors>(work, operands, begin, columns, means, factors);
  const Moments moments = {means, factors, 1};
  const int64_t end = columns.lane + (kVectors - 1) * kLanes + columns.last_lanes;
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i)
      write_run(work, operands, moments, walk, i, columns.lane, end);
}

// The means of lanes [lane, end).
void normalize_lanes(const NormalizeWork& work, const NormalizeParams& params,
                     const Operands& operands, const int64_t (&begin)[3], int64_t lane,
                     int64_t end) {
  while (end - lane >= kColumnVectors * kLanes) {
    normalize_columns<kColumnVectors>(work, params, operands, begin, {lane, kLanes});
    lane += kColumnVectors * kLanes;
  }
  if (end - lane >= 2 * kLanes) {
    normalize_columns<2>(work, params, operands, begin, {lane, kLanes});
    lane += 2 * kLanes;
  }
  for (; lane < end; lane += kLanes)
    normalize_columns<1>(work, params, operands, begin,
                         {lane, end - lane < kLanes ? end - lane : kLanes});
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
    normalize_lanes(work, params, operands, begin, block * kNormalizeBlock, end);
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
