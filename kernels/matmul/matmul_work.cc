#include "kernels/common/gemm_tile_choice.h"
#include "kernels/common/step_work.h"
#include "kernels/matmul/matmul.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  const int32_t multiple = step.row->processor == Processor::Cpu ? kChannelPanel : kChannelPad;
  const double columns = round_up(channels_of_part(step.part_dim, step.part, y).count(), multiple);
  const double rows = x.dims[0];
  const double depth = x.dims[1];
  out_features->add("mmacs", rows * depth * columns * 1e-6);
  out_features->add("mbytes", rows * (depth + columns) * sizeof(float) * 1e-6);
  out_features->add("weight_mbytes", (depth + 1.0) * columns * sizeof(float) * 1e-6);
  out_features->add("steps", 1.0);
}

uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  if (!is_matmul_tiled(*step.row)) return 0;
  const OperandShape& x = step.operands[0];
  return write_gemm_tile(
      fastest_gemm_tile(*step.row, {x.dims[0], step.output().dims[1], x.dims[1]}, gpu), out_tile);
}

TileKind tile_kind(const KernelRow& row) {
  return is_matmul_tiled(row) ? TileKind::Gemm : TileKind::Own;
}

}  // namespace

extern const OpWork kMatMulWork;
const OpWork kMatMulWork = {features, choose_tile, tile_kind};

}  // namespace codl::kernels
