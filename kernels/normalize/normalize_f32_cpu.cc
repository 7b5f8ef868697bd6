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
// Lines of columns that the pivot of a piece is made of.
constexpr int64_t kPivotLines = 4;
// Elements of a run that one piece is made of, and vectors of its pivot: 128 elements.
constexpr int64_t kPieceElements = 2048;
constexpr int64_t kPivotVectors = 128 / kLanes;
// Where a mean is of one line, a line is written so many lines behind the one that is summed up: a
// division, a root and a division follow each other there, for which a core that looks a few
// hundred instructions ahead would wait at every line. And the elements of as many lines: those
// summed up, those that become results meanwhile and the results are to stay in the first-level
// cache.
constexpr int64_t kMostLag = 4;
constexpr int64_t kLinesElements = 2048;
// Lines at once share loads of scale and bias. 16 registers do not hold the sums of two.
constexpr int kMostLinesAtOnce = HWY_TARGET == HWY_AVX2 ? 1 : 2;

struct Operands {
  const float* x;
  const float* scale;  // null: none
  const float* bias;
  float* y;
};

// What rounding made negative is zero; a NaN stays one.
template <class D>
HWY_INLINE hn::Vec<D> factor_of(D d, const NormalizeWork& work, float epsilon,
                                hn::Vec<D> sum_of_squares) {
  const auto squares = at_least(sum_of_squares, hn::Zero(d));
  const auto variance = hn::Div(squares, hn::Set(d, static_cast<float>(work.element_count)));
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
  Vector even = hn::LoadU(d, x);
  Vector odd = hn::LoadU(d, x + kLanes);
#pragma GCC unroll 4
  for (int64_t i = 2; i < kPivotVectors; i += 2) {
    even = hn::Add(even, hn::LoadU(d, x + i * kLanes));
    odd = hn::Add(odd, hn::LoadU(d, x + (i + 1) * kLanes));
  }
  return sum_of_lanes(hn::Add(even, odd)) * (1.0f / static_cast<float>(kPivotVectors * kLanes));
}

// The sums of distances from a pivot, and of their squares.
struct Sums {
  float distances;
  float squares;
};

// Vectors of a run at once, each with its own sums, so that additions need not wait for each other.
constexpr int kRunVectors = 4;

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

// A run of elements of one mean. Results are (x - mean) * factor, then times the scale and plus the
// bias. Where the run has one scale, factor has it in it; where one bias, it is the shift.
struct Run {
  const float* x;
  float* y;
  const float* scale;  // of each element; null: one
  const float* bias;   // null if scale is
  float one_scale;
  float shift;
  float mean;
  float factor;
  Spread spread;  // of the pieces that are summed up
  float pivot;    // of the next piece
  Sums sums;      // of the last one
};

// Of the scale and the bias, so many differ from element to element.
enum RunVectors { kNoVectors, kScaleVectors, kScaleAndBiasVectors };

// One pass over elements [begin, end) of kRuns times two runs: writes the results of the ones and
// sums up the distances from the pivots of the others, in an order that does not depend on kRuns
// nor on whether it does both. All results have the scale, and the bias, of the first.
template <int kRuns, bool kWrites, bool kSums, RunVectors kVectors>
HWY_NOINLINE void pass_over_runs(const Run* const* written, Run* const* summed, int64_t begin,
                                 int64_t end) {
  const Floats d;
  // Copies: a store to y could change a run for all that the compiler knows.
  const float* scales = kWrites ? written[0]->scale : nullptr;
  const float* biases = kWrites ? written[0]->bias : nullptr;
  const float* x[kRuns];
  float* y[kRuns];
  const float* from[kRuns];
  Vector mean[kRuns];
  Vector factor[kRuns];
  Vector shift[kRuns];
  Vector pivot[kRuns];
  Vector distances[kRuns][kRunVectors];
  Vector squares[kRuns][kRunVectors];
#pragma GCC unroll 2
  for (int run = 0; run < kRuns; ++run) {
    if constexpr (kWrites) {
      x[run] = written[run]->x;
      y[run] = written[run]->y;
      mean[run] = hn::Set(d, written[run]->mean);
      factor[run] = hn::Set(d, written[run]->factor);
      shift[run] = hn::Set(d, written[run]->shift);
    }
    if constexpr (kSums) {
      from[run] = summed[run]->x;
      pivot[run] = hn::Set(d, summed[run]->pivot);
#pragma GCC unroll 4
      for (int i = 0; i < kRunVectors; ++i) distances[run][i] = squares[run][i] = hn::Zero(d);
    }
  }
  // `lanes` elements from the k-th on, with the i-th sums.
  const auto pass = [&](int64_t k, int i, int64_t lanes) HWY_ATTR {
    const auto load = [=](const float* all) HWY_ATTR { return load_lanes(d, all + k, lanes); };
    if constexpr (kSums) {
#pragma GCC unroll 2
      for (int run = 0; run < kRuns; ++run) {
        const Vector away = keep_lanes(d, hn::Sub(load(from[run]), pivot[run]), lanes);
        distances[run][i] = hn::Add(distances[run][i], away);
        squares[run][i] = hn::MulAdd(away, away, squares[run][i]);
      }
    }
    if constexpr (kWrites) {
      const Vector scale = kVectors != kNoVectors ? load(scales) : hn::Zero(d);
      const Vector bias = kVectors == kScaleAndBiasVectors ? load(biases) : hn::Zero(d);
#pragma GCC unroll 2
      for (int run = 0; run < kRuns; ++run) {
        const Vector away = hn::Sub(load(x[run]), mean[run]);
        const Vector added = kVectors == kScaleAndBiasVectors ? bias : shift[run];
        const Vector result = kVectors != kNoVectors
                                  ? hn::MulAdd(hn::Mul(away, factor[run]), scale, added)
                                  : hn::MulAdd(away, factor[run], added);
        store_lanes(d, result, y[run] + k, lanes);
      }
    }
  };
  int64_t k = begin;
  for (; k + kRunVectors * kLanes <= end; k += kRunVectors * kLanes)
#pragma GCC unroll 4
    for (int i = 0; i < kRunVectors; ++i) pass(k + i * kLanes, i, kLanes);
#pragma GCC unroll 1
  for (; k + kLanes <= end; k += kLanes) pass(k, 0, kLanes);
  if (k < end) pass(k, 0, end - k);
  if constexpr (kSums) {
    const auto of_lanes = [](const Vector* parts) HWY_ATTR {
      return sum_of_lanes(hn::Add(hn::Add(parts[0], parts[1]), hn::Add(parts[2], parts[3])));
    };
#pragma GCC unroll 2
    for (int run = 0; run < kRuns; ++run)
      summed[run]->sums = {of_lanes(distances[run]), of_lanes(squares[run])};
  }
}

template <RunVectors kVectors>
auto pass_with(int runs, bool sums_up) {
  return runs == 2 ? pass_over_runs<2, true, true, kVectors>
         : sums_up ? pass_over_runs<1, true, true, kVectors>
                   : pass_over_runs<1, true, false, kVectors>;
}

// The same. Null, for one run: nothing to write, or to sum up.
void pass_over(int runs, const Run* const* written, Run* const* summed, int64_t begin,
               int64_t end) {
  const bool sums_up = summed != nullptr;
  const auto pass = written == nullptr             ? pass_over_runs<1, false, true, kNoVectors>
                    : written[0]->scale == nullptr ? pass_with<kNoVectors>(runs, sums_up)
                    : written[0]->bias == nullptr  ? pass_with<kScaleVectors>(runs, sums_up)
                                                   : pass_with<kScaleAndBiasVectors>(runs, sums_up);
  pass(written, summed, begin, end);
}

// True if pass_over() can write the results.
bool has_even_steps(const NormalizeWork& work) {
  const int64_t scale = work.lane_strides[kNormalizeScale];
  const int64_t bias = work.lane_strides[kNormalizeBias];
  return scale <= 1 && bias <= scale;
}

// The run at `at`, without a mean. (No runs are returned or copied: the parts of one are written
// just before, and a load of several has to wait for all stores.)
void begin_run(const NormalizeWork& work, const Operands& operands, const int64_t (&at)[3],
               Run& run) {
  run.x = operands.x + at[kNormalizeX];
  run.y = operands.y + at[kNormalizeX];
  const float* scale = operands.scale == nullptr ? nullptr : operands.scale + at[kNormalizeScale];
  const float* bias = operands.bias == nullptr ? nullptr : operands.bias + at[kNormalizeBias];
  run.scale = work.lane_strides[kNormalizeScale] != 0 ? scale : nullptr;
  run.bias = work.lane_strides[kNormalizeBias] != 0 ? bias : nullptr;
  run.one_scale = scale != nullptr && run.scale == nullptr ? *scale : 1.0f;
  run.shift = bias != nullptr && run.bias == nullptr ? *bias : 0.0f;
  run.spread = {};
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

float pivot_of(const NormalizeParams& params, const float* x, int64_t count) {
  return params.is_rms != 0 ? 0.0f : mean_of_first(x, count);
}

// Elements of a piece that begins with element `begin` of a run.
int64_t piece_at(const NormalizeWork& work, int64_t begin) {
  return work.lanes - begin < kPieceElements ? work.lanes - begin : kPieceElements;
}

void begin_piece(const NormalizeWork& work, const NormalizeParams& params, int64_t begin,
                 Run& run) {
  run.pivot = pivot_of(params, run.x + begin, piece_at(work, begin));
}

// Joins the piece that was summed up.
void end_piece(const NormalizeParams& params, int64_t count, Run& run) {
  const double elements = static_cast<double>(count);
  const double squares = static_cast<double>(run.sums.squares);
  if (params.is_rms != 0) return join(run.spread, {elements, 0, squares});
  const double distances = static_cast<double>(run.sums.distances);
  const double away = distances / elements;
  join(run.spread, {elements, static_cast<double>(run.pivot) + away, squares - away * distances});
}

struct RunMean {
  float mean;
  float factor;
};

RunMean mean_of(const NormalizeWork& work, const NormalizeParams& params, const Spread& spread) {
  // Divisions of a short vector take less.
  const hn::CappedTag<float, 4> d;
  const auto squares = hn::Set(d, static_cast<float>(spread.squares));
  return {static_cast<float>(spread.mean),
          hn::GetLane(factor_of(d, work, params.epsilon, squares))};
}

void set_mean(const RunMean& of, Run& run) {
  run.mean = of.mean;
  run.factor = of.factor * run.one_scale;
}

// One mean over runs of elements that begin at `begin`, of pieces.
void normalize_runs(const NormalizeWork& work, const NormalizeParams& params,
                    const Operands& operands, const int64_t (&begin)[3]) {
  Run run = {};
  Run* const runs[] = {&run};
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i) {
      run.x = operands.x + walk.offsets[kNormalizeX] + i * walk.line_strides[kNormalizeX];
      for (int64_t k = 0; k < work.lanes; k += kPieceElements) {
        const int64_t count = piece_at(work, k);
        begin_piece(work, params, k, run);
        pass_over(1, nullptr, runs, k, k + count);
        end_piece(params, count, run);
      }
    }
  const RunMean mean = mean_of(work, params, run.spread);
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i) {
      if (!has_even_steps(work)) {
        write_run(work, operands, {&mean.mean, &mean.factor, 0}, walk, i, 0, work.lanes);
        continue;
      }
      int64_t at[3];
      for (int k = 0; k < 3; ++k) at[k] = walk.offsets[k] + i * walk.line_strides[k];
      begin_run(work, operands, at, run);
      set_mean(mean, run);
      pass_over(1, runs, nullptr, 0, work.lanes);
      zero_pad(work, run.y);
    }
}

// Means of one line each. (Scalar code is there to be right.)
bool has_single_lines(const NormalizeWork& work) {
  return HWY_TARGET != HWY_SCALAR && work.reduced.count == 0 && has_even_steps(work);
}

// Writes some lines and sums up as many, piece by piece but for the end of the last. Null, for one
// line: none.
void pass_over_lines(const NormalizeWork& work, const NormalizeParams& params, int count,
                     const Run* const* written, Run* const* summed) {
  for (int64_t k = 0; k < work.lanes; k += kPieceElements) {
    for (int i = 0; i < count && summed != nullptr && k != 0; ++i) {
      end_piece(params, kPieceElements, *summed[i]);
      begin_piece(work, params, k, *summed[i]);
    }
    pass_over(count, written, summed, k, k + piece_at(work, k));
  }
  for (int i = 0; i < count && written != nullptr; ++i) zero_pad(work, written[i]->y);
}

// True if every line has the same scale and bias where they differ from element to element.
bool shares_vectors(const NormalizeWork& work) {
  for (int32_t i = 0; i < work.kept.count; ++i)
    for (int which : {kNormalizeScale, kNormalizeBias})
      if (work.lane_strides[which] != 0 && work.kept.strides[i][which] != 0) return false;
  return true;
}

void normalize_lines(const NormalizeWork& work, const NormalizeParams& params,
                     const Operands& operands, Units units) {
  const int64_t fitting = kLinesElements / work.lanes;
  const int64_t lag = fitting < 1 ? 1 : fitting < kMostLag ? fitting : kMostLag;
  const int at_once = lag >= kMostLinesAtOnce && shares_vectors(work) ? kMostLinesAtOnce : 1;
  const int64_t last_count = piece_at(work, (work.lanes - 1) / kPieceElements * kPieceElements);
  // From those that are written to those that are summed up.
  constexpr int64_t kRuns = kMostLag + kMostLinesAtOnce;
  Run runs[kRuns];
  const auto run_of = [&](int64_t unit) { return &runs[unit % kRuns]; };
  int64_t begun = units.begin;
  int64_t ended = units.begin;
  int count = 1;
  for (int64_t unit = units.begin; unit < units.end + lag; unit += count) {
    for (; begun < units.end && begun < unit + at_once; ++begun) {
      Run& run = *run_of(begun);
      int64_t at[3] = {};
      work.kept.add_offsets(begun, at);
      begin_run(work, operands, at, run);
      begin_piece(work, params, 0, run);
    }
    const bool writes = unit - lag >= units.begin;
    const bool sums_up = unit < units.end;
    count = writes && unit + at_once <= units.end ? at_once : 1;
    const Run* written[kMostLinesAtOnce];
    Run* summed[kMostLinesAtOnce];
    for (int i = 0; i < count; ++i) {
      written[i] = writes ? run_of(unit + i - lag) : nullptr;
      summed[i] = run_of(unit + i);
    }
    if (writes || sums_up)
      pass_over_lines(work, params, count, writes ? written : nullptr, sums_up ? summed : nullptr);
    // Those that the next pass writes.
    for (; ended < units.end && ended < unit + count - lag + at_once; ++ended) {
      Run& run = *run_of(ended);
      end_piece(params, last_count, run);
      set_mean(mean_of(work, params, run.spread), run);
    }
  }
}

// Vectors of neighbouring columns that are computed at once: so many lines of memory that follow
// each other are read together. It does not change what is added to what.
constexpr int kColumnVectors = HWY_TARGET == HWY_SCALAR ? 1 : 4;
// Lines of which each has its own sums, so that additions need not wait for each other: 16
// registers hold the pivots and the sums of one.
constexpr int kLinesAtOnce = HWY_TARGET == HWY_AVX2 ? 1 : 2;

// Columns from `lane` on: some vectors, the last with `last_lanes` lanes.
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

// The lanes that are worked on together: line by line where they are many vectors, so that memory
// is read and written in order. Numbers of each, from the first on, a vector's worth behind the
// last.
constexpr int64_t kBandLanes = 256;
struct Band {
  int64_t lane;
  int64_t end;
  HWY_ALIGN float means[kBandLanes + kLanes];
  HWY_ALIGN float squares[kBandLanes + kLanes];  // of distances from the mean; then factors
  HWY_ALIGN float shifts[kBandLanes + kLanes];
};

// Calls work(a Vectors<how many>, its columns, the first one's number) for the vectors of a band.
template <int kVectors>
struct Vectors {
  static constexpr int kCount = kVectors;
};
template <class Work>
HWY_INLINE void for_columns(const Band& band, Work work) {
  int64_t lane = band.lane;
  for (; band.end - lane >= kColumnVectors * kLanes; lane += kColumnVectors * kLanes)
    work(Vectors<kColumnVectors>(), Columns{lane, kLanes}, lane - band.lane);
  // 32 channels are common.
  if (HWY_TARGET == HWY_AVX3 && band.end - lane >= 2 * kLanes) {
    work(Vectors<2>(), Columns{lane, kLanes}, lane - band.lane);
    lane += 2 * kLanes;
  }
  for (; lane < band.end; lane += kLanes)
    work(Vectors<1>(), Columns{lane, band.end - lane < kLanes ? band.end - lane : kLanes},
         lane - band.lane);
}

// Some lines of a walk, from column 0.
struct Lines {
  const float* x;
  int64_t stride;
  int64_t count;
};

// Adds a piece to means and sums of squared distances of columns, which are of `seen` lines.
template <int kVectors>
HWY_NOINLINE void add_piece(const Lines& lines, const Columns& columns, bool is_rms, double seen,
                            float* means, float* squares) {
  const Floats d;
  const float* x = lines.x + columns.lane;
  const int64_t stride = lines.stride;
  Vector pivot[kVectors];
  Vector distance_sums[kLinesAtOnce][kVectors];
  Vector square_sums[kLinesAtOnce][kVectors];
  // None of a mean square, so that an infinity does not become NaN.
  const int64_t few_lines = lines.count < kPivotLines ? lines.count : kPivotLines;
  const int64_t pivot_lines = is_rms ? 0 : few_lines;
  const Vector pivot_share = hn::Set(d, is_rms ? 0.0f : 1.0f / static_cast<float>(pivot_lines));
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    pivot[v] = hn::Zero(d);
#pragma GCC unroll 2
    for (int line = 0; line < kLinesAtOnce; ++line)
      distance_sums[line][v] = square_sums[line][v] = hn::Zero(d);
  }
  for (int64_t line = 0; line < pivot_lines; ++line)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      pivot[v] = hn::Add(pivot[v], load_column<kVectors>(columns, x + line * stride, v));
#pragma GCC unroll 4
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
  for (; line + kLinesAtOnce <= lines.count; line += kLinesAtOnce)
#pragma GCC unroll 2
    for (int to = 0; to < kLinesAtOnce; ++to) add_line(to);
  if (line < lines.count) add_line(0);
  const double count = static_cast<double>(lines.count);
  const double all = seen + count;
  const Vector share = hn::Set(d, 1.0f / static_cast<float>(lines.count));
  const Vector mean_share = hn::Set(d, static_cast<float>(count / all));
  const Vector square_share = hn::Set(d, static_cast<float>(seen * count / all));
#pragma GCC unroll 4
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
    const Vector mean = hn::LoadU(d, means + v * kLanes);
    const Vector away = hn::Sub(hn::Add(pivot[v], pivot_away), mean);
    const Vector square = hn::Add(hn::LoadU(d, squares + v * kLanes), piece_squares);
    hn::StoreU(hn::MulAdd(hn::Mul(away, away), square_share, square), d, squares + v * kLanes);
    hn::StoreU(hn::MulAdd(away, mean_share, mean), d, means + v * kLanes);
  }
}

// Adds lines to the band's means and sums of squares, which are of `seen` lines, piece by piece as
// in normalize_runs().
HWY_NOINLINE void add_lines(Lines lines, bool is_rms, double* seen, Band& band) {
  Lines piece = {lines.x, lines.stride, 0};
  for (int64_t rest = lines.count; rest > 0; rest -= piece.count) {
    piece.count = rest < kNormalizePieceLines ? rest : kNormalizePieceLines;
    for_columns(band, [&](auto vectors, const Columns& columns, int64_t number) {
      add_piece<decltype(vectors)::kCount>(piece, columns, is_rms, *seen, band.means + number,
                                           band.squares + number);
    });
    *seen += static_cast<double>(piece.count);
    piece.x += piece.count * piece.stride;
  }
}

// (Not all of it: a block of lines takes a microsecond.)
void clear(Band& band) {
  const Floats d;
  for (int64_t i = 0; i < band.end - band.lane; i += kLanes) {
    hn::Store(hn::Zero(d), d, band.means + i);
    hn::Store(hn::Zero(d), d, band.squares + i);
  }
}

// The means of columns over the lines, and the sums of squared distances from them.
void moments_of_band(const NormalizeWork& work, const Operands& operands, const int64_t (&begin)[3],
                     bool is_rms, Band& band) {
  clear(band);
  double seen = 0;
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    add_lines(
        {operands.x + walk.offsets[kNormalizeX], walk.line_strides[kNormalizeX], walk.line_count},
        is_rms, &seen, band);
}

// Results are fetched so many lines before they are written: with stores alone, too few cache lines
// are on their way from the second-level cache.
constexpr int64_t kLinesAhead = 4;
constexpr int64_t kLineFloats = 16;  // of a cache line

// All that is written where scale and bias are the same on every line: (x - mean) * factor + shift.
template <int kVectors>
HWY_NOINLINE void write_columns(const Lines& lines, float* y, const Columns& columns,
                                const Band& band, int64_t number) {
  const Floats d;
  const int64_t stride = lines.stride;
  Vector mean[kVectors];
  Vector factor[kVectors];
  Vector shift[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    mean[v] = hn::LoadU(d, band.means + number + v * kLanes);
    factor[v] = hn::LoadU(d, band.squares + number + v * kLanes);
    shift[v] = hn::LoadU(d, band.shifts + number + v * kLanes);
  }
  const float* x = lines.x + columns.lane;
  y += columns.lane;
  for (int64_t i = 0; i < lines.count; ++i, x += stride, y += stride)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if (v * kLanes % kLineFloats == 0)
        __builtin_prefetch(y + kLinesAhead * stride + v * kLanes, 1, 3);
      const Vector away = hn::Sub(load_column<kVectors>(columns, x, v), mean[v]);
      const Vector result = hn::MulAdd(away, factor[v], shift[v]);
      if (v + 1 < kVectors)
        hn::StoreU(result, d, y + v * kLanes);
      else
        store_lanes(d, result, y + v * kLanes, columns.last_lanes);
    }
}

// Lines whose columns are all written before those of the next ones.
constexpr int64_t kWrittenLines = 32;

// The results of the band's columns of `all` lines.
HWY_NOINLINE void write_lines(const NormalizeWork& work, Lines all, float* y, const Band& band) {
  const int64_t pad = band.end == work.lanes ? work.pad : 0;
  Lines lines = {all.x, all.stride, 0};
  for (int64_t rest = all.count; rest > 0; rest -= lines.count) {
    lines.count = rest < kWrittenLines ? rest : kWrittenLines;
    for_columns(band, [&](auto vectors, const Columns& columns, int64_t number) {
      write_columns<decltype(vectors)::kCount>(lines, y, columns, band, number);
    });
    for (int64_t i = 0; i < lines.count && pad > 0; ++i)
      for (int64_t k = 0; k < pad; ++k) y[i * lines.stride + band.end + k] = 0.0f;
    lines.x += lines.count * lines.stride;
    y += lines.count * lines.stride;
  }
}

void write_band(const NormalizeWork& work, const Operands& operands, const int64_t (&begin)[3],
                const Band& band) {
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    write_lines(
        work,
        {operands.x + walk.offsets[kNormalizeX], walk.line_strides[kNormalizeX], walk.line_count},
        operands.y + walk.offsets[kNormalizeX], band);
}

// True if scale and bias are the same on every line.
bool has_even_lines(const NormalizeWork& work) {
  for (int32_t i = 0; i < work.reduced.count; ++i)
    if (work.reduced.strides[i][kNormalizeScale] != 0 ||
        work.reduced.strides[i][kNormalizeBias] != 0)
      return false;
  return true;
}

// Squares become factors, with the scale in them where it is the same on every line.
void finish_moments(const NormalizeWork& work, const NormalizeParams& params,
                    const Operands& operands, const int64_t (&begin)[3], bool has_scale,
                    Band& band) {
  const Floats d;
  for (int64_t lane = band.lane; lane < band.end; lane += kLanes) {
    const auto of_columns = [&](const float* from, int k) HWY_ATTR {
      const int64_t stride = work.lane_strides[k];
      return load_broadcast(from + begin[k] + lane * stride, stride, band.end - lane);
    };
    float* at = band.squares + (lane - band.lane);
    Vector factor = factor_of(d, work, params.epsilon, hn::LoadU(d, at));
    Vector shift = hn::Zero(d);
    if (has_scale && operands.scale != nullptr)
      factor = hn::Mul(factor, of_columns(operands.scale, kNormalizeScale));
    if (has_scale && operands.bias != nullptr) shift = of_columns(operands.bias, kNormalizeBias);
    hn::StoreU(factor, d, at);
    hn::StoreU(shift, d, band.shifts + (lane - band.lane));
  }
}

// The means of lanes [lane, end).
void normalize_lanes(const NormalizeWork& work, const NormalizeParams& params,
                     const Operands& operands, const int64_t (&begin)[3], int64_t lane,
                     int64_t end) {
  const bool is_even = has_even_lines(work);
  Band band;
  for (band.lane = lane; band.lane < end; band.lane = band.end) {
    band.end = end - band.lane < kBandLanes ? end : band.lane + kBandLanes;
    moments_of_band(work, operands, begin, params.is_rms != 0, band);
    finish_moments(work, params, operands, begin, is_even, band);
    if (is_even) {
      write_band(work, operands, begin, band);
      continue;
    }
    const Moments moments = {band.means, band.squares, 1};
    for (NormalizeWalk walk(work.reduced, begin); walk.next();)
      for (int64_t i = 0; i < walk.line_count; ++i)
        write_run(work, operands, moments, walk, i, band.lane, band.end);
  }
}

// A map's lines from a block on, in one of two phases; all lanes.
struct LineBlocks {
  const NormalizeWork& work;
  const NormalizeParams& params;
  const Operands& operands;
  float* moments;    // of the map: by block the means of all lanes, and the sums of squares
  int64_t begin[3];  // of the map
  int64_t block;
  int64_t block_end;

  float* means_of(int64_t of_block) const {
    return moments + of_block * 2 * normalize_moments(work);
  }
  int64_t lines_of(int64_t of_block) const {
    const int64_t rest = work.reduced.extents[0] - of_block * work.lines_per_block;
    return rest < work.lines_per_block ? rest : work.lines_per_block;
  }
  int64_t place_of(int64_t of_block) const {
    return begin[kNormalizeX] +
           of_block * work.lines_per_block * work.reduced.strides[0][kNormalizeX];
  }
};

// Copies the vectors of a band's columns.
void copy_columns(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += kLanes)
    hn::StoreU(hn::LoadU(Floats(), from + i), Floats(), to + i);
}

// The last block first: a cache that cannot hold all may have the end of what the step before
// wrote, and write_blocks() then finds the beginning there.
void sum_up_blocks(const LineBlocks& blocks, Band& band) {
  const NormalizeWork& work = blocks.work;
  const int64_t stride = work.reduced.strides[0][kNormalizeX];
  for (int64_t block = blocks.block_end - 1; block >= blocks.block; --block)
    for (band.lane = 0; band.lane < work.lanes; band.lane = band.end) {
      band.end = work.lanes - band.lane < kBandLanes ? work.lanes : band.lane + kBandLanes;
      clear(band);
      double seen = 0;
      add_lines({blocks.operands.x + blocks.place_of(block), stride, blocks.lines_of(block)},
                blocks.params.is_rms != 0, &seen, band);
      float* means = blocks.means_of(block) + band.lane;
      copy_columns(band.means, band.end - band.lane, means);
      copy_columns(band.squares, band.end - band.lane, means + normalize_moments(work));
    }
}

// The band's means and sums of squares of the whole map: join() of all blocks, in their order.
void join_blocks(const LineBlocks& blocks, Band& band) {
  const Floats d;
  const NormalizeWork& work = blocks.work;
  clear(band);
  double seen = 0;
  for (int64_t block = 0; block < work.line_blocks; ++block) {
    const float* means = blocks.means_of(block) + band.lane;
    const float* squares = means + normalize_moments(work);
    const auto count = static_cast<double>(blocks.lines_of(block));
    const double all = seen + count;
    const Vector mean_share = hn::Set(d, static_cast<float>(count / all));
    const Vector square_share = hn::Set(d, static_cast<float>(seen * count / all));
    for (int64_t i = 0; i < band.end - band.lane; i += kLanes) {
      const Vector mean = hn::Load(d, band.means + i);
      const Vector away = hn::Sub(hn::LoadU(d, means + i), mean);
      const Vector sum = hn::Add(hn::Load(d, band.squares + i), hn::LoadU(d, squares + i));
      hn::Store(hn::MulAdd(hn::Mul(away, away), square_share, sum), d, band.squares + i);
      hn::Store(hn::MulAdd(away, mean_share, mean), d, band.means + i);
    }
    seen = all;
  }
}

void write_blocks(const LineBlocks& blocks, Band& band) {
  const NormalizeWork& work = blocks.work;
  const int64_t stride = work.reduced.strides[0][kNormalizeX];
  int64_t lines = 0;
  for (int64_t block = blocks.block; block < blocks.block_end; ++block)
    lines += blocks.lines_of(block);
  const int64_t place = blocks.place_of(blocks.block);
  for (band.lane = 0; band.lane < work.lanes; band.lane = band.end) {
    band.end = work.lanes - band.lane < kBandLanes ? work.lanes : band.lane + kBandLanes;
    join_blocks(blocks, band);
    finish_moments(work, blocks.params, blocks.operands, blocks.begin, true, band);
    write_lines(work, {blocks.operands.x + place, stride, lines}, blocks.operands.y + place, band);
  }
}

// Units of blocks of lines, map by map.
void run_line_blocks(const KernelArgs& args, const NormalizeWork& work, const Operands& operands,
                     const Units& units) {
  Band band;
  for (int64_t unit = units.begin; unit < units.end;) {
    const int64_t map = unit / work.line_blocks;
    const int64_t map_end = (map + 1) * work.line_blocks;
    const int64_t end = map_end < units.end ? map_end : units.end;
    LineBlocks blocks = {
        .work = work,
        .params = args.params_as<NormalizeParams>(),
        .operands = operands,
        .moments =
            static_cast<float*>(args.shared) + map * work.line_blocks * 2 * normalize_moments(work),
        .begin = {},
        .block = unit - map * work.line_blocks,
        .block_end = end - map * work.line_blocks,
    };
    work.kept.add_offsets(map, blocks.begin);
    if (args.phase == 0)
      sum_up_blocks(blocks, band);
    else
      write_blocks(blocks, band);
    unit = end;
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
  if (work.line_blocks > 0) return run_line_blocks(args, work, operands, units);
  if (units.begin < units.end && !work.has_kept_lanes && has_single_lines(work))
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
