#include "kernels/transpose/transpose.h"

namespace codl::kernels::transpose {
namespace {

const char* check(const StepShape& step, StepNeeds* out_needs) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.layout != Layout::Plain || y.layout != Layout::Plain) return "Plain operands";
  if (x.dtype != y.dtype) return "operands of one dtype";
  if (x.rank != y.rank) return "input and output of one rank";
  int32_t perm[kMaxRank];
  transpose_perm(step.params_as<TransposeParams>(), perm);
  uint32_t seen = 0;
  for (int32_t i = 0; i < y.rank; ++i) {
    if (perm[i] < 0 || perm[i] >= y.rank || (seen >> perm[i] & 1u) != 0)
      return "a perm that names each axis once";
    seen |= 1u << perm[i];
    if (y.dims[i] != x.dims[perm[i]]) return "output dims that are the input's in order of perm";
  }
  if (!step.kernel->is_reference()) out_needs->task_count = transpose_task_count(element_count(y));
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, transpose_launch};

}  // namespace codl::kernels::transpose
