#include "kernels/top_k/top_k.h"

namespace codl::kernels::top_k {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const auto& params = step.params_as<TopKParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (x.layout != Layout::Plain || y.layout != Layout::Plain) return "plain operands";
  if (!is_number(x.dtype)) return "an input of f32, f64 or integers";
  if (y.dtype != DType::I64) return "indices of i64";
  if (params.axis < 0 || params.axis >= x.rank) return "an axis of the input";
  if (params.k < 1 || params.k > x.dims[params.axis]) return "k of 1 to the axis' extent";
  if (y.rank != x.rank) return "an output of the input's rank";
  for (int32_t i = 0; i < x.rank; ++i)
    if (y.dims[i] != (i == params.axis ? params.k : x.dims[i]))
      return "an output of the input's dims with k on the axis";
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::top_k
