// Computes means of one line each: one is written while another is summed up. This is Highway code,
// compiled once per target.
#if defined(CODL_KERNELS_NORMALIZE_NORMALIZE_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_NORMALIZE_NORMALIZE_LINES_INL_H
#undef CODL_KERNELS_NORMALIZE_NORMALIZE_LINES_INL_H
#else
#define CODL_KERNELS_NORMALIZE_NORMALIZE_LINES_INL_H
#endif

#include "kernels/normalize/normalize_runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
// If a mean belongs to one line, the line is written so many lines after it was summed up: a
// division, a root and a division follow each other there, and a core that looks a few hundred
// instructions ahead would wait for them at every line. So many lines must stay in the first-level
// cache meanwhile: those summed up, those that become results and the results.
constexpr int64_t kMaxLag = 4;
constexpr int64_t kLinesElements = 2048;
// Lines that are read at once share the loads of scale and bias. 16 registers do not hold the sums
// of two.
constexpr int kMaxLinesAtOnce = HWY_TARGET == HWY_AVX2 ? 1 : 2;

// Means of one line each, of floats: halves have no need of it, because conversions fill the time
// that a core would wait. (Scalar code is there to be right.)
bool has_single_lines(const NormalizeWork& work, const Operands& operands) {
  return HWY_TARGET != HWY_SCALAR && !operands.x.is_half() && work.reduced.count == 0 &&
         has_even_steps(work);
}

// Writes some lines and sums up as many, piece by piece except for the end of the last. Null means
// none; only with one line.
void pass_over_lines(const NormalizeWork& work, const NormalizeParams& params,
                     const Activation& activation, int count, const Run* const* written,
                     Run* const* summed) {
  for (int64_t k = 0; k < work.lanes; k += kPieceElements) {
    for (int i = 0; i < count && summed != nullptr && k != 0; ++i) {
      end_piece(params, kPieceElements, *summed[i]);
      begin_piece(work, params, k, *summed[i]);
    }
    const int64_t piece = piece_at(work, k);
    pass_over(count, written, summed, k, k + piece);
    for (int i = 0; i < count && written != nullptr; ++i)
      activate_written(activation, written[i]->y + k, piece, 1, piece);
  }
  for (int i = 0; i < count && written != nullptr; ++i)
    zero_pad(work, {written[i]->y + work.lanes});
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
  const int64_t lag = fitting < 1 ? 1 : fitting < kMaxLag ? fitting : kMaxLag;
  const int at_once = lag >= kMaxLinesAtOnce && shares_vectors(work) ? kMaxLinesAtOnce : 1;
  const int64_t last_count = piece_at(work, (work.lanes - 1) / kPieceElements * kPieceElements);
  // The runs go from those that are written to those that are summed up.
  constexpr int64_t kRuns = kMaxLag + kMaxLinesAtOnce;
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
      begin_run(work, operands, at, operands.x.floats() + at[kNormalizeX],
                operands.y.floats() + at[kNormalizeX], run);
      begin_piece(work, params, 0, run);
    }
    const bool writes = unit - lag >= units.begin;
    const bool sums_up = unit < units.end;
    count = writes && unit + at_once <= units.end ? at_once : 1;
    const Run* written[kMaxLinesAtOnce];
    Run* summed[kMaxLinesAtOnce];
    for (int i = 0; i < count; ++i) {
      written[i] = writes ? run_of(unit + i - lag) : nullptr;
      summed[i] = run_of(unit + i);
    }
    if (writes || sums_up)
      pass_over_lines(work, params, operands.activation, count, writes ? written : nullptr,
                      sums_up ? summed : nullptr);
    // The next pass writes these.
    for (; ended < units.end && ended < unit + count - lag + at_once; ++ended) {
      Run& run = *run_of(ended);
      end_piece(params, last_count, run);
      set_mean(mean_of(work, params, run.spread), run);
    }
  }
}

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_NORMALIZE_NORMALIZE_LINES_INL_H
