#include "kernels/attention/attention.h"

namespace codl::kernels::attention {
namespace {

const char* check_dims(const OperandShape& q, const OperandShape& k, const OperandShape& v,
                       const OperandShape& y) {
  for (const OperandShape* x : {&q, &k, &v, &y})
    if (x->rank != 4) return "queries, keys, values and an output of rank 4";
  if (k.dims[0] != q.dims[0] || v.dims[0] != q.dims[0] || y.dims[0] != q.dims[0])
    return "operands of one batch";
  if (k.dims[1] != v.dims[1] || q.dims[1] % k.dims[1] != 0 || y.dims[1] != q.dims[1])
    return "heads of queries that are a multiple of those of keys and values";
  if (k.dims[2] != v.dims[2]) return "as many keys as values";
  if (k.dims[3] != q.dims[3]) return "queries and keys of one size";
  if (y.dims[2] != q.dims[2] || y.dims[3] != v.dims[3]) return "an output of [rows, value size]";
  return nullptr;
}

const char* check_bias(const OperandShape& bias, const OperandShape& q, const OperandShape& k) {
  if (bias.dtype != DType::F32 || bias.rank != 4) return "a bias of f32, of rank 4";
  OperandShape scores = q;
  scores.dims[3] = k.dims[2];
  return check_broadcast(bias, scores);
}

const char* check_gpu(const StepShape& step) {
  const OperandShape& q = step.operands[0];
  if (q.dims[3] % 4 != 0 || step.output().dims[3] % 4 != 0)
    return "sizes that are multiples of 4 on a GPU";
  if (step.tile_count == 0) return nullptr;
  if (step.tile_count != kAttentionTileInts ||
      (step.tile[0] != kAttentionFewRows && step.tile[0] != kAttentionManyRows))
    return "no tile, or 2 or 4 rows of a work-item";
  return nullptr;
}

const char* check(const StepShape& step, StepNeeds* out_needs) {
  const uint32_t inputs = step.params_as<AttentionParams>().has_bias != 0 ? 4 : 3;
  const bool is_gpu = step.kernel->processor == Processor::Gpu;
  if (const char* expected = is_gpu ? check_unpacked(step, inputs + 1, inputs + 1)
                                    : check_operands(step, inputs + 1, inputs + 1))
    return expected;
  const OperandShape& q = step.operands[0];
  const OperandShape& k = step.operands[1];
  const OperandShape& y = step.output();
  for (uint32_t i = 0; i < step.operand_count; ++i)
    if (step.operands[i].layout != Layout::Plain) return "plain operands";
  for (uint32_t i : {0u, 1u, 2u, inputs})
    if (number_dtype(step, step.operands[i]) != DType::F32 || step.operands[i].dtype != y.dtype)
      return "operands of f32";
  if (const char* expected = check_dims(q, k, step.operands[2], y)) return expected;
  if (inputs == 4)
    if (const char* expected = check_bias(step.operands[3], q, k)) return expected;
  if (step.kernel->is_reference()) return nullptr;
  if (q.dims[3] > kAttentionMaxSize || y.dims[3] > kAttentionMaxSize) return "sizes of at most 256";
  if (is_gpu) return check_gpu(step);
  const AttentionWork work = attention_work(step);
  out_needs->task_count = attention_units(work).task_count;
  out_needs->scratch_bytes = static_cast<uint64_t>(attention_scratch(work).end) * sizeof(float);
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, attention_launch};

}  // namespace codl::kernels::attention
