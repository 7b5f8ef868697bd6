// Does the same for maps that are cut into blocks of lines, in two phases: sums, then results. This
// is Highway code, compiled once per target.
#if defined(CODL_KERNELS_NORMALIZE_NORMALIZE_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CODL_KERNELS_NORMALIZE_NORMALIZE_BLOCKS_INL_H
#undef CODL_KERNELS_NORMALIZE_NORMALIZE_BLOCKS_INL_H
#else
#define CODL_KERNELS_NORMALIZE_NORMALIZE_BLOCKS_INL_H
#endif

#include "kernels/normalize/normalize_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace codl::kernels::HWY_NAMESPACE {
namespace {
// Describes a map's lines from a block on, in one of two phases; all lanes are in it.
struct LineBlocks {
  const NormalizeWork& work;
  const NormalizeParams& params;
  const Operands& operands;
  float* moments;    // the map's: for each block the means of all lanes, then the sums of squares
  int64_t begin[3];  // where the map begins
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
      add_lines({blocks.operands.x.at(blocks.place_of(block)), stride, blocks.lines_of(block)},
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
    write_lines(work, blocks.operands.activation, {blocks.operands.x.at(place), stride, lines},
                blocks.operands.y.at(place), band);
  }
}

// Computes units of blocks of lines, map by map.
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

}  // namespace
}  // namespace codl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // CODL_KERNELS_NORMALIZE_NORMALIZE_BLOCKS_INL_H
