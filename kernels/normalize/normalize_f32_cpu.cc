// Vectors lie along the innermost axis of the memory. Where it is reduced, a unit of work is one
// mean and goes through runs of elements; where it is kept, a unit is a block of neighbouring
// means. Sums and squares are taken in one pass over the memory, from a pivot near the mean.
#include "kernels/common/cpu_dispatch.h"
#include "kernels/normalize/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize/normalize_f32_cpu.cc"
#include "kernels/common/foreach_target.h"
//
#include "hwy/highway.h"
#include "kernels/common/activation-inl.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

// Distances are taken from the mean of a piece's first elements. Let k of n elements have the mean
// p: then the sum of all squared distances from the mean m is at least k (p - m)^2, and that from p
// is more by n (p - m)^2. So the difference has lost log2(1 + n / k) bits at most: 5 to 7, in the
// worst case.
//
// Lines of columns that one piece of a mean is made of, and of its pivot.
constexpr int64_t kPieceLines = 128;
constexpr int64_t kPivotLines = 4;
// Elements of a run that one piece is made of, and vectors of its pivot: 128 elements.
constexpr int64_t kPieceElements = 2048;
constexpr int64_t kPivotVectors = 128 / kLanes;
// Between the sums of a run and its results, where it is one line of a piece at most: so many runs
// are summed up while another is written, that sums of lanes, a division and a root are done then.
constexpr int64_t kRunsAhead = 2;

struct Operands {
  const float* x;
  const float* scale;  // null: none
  const float* bias;
  float* y;
};

// What rounding made negative is zero; a NaN stays one.
Vector factor_of(const NormalizeWork& work, float epsilon, Vector sum_of_squares) {
  const Floats d;
  const Vector squares = at_least(sum_of_squares, hn::Zero(d));
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

HWY_INLINE float sum_of_lanes(Vector v) { return hn::GetLane(hn::SumOfLanes(Floats(), v)); }

// A pivot.
float mean_of_first(const float* x, int64_t count) {
  const Floats d;
  if (count < kPivotVectors * kLanes) return x[0];
  Vector sum = hn::LoadU(d, x);
#pragma GCC unroll 4
  for (int64_t i = 1; i < kPivotVectors; ++i) sum = hn::Add(sum, hn::LoadU(d, x + i * kLanes));
  return sum_of_lanes(sum) * (1.0f / static_cast<float>(kPivotVectors * kLanes));
}

// The sums of distances from a pivot, and of their squares.
struct Sums {
  float distances;
  float squares;
};

// Where results of a run with one mean come from and go to. A step is kLanes, or 0 where a vector
// of equal lanes serves all elements.
struct RunResults {
  const float* x = nullptr;
  float* y = nullptr;
  float mean = 0.0f;
  float factor = 0.0f;
  const float* scale = nullptr;
  int64_t scale_step = 0;
  const float* bias = nullptr;
  int64_t bias_step = 0;
};

// One pass over two runs of `count` elements: writes the results of one and sums up the distances
// from `pivot` of the other, in an order that does not depend on whether it does both.
template <bool kWrites, bool kSums>
HWY_NOINLINE Sums pass_over_runs(RunResults to, const float* summed, float pivot, int64_t count) {
  const Floats d;
  const Vector mean = hn::Set(d, to.mean);
  const Vector factor = hn::Set(d, to.factor);
  const Vector near_mean = hn::Set(d, pivot);
  // Four of each, so that additions need not wait for each other.
  Vector distances[4];
  Vector squares[4];
  for (int i = 0; i < 4; ++i) distances[i] = squares[i] = hn::Zero(d);
  const auto result_of = [&](Vector x) HWY_ATTR {
    const Vector away = hn::Mul(hn::Sub(x, mean), factor);
    const Vector result = hn::MulAdd(away, hn::LoadU(d, to.scale), hn::LoadU(d, to.bias));
    to.scale += to.scale_step;
    to.bias += to.bias_step;
    return result;
  };
  const auto add = [&](Vector away, int i) HWY_ATTR {
    distances[i] = hn::Add(distances[i], away);
    squares[i] = hn::MulAdd(away, away, squares[i]);
  };
  int64_t k = 0;
  for (; k + 4 * kLanes <= count; k += 4 * kLanes)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int64_t at = k + i * kLanes;
      if constexpr (kSums) add(hn::Sub(hn::LoadU(d, summed + at), near_mean), i);
      if constexpr (kWrites) hn::StoreU(result_of(hn::LoadU(d, to.x + at)), d, to.y + at);
    }
#pragma GCC unroll 1
  for (; k + kLanes <= count; k += kLanes) {
    if constexpr (kSums) add(hn::Sub(hn::LoadU(d, summed + k), near_mean), 0);
    if constexpr (kWrites) hn::StoreU(result_of(hn::LoadU(d, to.x + k)), d, to.y + k);
  }
  if (kSums && k < count) {
    const Vector away = hn::Sub(load_lanes(d, summed + k, count - k), near_mean);
    add(keep_lanes(d, away, count - k), 0);
  }
  if constexpr (kWrites) {
    for (int64_t i = 0; k + i < count; ++i) {
      const float away = (to.x[k + i] - to.mean) * to.factor;
      to.y[k + i] = away * to.scale[i] + to.bias[i];
    }
  }
  const auto of_lanes = [](const Vector* parts) HWY_ATTR {
    return sum_of_lanes(hn::Add(hn::Add(parts[0], parts[1]), hn::Add(parts[2], parts[3])));
  };
  return {of_lanes(distances), of_lanes(squares)};
}

// Vectors of equal lanes, where a run has one scale or bias.
struct EqualLanes {
  HWY_ALIGN float scale[kLanes];
  HWY_ALIGN float bias[kLanes];
};

// The results at `offsets` of a run that pass_over_runs() can write.
RunResults results_at(const NormalizeWork& work, const Operands& operands,
                      const int64_t (&offsets)[3], float mean, float factor, EqualLanes& equal) {
  const Floats d;
  const auto with_steps = [&](const float* first, int which, float none, float* lanes,
                              int64_t& step) HWY_ATTR {
    step = work.lane_strides[which] == 1 && first != nullptr ? kLanes : 0;
    if (step != 0) return first + offsets[which];
    hn::Store(hn::Set(d, first == nullptr ? none : first[offsets[which]]), d, lanes);
    return static_cast<const float*>(lanes);
  };
  RunResults to;
  to.x = operands.x + offsets[kNormalizeX];
  to.y = operands.y + offsets[kNormalizeX];
  to.mean = mean;
  to.factor = factor;
  to.scale = with_steps(operands.scale, kNormalizeScale, 1.0f, equal.scale, to.scale_step);
  to.bias = with_steps(operands.bias, kNormalizeBias, 0.0f, equal.bias, to.bias_step);
  return to;
}

// True if pass_over_runs() can write the results.
bool has_even_steps(const NormalizeWork& work) {
  return work.lane_strides[kNormalizeScale] <= 1 && work.lane_strides[kNormalizeBias] <= 1;
}

void zero_pad(const NormalizeWork& work, float* y) {
  for (int64_t pad = 0; pad < work.pad; ++pad) y[work.lanes + pad] = 0.0f;
}

// The results of lanes [lane, end) of the line at `walk`, element `i`, and the pad behind the last.
HWY_NOINLINE __attribute__((noclone)) void write_run(const NormalizeWork& work,
                                                     const Operands& operands,
                                                     const Moments& moments,
                                                     const NormalizeWalk& walk, int64_t i,
                                                     int64_t lane, int64_t end) {
  constexpr float kNoScale = 1.0f;
  constexpr float kNoBias = 0.0f;
  const Floats d;
  int64_t at[3];
  for (int k = 0; k < 3; ++k)
    at[k] = walk.offsets[k] + i * walk.line_strides[k] + lane * work.lane_strides[k];
  const float* x = operands.x + at[kNormalizeX];
  float* y = operands.y + at[kNormalizeX];
  const float* scale = operands.scale == nullptr ? &kNoScale : operands.scale + at[kNormalizeScale];
  const float* bias = operands.bias == nullptr ? &kNoBias : operands.bias + at[kNormalizeBias];
  const int64_t scale_stride = work.lane_strides[kNormalizeScale];
  const int64_t bias_stride = work.lane_strides[kNormalizeBias];
  const int64_t count = end - lane;
  Vector mean = hn::Set(d, moments.means[0]);
  Vector factor = hn::Set(d, moments.factors[0]);
#pragma GCC unroll 1
  for (int64_t k = 0; k < count; k += kLanes) {
    if (moments.stride != 0) {
      mean = hn::LoadU(d, moments.means + k);
      factor = hn::LoadU(d, moments.factors + k);
    }
    const Vector v = hn::Mul(hn::Sub(load_lanes(d, x + k, count - k), mean), factor);
    const Vector result =
        hn::MulAdd(v, load_broadcast(scale + k * scale_stride, scale_stride, count - k),
                   load_broadcast(bias + k * bias_stride, bias_stride, count - k));
    store_lanes(d, result, y + k, count - k);
  }
  if (end == work.lanes)
    for (int64_t pad = 0; pad < work.pad; ++pad) y[count + pad] = 0.0f;
}

// Mean and sum of squared distances from it, of some elements or of all of a mean.
struct Spread {
  double count;
  double mean;
  double squares;
};

// As in Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", The American
// Statistician 37(3), 1983.
void join(Spread& all, const Spread& piece) {
  // The first piece, often the only one, needs no division.
  if (all.count == 0) {
    all = piece;
    return;
  }
  const double away = piece.mean - all.mean;
  const double count = all.count + piece.count;
  all.squares += piece.squares + away * away * (all.count * piece.count / count);
  all.mean += away * (piece.count / count);
  all.count = count;
}

struct RunMean {
  float mean;
  float factor;
};

RunMean mean_of(const NormalizeWork& work, const NormalizeParams& params, const Spread& spread) {
  const Vector squares = hn::Set(Floats(), static_cast<float>(spread.squares));
  return {static_cast<float>(spread.mean), hn::GetLane(factor_of(work, params.epsilon, squares))};
}

float pivot_of(const NormalizeParams& params, const float* x, int64_t count) {
  return params.is_rms != 0 ? 0.0f : mean_of_first(x, count);
}

Spread spread_of(const NormalizeParams& params, int64_t count, float pivot, const Sums& sums) {
  const double elements = static_cast<double>(count);
  if (params.is_rms != 0) return {elements, 0, static_cast<double>(sums.squares)};
  const double away = static_cast<double>(sums.distances) / elements;
  return {elements, static_cast<double>(pivot) + away,
          static_cast<double>(sums.squares) - away * static_cast<double>(sums.distances)};
}

// One mean over runs of elements that begin at `begin`, of pieces.
void normalize_runs(const NormalizeWork& work, const NormalizeParams& params,
                    const Operands& operands, const int64_t (&begin)[3]) {
  Spread all = {};
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i) {
      const float* x = operands.x + walk.offsets[kNormalizeX] + i * walk.line_strides[kNormalizeX];
      for (int64_t k = 0; k < work.lanes; k += kPieceElements) {
        const int64_t count = work.lanes - k < kPieceElements ? work.lanes - k : kPieceElements;
        const float pivot = pivot_of(params, x + k, count);
        join(all,
             spread_of(params, count, pivot, pass_over_runs<false, true>({}, x + k, pivot, count)));
      }
    }
  const RunMean run = mean_of(work, params, all);
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i) {
      if (!has_even_steps(work)) {
        write_run(work, operands, {&run.mean, &run.factor, 0}, walk, i, 0, work.lanes);
        continue;
      }
      int64_t at[3];
      for (int k = 0; k < 3; ++k) at[k] = walk.offsets[k] + i * walk.line_strides[k];
      EqualLanes equal;
      const RunResults to = results_at(work, operands, at, run.mean, run.factor, equal);
      pass_over_runs<true, false>(to, nullptr, 0.0f, work.lanes);
      zero_pad(work, to.y);
    }
}

// Means of one line each, of a piece at most. (Scalar code is there to be right.)
bool has_short_lines(const NormalizeWork& work) {
  return HWY_TARGET != HWY_SCALAR && work.reduced.count == 0 && work.lanes <= kPieceElements &&
         has_even_steps(work);
}

void normalize_lines(const NormalizeWork& work, const NormalizeParams& params,
                     const Operands& operands, Units units) {
  struct Line {
    int64_t at[3];
    float pivot;
    RunMean run;
  };
  Line lines[kRunsAhead + 1];
  // The pivot's memory is asked for a line early, too.
  const auto begin_line = [&](int64_t unit) {
    Line& line = lines[unit % (kRunsAhead + 1)];
    line = {};
    work.kept.add_offsets(unit, line.at);
    line.pivot = pivot_of(params, operands.x + line.at[kNormalizeX], work.lanes);
  };
  begin_line(units.begin);
  for (int64_t unit = units.begin; unit < units.end + kRunsAhead; ++unit) {
    const bool has_sums = unit < units.end;
    Line& line = lines[unit % (kRunsAhead + 1)];
    const float* x = operands.x + line.at[kNormalizeX];
    Sums sums = {};
    if (unit - kRunsAhead < units.begin) {
      if (has_sums) sums = pass_over_runs<false, true>({}, x, line.pivot, work.lanes);
    } else {
      EqualLanes equal;
      const Line& done = lines[(unit - kRunsAhead) % (kRunsAhead + 1)];
      const RunResults to =
          results_at(work, operands, done.at, done.run.mean, done.run.factor, equal);
      sums = has_sums ? pass_over_runs<true, true>(to, x, line.pivot, work.lanes)
                      : pass_over_runs<true, false>(to, nullptr, 0.0f, work.lanes);
      zero_pad(work, to.y);
    }
    if (!has_sums) continue;
    line.run = mean_of(work, params, spread_of(params, work.lanes, line.pivot, sums));
    if (unit + 1 < units.end) begin_line(unit + 1);
  }
}

// Vectors of neighbouring columns that are computed at once: so many lines of memory that follow
// each other are read together. It does not change what is added to what.
constexpr int kColumnVectors = 4;
// Lines of which each has its own sums, so that additions need not wait for each other: 16
// registers hold the pivots and the sums of one.
constexpr int kLinesAtOnce = HWY_TARGET == HWY_AVX2 ? 1 : 2;

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
    for (int64_t i = 0; i < walk.line_count; i += kPieceLines) {
      const int64_t rest = walk.line_count - i;
      const int64_t lines = rest < kPieceLines ? rest : kPieceLines;
      Vector pivot[kVectors];
      Vector distance_sums[kLinesAtOnce][kVectors];
      Vector square_sums[kLinesAtOnce][kVectors];
      const int64_t pivot_lines = lines < kPivotLines ? lines : kPivotLines;
      const Vector pivot_share = hn::Set(d, is_rms ? 0.0f : 1.0f / static_cast<float>(pivot_lines));
      for (int v = 0; v < kVectors; ++v) {
        pivot[v] = hn::Zero(d);
        for (int line = 0; line < kLinesAtOnce; ++line)
          distance_sums[line][v] = square_sums[line][v] = hn::Zero(d);
      }
      for (int64_t line = 0; line < pivot_lines; ++line)
        for (int v = 0; v < kVectors; ++v)
          pivot[v] = hn::Add(pivot[v], load_column<kVectors>(columns, x + line * stride, v));
      for (int v = 0; v < kVectors; ++v) pivot[v] = hn::Mul(pivot[v], pivot_share);
      const auto add_line = [&](int to) HWY_ATTR {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const Vector away = hn::Sub(load_column<kVectors>(columns, x, v), pivot[v]);
          distance_sums[to][v] = hn::Add(distance_sums[to][v], away);
          square_sums[to][v] = hn::MulAdd(away, away, square_sums[to][v]);
        }
        x += stride;
      };
      int64_t line = 0;
      for (; line + kLinesAtOnce <= lines; line += kLinesAtOnce)
#pragma GCC unroll 2
        for (int to = 0; to < kLinesAtOnce; ++to) add_line(to);
      if (line < lines) add_line(0);
      const double all = seen + static_cast<double>(lines);
      const Vector share = hn::Set(d, 1.0f / static_cast<float>(lines));
      const Vector mean_share = hn::Set(d, static_cast<float>(static_cast<double>(lines) / all));
      const Vector square_share =
          hn::Set(d, static_cast<float>(seen * static_cast<double>(lines) / all));
      for (int v = 0; v < kVectors; ++v) {
        Vector distances = distance_sums[0][v];
        Vector piece_squares = square_sums[0][v];
        if constexpr (kLinesAtOnce == 2) {
          distances = hn::Add(distances, distance_sums[1][v]);
          piece_squares = hn::Add(piece_squares, square_sums[1][v]);
        }
        if (is_rms) distances = hn::Zero(d);
        const Vector pivot_away = hn::Mul(distances, share);
        piece_squares = hn::NegMulAdd(pivot_away, distances, piece_squares);
        const Vector away = hn::Sub(hn::Add(pivot[v], pivot_away), mean[v]);
        square[v] = hn::Add(square[v], piece_squares);
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
  // 32 channels are common.
  if (HWY_TARGET == HWY_AVX3 && end - lane >= 2 * kLanes) {
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
  if (units.begin < units.end && !work.has_kept_lanes && has_short_lines(work))
    return normalize_lines(work, params, operands, units);
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
