#include "kernels/common/activation/activation.h"
#include "kernels/common/gemm/gemm_tile.h"
#include "kernels/matmul/matmul.h"
#include "schema/plan_layout.h"

namespace codl::kernels {

void matmul_launch(const StepShape& step, ClLaunch* out_launch);

namespace matmul {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (step.operand_count != 4) return "operands x, w, bias, y";
  const auto& params = step.params_as<MatMulParams>();
  if (!is_activation(params.activation)) return "a known activation";
  const OperandShape& x = step.operands[0];
  const OperandShape& w = step.operands[1];
  const OperandShape& y = step.output();
  if (x.layout != Layout::Plain || x.rank != 2 || y.layout != Layout::Plain || y.rank != 2)
    return "Plain input and output of rank 2";
  if (w.layout != Layout::Packed || w.rank != 2) return "packed weights of rank 2";
  if (x.dims[0] != y.dims[0] || x.dims[1] != w.dims[0] || w.dims[1] != y.dims[1])
    return "x [m, k], w [k, n], y [m, n]";
  const bool has_blocks = w.dtype == DType::U8;
  if (has_blocks) {
    if (!blocks_of(w)) return "packed weights in blocks of a power of two, at most 2^16 deep";
  } else {
    const uint64_t weights =
        w.dtype == DType::I8 ? matmul_packed_bytes(w.dims) : matmul_packed_elements(w.dims);
    if (const char* expected = check_packed_weights(w, weights)) return expected;
  }
  if (!is_packed_bias(step.operands[2], y.dims[1])) return "a packed bias of one value per column";
  if (step.kernel->algorithm == Algorithm::Tiled) {
    if (x.dims[0] <= kMatMulFewRows) return "more than 8 rows for tiles in local memory";
    if (x.dims[1] % 4 != 0) return "a depth of whole quads for tiles in local memory";
    return check_gemm_tile(step);
  }
  if (step.kernel->algorithm == Algorithm::Gemv && x.dims[0] > kMatMulFewRows && x.dims[1] % 4 == 0)
    return "at most 8 rows, or a depth without tiles, for a matrix-vector product";
  if (step.kernel->processor == Processor::Gpu) return check_cl_tile(step);
  const bool has_bytes = step.kernel->has(Signature::Q8);
  if (has_bytes) {
    if (const char* expected = check_byte_operands(step, x.dims[1])) return expected;
  } else if (has_blocks) {
    if (x.dtype != y.dtype) return "matrices of one dtype beside blocks for a CPU kernel";
  } else if (!has_dtype_of_weights(step)) {
    return "matrices of the weights' dtype for a CPU kernel";
  }
  if (step.tile_count != 0) return "no tile numbers for a CPU kernel";

  const MatMulWork work = matmul_work(x, w, y, step.part_dim, step.part);
  if (work.task_count > INT32_MAX) return "at most 2^31 tasks";
  out_needs->task_count = static_cast<int32_t>(work.task_count);
  if (has_bytes)
    out_needs->scratch_bytes = static_cast<uint64_t>(work.panels.count()) * kByteScaleBytes;
  else if (has_blocks && work.rows > 1)
    out_needs->scratch_bytes =
        static_cast<uint64_t>(kMatMulWidenedPanels * matmul_panel_bytes(x, w));
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, matmul_launch};

}  // namespace matmul
}  // namespace codl::kernels
