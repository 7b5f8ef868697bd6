#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/matmul/matmul.h"

namespace codl::kernels {
namespace {

// clang-format off
#define CODL_ARGS_MatMulTiled(A, G, N)                                                     \
  A(int, column_tiles) A(int, m) A(int, k) A(int, n) A(int, panel_begin) A(int, panel_end) \
  G(Activation, activation)
#define CODL_ARGS_MatMulPanels(A, G, N) \
  A(int, m) A(int, k) A(int, n) A(int, first_panel) G(Activation, activation)
// clang-format on
CODL_CL_ARGS(MatMulTiled);
CODL_CL_ARGS(MatMulPanels);

void launch_matmul_tiled(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<MatMulParams>();
  const int32_t depth = step.operands[0].dims[1];
  const OperandShape& y = step.output();
  const Range columns = channels_of_part(step.part_dim, step.part, y);
  const int32_t panel_begin = columns.begin / kChannelPanel;
  const int32_t panel_end = static_cast<int32_t>(ceil_div(columns.end, kChannelPanel));
  out->define("HAS_WHOLE_QUADS", y.dims[1] % 4 == 0 ? 1 : 0);
  out->define("ACTIVATION", params.activation);
  out->add(MatMulTiledArgs{
      .column_tiles = set_gemm(gemm_tile_of(step), y.dims[0], panel_end - panel_begin, out),
      .m = y.dims[0],
      .k = depth,
      .n = y.dims[1],
      .panel_begin = panel_begin,
      .panel_end = panel_end,
      .activation = activation_args(params)});
}

// Launches a group per panel and block of rows, for the rows buffer and gemv. A work-item's sum has
// `lanes` lanes.
void launch_panels(const StepShape& step, int32_t items, int32_t lanes, ClLaunch* out) {
  const auto& params = step.params_as<MatMulParams>();
  const OperandShape& y = step.output();
  const Range columns = channels_of_part(step.part_dim, step.part, y);
  const int32_t m = y.dims[0];
  const int32_t rows = matmul_group_rows(y);
  out->define("ROWS", rows);
  out->define("ITEMS", items);
  out->define("ACTIVATION", params.activation);
  out->local[0] = static_cast<uint64_t>(items);
  out->local[1] = out->local[2] = 1;
  out->local_bytes = static_cast<uint32_t>(rows * items * lanes) * kClLocalNumberBytes;
  out->global[0] = static_cast<uint64_t>(ceil_div(columns.count(), kChannelPanel)) * out->local[0];
  out->global[1] = static_cast<uint64_t>(ceil_div(m, rows));
  out->global[2] = 1;
  out->add(MatMulPanelsArgs{.m = m,
                            .k = step.operands[0].dims[1],
                            .n = y.dims[1],
                            .first_panel = columns.begin / kChannelPanel,
                            .activation = activation_args(params)});
}

}  // namespace

void matmul_launch(const StepShape& step, ClLaunch* out_launch) {
  if (const OperandShape& w = step.operands[1]; w.dtype == DType::U8) {
    const WeightBlocks blocks = blocks_of(w);
    out_launch->define("BLOCK_BITS", blocks.bits);
    out_launch->define("BLOCK_SIZE", blocks.size);
  }
  if (step.kernel->algorithm == Algorithm::Tiled)
    launch_matmul_tiled(step, out_launch);
  else if (step.kernel->algorithm == Algorithm::Gemv) {
    out_launch->define("HAS_QUADS_OF_X", step.operands[0].dims[1] % 4 == 0 ? 1 : 0);
    launch_panels(step, kMatMulGemvItems, 4, out_launch);
  } else
    launch_panels(step, kMatMulGroupItems, kChannelPanel, out_launch);
}

}  // namespace codl::kernels
