// Computes means along the innermost axis of the memory: each goes through runs of elements. This
// is Highway code, compiled once per target.
#if defined(CODL_KERNELS_NORMALIZE_NORMALIZE_RUNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_NORMALIZE_NORMALIZE_RUNS_INL_H
#undef CODL_KERNELS_NORMALIZE_NORMALIZE_RUNS_INL_H
#else
#define CODL_KERNELS_NORMALIZE_NORMALIZE_RUNS_INL_H
#endif

#include "kernels/normalize/normalize_moments-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
// Distances are taken from the mean of a piece's first elements. Let k of n elements have the mean
// p: then the sum of all squared distances from the mean m is at least k (p - m)^2, and that from p
// is more by n (p - m)^2. So the difference has lost log2(1 + n / k) bits at most: 5 to 7, in the
// worst case.
//

// One piece is made of so many elements of a run, and its pivot of so many vectors: 128 elements.
constexpr int64_t kPieceElements = 2048;
constexpr int64_t kPivotVectors = 128 / kLanes;

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

// Adds up distances from a pivot, and their squares.
struct Sums {
  float distances;
  float squares;
};

// So many vectors of a run are computed at once, each with its own sums, so that additions need not
// wait for each other.
constexpr int kRunVectors = 4;

// Mean and sum of squared distances from it, of some elements or of all of a mean.
struct Spread {
  double count;
  double mean;
  double squares;
};

// The formula is that of Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance",
// The American Statistician 37(3), 1983.
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
  const float* scale;  // one per element; null if there is a single one
  const float* bias;   // null if scale is
  float one_scale;
  float shift;
  float mean;
  float factor;
  Spread spread;  // the pieces that are summed up
  float pivot;    // pivot of the next piece
  Sums sums;      // sums of the last piece
};

// Says which of the scale and the bias differ from element to element.
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
  // Passes over `lanes` elements from the k-th on, with the i-th sums.
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

// Does the same. For one run, null means that there is nothing to write, or to sum up.
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

// The run at `at`, without a mean; `x` and `y` are floats. (No runs are returned or copied: the
// parts of one are written just before, and a load of several has to wait for all stores.)
void begin_run(const NormalizeWork& work, const Operands& operands, const int64_t (&at)[3],
               const float* x, float* y, Run& run) {
  run.x = x;
  run.y = y;
  const float* scale = operands.scale == nullptr ? nullptr : operands.scale + at[kNormalizeScale];
  const float* bias = operands.bias == nullptr ? nullptr : operands.bias + at[kNormalizeBias];
  run.scale = work.lane_strides[kNormalizeScale] != 0 ? scale : nullptr;
  run.bias = work.lane_strides[kNormalizeBias] != 0 ? bias : nullptr;
  run.one_scale = scale != nullptr && run.scale == nullptr ? *scale : 1.0f;
  run.shift = bias != nullptr && run.bias == nullptr ? *bias : 0.0f;
  run.spread = {};
}

float pivot_of(const NormalizeParams& params, const float* x, int64_t count) {
  return params.is_rms != 0 ? 0.0f : mean_of_first(x, count);
}

// Returns the elements of a piece that begins with element `begin` of a run.
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

// Returns `count` elements as floats: themselves, or copies in `block`.
const float* floats_of(StoredNumbers from, int64_t count, float* block) {
  if (!from.is_half()) return from.floats();
  floats_of_halves(from.halves(), count, 1, count, block, count);
  return block;
}

// One mean over runs of elements that begin at `begin`, of pieces.
void normalize_runs(const NormalizeWork& work, const NormalizeParams& params,
                    const Operands& operands, const int64_t (&begin)[3]) {
  Run run = {};
  Run* const runs[] = {&run};
  HWY_ALIGN float block[kPieceElements];
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    for (int64_t i = 0; i < walk.line_count; ++i) {
      const int64_t line = walk.offsets[kNormalizeX] + i * walk.line_strides[kNormalizeX];
      for (int64_t k = 0; k < work.lanes; k += kPieceElements) {
        const int64_t count = piece_at(work, k);
        run.x = floats_of(operands.x.at(line + k), count, block);
        run.pivot = pivot_of(params, run.x, count);
        pass_over(1, nullptr, runs, 0, count);
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
      // A call takes as much at once as is still in the first-level cache when it is activated, or
      // becomes halves.
      const bool is_half = operands.y.is_half();
      const bool has_pieces = is_half || operands.activation.kind != kUnaryIdentity;
      const int64_t step = has_pieces ? kPieceElements : work.lanes;
      for (int64_t k = 0; k < work.lanes; k += step) {
        const int64_t count = k + step < work.lanes ? step : work.lanes - k;
        int64_t at[3];
        for (int which = 0; which < 3; ++which)
          at[which] =
              walk.offsets[which] + i * walk.line_strides[which] + k * work.lane_strides[which];
        const StoredNumbers y = operands.y.at(at[kNormalizeX]);
        begin_run(work, operands, at, floats_of(operands.x.at(at[kNormalizeX]), count, block),
                  is_half ? block : y.floats(), run);
        set_mean(mean, run);
        pass_over(1, runs, nullptr, 0, count);
        activate_written(operands.activation, run.y, count, 1, count);
        if (is_half) halves_of_floats(block, count, 1, count, y.halves(), count);
        if (k + count == work.lanes) zero_pad(work, y.at(count));
      }
    }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_NORMALIZE_NORMALIZE_RUNS_INL_H
