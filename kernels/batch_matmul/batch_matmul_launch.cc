#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/launch/cl_launch.h"

namespace codl::kernels {
namespace {

constexpr int32_t kMaxBatchAxes = kMaxRank - 2;

// Steps of operand 0 (a) or 1 (b) from product to product, or-ed.
int64_t batch_step(const BatchMatMulWork& work, uint32_t operand) {
  int64_t all = 0;
  for (int32_t i = 0; i < work.batch.count; ++i) all |= work.batch.steps[i][operand];
  return all;
}

// Sizes and steps; the kernel's first scalars are those of its grid.
void add_product(const BatchMatMulWork& work, ClLaunch* out) {
  const int64_t scalars[] = {work.m,       work.n,       work.k,       work.a_row,
                             work.a_depth, work.b_depth, work.b_column};
  for (int64_t scalar : scalars) out->add_int(static_cast<int32_t>(scalar));
  for (int32_t i = work.batch.count - kMaxBatchAxes; i < work.batch.count; ++i) {
    out->add_int(i < 0 ? 1 : static_cast<int32_t>(work.batch.extents[i]));
    out->add_int(i < 0 ? 0 : static_cast<int32_t>(work.batch.steps[i][0]));
    out->add_int(i < 0 ? 0 : static_cast<int32_t>(work.batch.steps[i][1]));
  }
}

void launch_tiled(const StepShape& step, const BatchMatMulWork& work, ClLaunch* out) {
  // Every quad is aligned if no step moves it from a multiple of four elements.
  const bool has_quads_of_a =
      work.a_depth == 1 && (work.k | work.a_row | batch_step(work, 0)) % 4 == 0;
  const bool has_quads_of_b =
      work.b_column == 1 && (work.n | work.b_depth | batch_step(work, 1)) % 4 == 0;
  out->define("HAS_QUADS_OF_A", has_quads_of_a ? 1 : 0);
  out->define("HAS_QUADS_OF_B", has_quads_of_b ? 1 : 0);
  out->define("HAS_WHOLE_QUADS", work.n % 4 == 0 ? 1 : 0);
  const GemmTile tile = gemm_tile_of(step);
  set_gemm(tile, work.m, ceil_div(work.n, kChannelPanel), out);
  out->global[1] = static_cast<uint64_t>(work.batch_count);
  add_product(work, out);
}

}  // namespace

void batch_matmul_launch(const StepShape& step, ClLaunch* out_launch) {
  const BatchMatMulWork work = batch_matmul_work(step.params_as<BatchMatMulParams>(),
                                                 step.operands[0], step.operands[1], step.output());
  if (step.kernel->algorithm == Algorithm::Tiled) return launch_tiled(step, work, out_launch);
  out_launch->define("HAS_ROWS_OF_B", work.b_column == 1 ? 1 : 0);
  set_grid(step, ceil_div(work.n, kBatchMatMulItemColumns), ceil_div(work.m, kBatchMatMulItemRows),
           work.batch_count, out_launch);
  add_product(work, out_launch);
}

}  // namespace codl::kernels
