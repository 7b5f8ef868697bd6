#include "kernels/batch_matmul/batch_matmul.h"

namespace codl::kernels::batch_matmul {
namespace {

const char* check_dims(const BatchMatMulParams& params, const OperandShape& a,
                       const OperandShape& b, const OperandShape& y) {
  if (a.rank < 2 || b.rank < 2) return "operands of rank 2 or more";
  if (y.rank != (a.rank > b.rank ? a.rank : b.rank)) return "an output of the larger rank";
  const int32_t a_m = a.rank - (params.is_a_transposed != 0 ? 1 : 2);
  const int32_t a_k = a.rank - (params.is_a_transposed != 0 ? 2 : 1);
  const int32_t b_k = b.rank - (params.is_b_transposed != 0 ? 1 : 2);
  const int32_t b_n = b.rank - (params.is_b_transposed != 0 ? 2 : 1);
  if (a.dims[a_k] != b.dims[b_k]) return "operands of one inner dim";
  if (y.dims[y.rank - 2] != a.dims[a_m] || y.dims[y.rank - 1] != b.dims[b_n])
    return "an output of [m, n]";
  for (int32_t i = 0; i + 2 < y.rank; ++i) {
    const int32_t dim_a = broadcast_dim(a, y, i);
    const int32_t dim_b = broadcast_dim(b, y, i);
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1) return "batch dims that broadcast";
    if (y.dims[i] != (dim_a > dim_b ? dim_a : dim_b)) return "an output of the broadcast batch";
  }
  return nullptr;
}

const char* check_tile(const StepShape& step) {
  if (step.kernel->algorithm == Algorithm::Tiled) return check_gemm_tile(step);
  if (step.tile_count != kBatchMatMulTileInts) return check_cl_tile(step);
  if (step.tile[3] != kBatchMatMulFewColumns && step.tile[3] != kBatchMatMulItemColumns)
    return "4 or 8 columns of a work-item";
  return check_cl_local_sizes(step.tile);
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  const bool is_gpu = step.kernel->processor == Processor::Gpu;
  if (const char* expected = is_gpu ? check_unpacked(step, 3, 3) : check_operands(step, 3, 3))
    return expected;
  const OperandShape& a = step.operands[0];
  const OperandShape& b = step.operands[1];
  const OperandShape& y = step.output();
  for (uint32_t i = 0; i < 3; ++i)
    if (step.operands[i].layout != Layout::Plain) return "plain operands";
  if (number_dtype(step, a) != DType::F32 && !is_integer(a.dtype))
    return "operands of f32 or integers";
  if (a.dtype != b.dtype || a.dtype != y.dtype) return "operands of one dtype";
  const auto& params = step.params_as<BatchMatMulParams>();
  if (const char* expected = check_dims(params, a, b, y)) return expected;
  if (is_gpu) return check_tile(step);
  if (step.kernel->is_reference()) return nullptr;
  const BatchMatMulWork work = batch_matmul_work(params, a, b, y);
  out_needs->task_count = batch_matmul_units(work).task_count;
  out_needs->scratch_bytes =
      static_cast<uint64_t>(packed_b_elements(work) + packed_a_elements(work)) *
      static_cast<uint64_t>(element_bytes(b));
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, batch_matmul_launch};

}  // namespace codl::kernels::batch_matmul
