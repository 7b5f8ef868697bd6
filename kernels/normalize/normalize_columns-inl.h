// Computes neighbouring means, where the innermost axis of the memory is kept, in bands of columns.
// This is Highway code, compiled once per target.
#if defined(CODL_KERNELS_NORMALIZE_NORMALIZE_COLUMNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_NORMALIZE_NORMALIZE_COLUMNS_INL_H
#undef CODL_KERNELS_NORMALIZE_NORMALIZE_COLUMNS_INL_H
#else
#define CODL_KERNELS_NORMALIZE_NORMALIZE_COLUMNS_INL_H
#endif

#include "kernels/normalize/normalize_moments-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
// The pivot of a piece is made of so many lines of columns.
constexpr int64_t kPivotLines = 4;

// So many vectors of neighbouring columns are computed at once: so many lines of memory that follow
// each other are read together. It does not change what is added to what.
constexpr int kColumnVectors = HWY_TARGET == HWY_SCALAR ? 1 : 4;
// Lines of which each has its own sums, so that additions need not wait for each other: 16
// registers hold the pivots and the sums of one.
constexpr int kLinesAtOnce = HWY_TARGET == HWY_AVX2 ? 1 : 2;

// Describes columns from `lane` on: some vectors, the last with `last_lanes` lanes.
struct Columns {
  int64_t lane;
  int64_t last_lanes;
};

// Returns vector `v` of kVectors from `from`.
template <int kVectors>
HWY_INLINE Vector load_column(const Columns& columns, const float* from, int v) {
  if (v + 1 < kVectors) return hn::LoadU(Floats(), from + v * kLanes);
  return load_lanes(Floats(), from + v * kLanes, columns.last_lanes);
}

// So many lanes are worked on together: line by line where they are many vectors, so that memory is
// read and written in order. Numbers of each, from the first on, a vector's worth behind the last.
constexpr int64_t kBandLanes = 256;
struct Band {
  int64_t lane;
  int64_t end;
  HWY_ALIGN float means[kBandLanes + kLanes];
  HWY_ALIGN float squares[kBandLanes + kLanes];  // squared distances from the mean; then factors
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

// Describes some lines of a walk, from column 0.
struct Lines {
  StoredNumbers x;
  int64_t stride;
  int64_t count;
};

// Columns of so many lines are made floats at a time.
constexpr int64_t kHalfLines = 32;
constexpr int64_t kColumnBlock = kHalfLines * kColumnVectors * kLanes;

// Describes columns of some lines, which are floats.
struct FloatLines {
  const float* x;  // from the first column on
  int64_t stride;
  int64_t count;
};

template <int kVectors>
int64_t width_of(const Columns& columns) {
  return (kVectors - 1) * kLanes + columns.last_lanes;
}

// Returns columns of some lines: themselves, or copies in `block`.
template <int kVectors>
FloatLines floats_of(const Lines& lines, const Columns& columns, float* block) {
  const StoredNumbers from = lines.x.at(columns.lane);
  if (!from.is_half()) return {from.floats(), lines.stride, lines.count};
  const int64_t width = width_of<kVectors>(columns);
  floats_of_halves(from.halves(), lines.stride, lines.count, width, block, width);
  return {block, width, lines.count};
}

// Adds a piece to means and sums of squared distances of columns, which are of `seen` lines.
template <int kVectors>
HWY_NOINLINE void add_piece(const FloatLines& lines, const Columns& columns, bool is_rms,
                            double seen, float* means, float* squares) {
  const Floats d;
  const float* x = lines.x;
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
  const int64_t most = lines.x.is_half() ? kHalfLines : kNormalizePieceLines;
  HWY_ALIGN float block[kColumnBlock];
  for (int64_t rest = lines.count; rest > 0; rest -= piece.count) {
    piece.count = rest < most ? rest : most;
    for_columns(band, [&](auto vectors, const Columns& columns, int64_t number) {
      constexpr int kVectors = decltype(vectors)::kCount;
      add_piece<kVectors>(floats_of<kVectors>(piece, columns, block), columns, is_rms, *seen,
                          band.means + number, band.squares + number);
    });
    *seen += static_cast<double>(piece.count);
    piece.x = piece.x.at(piece.count * piece.stride);
  }
}

// Clears only what is used, because a block of lines takes a microsecond.
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
        {operands.x.at(walk.offsets[kNormalizeX]), walk.line_strides[kNormalizeX], walk.line_count},
        is_rms, &seen, band);
}

// Results are fetched so many lines before they are written: with stores alone, too few cache lines
// are on their way from the second-level cache.
constexpr int64_t kLinesAhead = 4;
constexpr int64_t kLineFloats = 16;  // floats in a cache line

// All that is written where scale and bias are the same on every line: (x - mean) * factor + shift,
// within the limits of the activation. y may be x.
template <int kVectors>
HWY_NOINLINE void write_columns(const FloatLines& lines, const Activation& activation, float* y,
                                const Columns& columns, const Band& band, int64_t number) {
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
  const float* x = lines.x;
  // A loop with limits and one without: they are two of the four instructions of a result.
  const auto write_all = [&](auto limited) HWY_ATTR {
    for (int64_t i = 0; i < lines.count; ++i, x += stride, y += stride)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        if (v * kLanes % kLineFloats == 0)
          __builtin_prefetch(y + kLinesAhead * stride + v * kLanes, 1, 3);
        const Vector away = hn::Sub(load_column<kVectors>(columns, x, v), mean[v]);
        const Vector result = limited(hn::MulAdd(away, factor[v], shift[v]));
        if (v + 1 < kVectors)
          hn::StoreU(result, d, y + v * kLanes);
        else
          store_lanes(d, result, y + v * kLanes, columns.last_lanes);
      }
  };
  if (activation.kind == kUnaryIdentity || activation.has_curve)
    return write_all([](Vector v) HWY_ATTR { return v; });
  const Vector low = hn::Set(d, activation.low);
  const Vector high = hn::Set(d, activation.high);
  write_all([=](Vector v) HWY_ATTR { return limit(v, low, high); });
}

// So many lines have all their columns written before those of the next ones.
constexpr int64_t kWrittenLines = kHalfLines;

// Writes the results of the band's columns in `all` lines.
HWY_NOINLINE void write_lines(const NormalizeWork& work, const Activation& activation, Lines all,
                              StoredNumbers y, const Band& band) {
  Lines lines = {all.x, all.stride, 0};
  HWY_ALIGN float block[kColumnBlock];
  for (int64_t rest = all.count; rest > 0; rest -= lines.count) {
    lines.count = rest < kWrittenLines ? rest : kWrittenLines;
    for_columns(band, [&](auto vectors, const Columns& columns, int64_t number) {
      constexpr int kVectors = decltype(vectors)::kCount;
      const StoredNumbers to = y.at(columns.lane);
      write_columns<kVectors>(floats_of<kVectors>(lines, columns, block), activation,
                              to.is_half() ? block : to.floats(), columns, band, number);
      if (!to.is_half()) return;
      const int64_t width = width_of<kVectors>(columns);
      if (activation.has_curve) activate_written(activation, block, width, lines.count, width);
      halves_of_floats(block, width, lines.count, width, to.halves(), lines.stride);
    });
    if (activation.has_curve && !y.is_half())
      activate_written(activation, y.floats() + band.lane, lines.stride, lines.count,
                       band.end - band.lane);
    for (int64_t i = 0; i < lines.count && band.end == work.lanes; ++i)
      zero_pad(work, y.at(i * lines.stride + band.end));
    lines.x = lines.x.at(lines.count * lines.stride);
    y = y.at(lines.count * lines.stride);
  }
}

void write_band(const NormalizeWork& work, const Operands& operands, const int64_t (&begin)[3],
                const Band& band) {
  for (NormalizeWalk walk(work.reduced, begin); walk.next();)
    write_lines(
        work, operands.activation,
        {operands.x.at(walk.offsets[kNormalizeX]), walk.line_strides[kNormalizeX], walk.line_count},
        operands.y.at(walk.offsets[kNormalizeX]), band);
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

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_NORMALIZE_NORMALIZE_COLUMNS_INL_H
