#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/cl_launch.h"

namespace codl::kernels {
namespace {

// The tile of a work-item; batch_matmul_f32_cl_buffer.cl has its sums in that many variables.
constexpr int32_t kTileRows = 4;
constexpr int32_t kTileColumns = 8;
constexpr int32_t kMaxBatchAxes = kMaxRank - 2;

}  // namespace

void batch_matmul_launch(const StepShape& step, ClLaunch* out_launch) {
  const BatchMatMulWork work = batch_matmul_work(step.params_as<BatchMatMulParams>(),
                                                 step.operands[0], step.operands[1], step.output());
  out_launch->define("HAS_ROWS_OF_B", work.b_column == 1 ? 1 : 0);
  set_grid(step, ceil_div(work.n, kTileColumns), ceil_div(work.m, kTileRows), work.batch_count,
           out_launch);
  const int64_t scalars[] = {work.m,       work.n,       work.k,       work.a_row,
                             work.a_depth, work.b_depth, work.b_column};
  for (int64_t scalar : scalars) out_launch->add_int(static_cast<int32_t>(scalar));
  for (int32_t i = work.batch.count - kMaxBatchAxes; i < work.batch.count; ++i) {
    out_launch->add_int(i < 0 ? 1 : static_cast<int32_t>(work.batch.extents[i]));
    out_launch->add_int(i < 0 ? 0 : static_cast<int32_t>(work.batch.steps[i][0]));
    out_launch->add_int(i < 0 ? 0 : static_cast<int32_t>(work.batch.steps[i][1]));
  }
}

}  // namespace codl::kernels
