#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/matmul/matmul.h"

namespace codl::kernels {
namespace {

void launch_tiled(const StepShape& step, ClLaunch* out) {
  const auto& params = step.params_as<MatMulParams>();
  const int32_t depth = step.operands[0].dims[1];
  const OperandShape& y = step.output();
  const Range columns = channels_of_part(step.part_dim, step.part, y);
  const int32_t panel_begin = columns.begin / kChannelPanel;
  const int32_t panel_end = static_cast<int32_t>(ceil_div(columns.end, kChannelPanel));
  out->define("HAS_WHOLE_QUADS", y.dims[1] % 4 == 0 ? 1 : 0);
  out->define("ACTIVATION", params.activation);
  const GemmTile tile = gemm_tile_of(step);
  set_gemm(tile, y.dims[0], panel_end - panel_begin, out);
  out->add_int(y.dims[0]);
  out->add_int(depth);
  out->add_int(y.dims[1]);
  out->add_int(panel_begin);
  out->add_int(panel_end);
  add_activation(params, out);
}

// A group per panel and block of rows: the rows buffer and gemv. `lanes`: of a work-item's sum.
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
  out->local_bytes = static_cast<uint32_t>(rows * items * lanes) * sizeof(float);
  out->global[0] = static_cast<uint64_t>(ceil_div(columns.count(), kChannelPanel)) * out->local[0];
  out->global[1] = static_cast<uint64_t>(ceil_div(m, rows));
  out->global[2] = 1;
  out->add_int(m);
  out->add_int(step.operands[0].dims[1]);
  out->add_int(y.dims[1]);
  out->add_int(columns.begin / kChannelPanel);
  add_activation(params, out);
}

}  // namespace

void matmul_launch(const StepShape& step, ClLaunch* out_launch) {
  if (step.kernel->algorithm == Algorithm::Tiled)
    launch_tiled(step, out_launch);
  else if (step.kernel->algorithm == Algorithm::Gemv)
    launch_panels(step, kMatMulGemvItems, 4, out_launch);
  else
    launch_panels(step, kMatMulGroupItems, kChannelPanel, out_launch);
}

}  // namespace codl::kernels
