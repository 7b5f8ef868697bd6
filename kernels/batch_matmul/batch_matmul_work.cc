#include "kernels/batch_matmul/batch_matmul.h"
#include "kernels/common/gemm_tile_choice.h"
#include "kernels/common/step_work.h"

namespace codl::kernels {
namespace {

void features(const StepShape& step, Features* out_features) {
  const BatchMatMulWork work = batch_matmul_work(step.params_as<BatchMatMulParams>(),
                                                 step.operands[0], step.operands[1], step.output());
  out_features->add("mmacs", static_cast<double>(element_count(step.output())) *
                                 static_cast<double>(work.k) * 1e-6);
  add_traffic(step, out_features);
}

uint32_t choose_tile(const StepShape& step, const GpuFacts& gpu, int32_t* out_tile) {
  if (!is_batch_matmul_tiled(*step.row)) return 0;
  const BatchMatMulWork work = batch_matmul_work(step.params_as<BatchMatMulParams>(),
                                                 step.operands[0], step.operands[1], step.output());
  return write_gemm_tile(fastest_gemm_tile(*step.row, batch_matmul_gemm_size(work), gpu), out_tile);
}

TileKind tile_kind(const KernelRow& row) {
  return is_batch_matmul_tiled(row) ? TileKind::Gemm : TileKind::Local;
}

}  // namespace

extern const OpWork kBatchMatMulWork;
const OpWork kBatchMatMulWork = {features, choose_tile, tile_kind};

}  // namespace codl::kernels
