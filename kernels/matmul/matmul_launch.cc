#include "kernels/common/cl_launch.h"
#include "kernels/matmul/matmul.h"

namespace codl::kernels {
namespace {

// Rows of y computed together where there is more than one.
constexpr int32_t kRows = 4;
// Work-items that share a panel: 1000 outputs give 63 panels, too few for a GPU by themselves; a
// power of two, at least half a warp.
constexpr int32_t kSplit = 16;

}  // namespace

void matmul_launch(const StepShape& step, ClLaunch* out_launch) {
  const auto& params = step.params_as<MatMulParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const Range columns = channels_of_part(step.part_dim, step.part, y);
  const int32_t m = y.dims[0];
  const int32_t rows = m == 1 ? 1 : kRows;
  out_launch->define("ROWS", rows);
  out_launch->define("SPLIT", kSplit);
  out_launch->define("ACTIVATION", params.activation);
  out_launch->local[0] = kSplit;
  out_launch->local[1] = out_launch->local[2] = 1;
  out_launch->global[0] = static_cast<uint64_t>(ceil_div(columns.count(), kChannelPanel)) * kSplit;
  out_launch->global[1] = static_cast<uint64_t>(ceil_div(m, rows));
  out_launch->global[2] = 1;
  out_launch->add_int(m);
  out_launch->add_int(x.dims[1]);
  out_launch->add_int(y.dims[1]);
  out_launch->add_int(columns.begin / kChannelPanel);
  out_launch->add_float(params.activation_alpha);
  out_launch->add_float(params.activation_beta);
}

}  // namespace codl::kernels
