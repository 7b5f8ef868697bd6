#include "kernels/pool_nd/pool_nd.h"
#include "schema/plan_layout.h"

namespace codl::kernels::pool_nd {
namespace {

// Taps are visited one by one only where they are inside the map, so the kernel needs no bound
// besides those that keep positions in int64.
const char* check_axis(const PoolNdAxis& axis) {
  if (axis.kernel < 1 || axis.kernel > kMaxDim) return "kernel of 1 to 2^24 taps";
  if (axis.stride < 1 || axis.stride > kMaxDim) return "stride of 1 to 2^24";
  if (axis.dilation < 1 || axis.dilation > kMaxDim) return "dilation of 1 to 2^24";
  if (axis.pad_begin < 0 || axis.pad_begin > kMaxDim) return "padding of 0 to 2^24";
  if (axis.pad_end < 0 || axis.pad_end > kMaxDim) return "padding of 0 to 2^24";
  return nullptr;
}

const char* check_dtypes(int32_t kind, DType x, DType y) {
  const bool is_float = x == DType::F32;
  if (kind == kPoolNdAverage || kind == kPoolNdLp)
    return is_float && y == DType::F32 ? nullptr : "operands of f32";
  if (!is_float && !is_integer(x)) return "an input of f32 or integers";
  if (kind == kPoolNdMax) return x == y ? nullptr : "operands of one dtype";
  return y == DType::I64 ? nullptr : "an output of i64";
}

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_operands(step, 2, 2)) return expected;
  const auto& params = step.params_as<PoolNdParams>();
  const OperandShape& x = step.operands[0];
  const OperandShape& y = step.output();
  if (params.kind < kPoolNdMax || params.kind > kPoolNdMaxIndex) return "a member of PoolNd";
  if (const char* expected = check_dtypes(params.kind, x.dtype, y.dtype)) return expected;
  if (x.layout != Layout::Plain) return "a plain input";
  if (params.kind == kPoolNdLp && params.p < 1) return "p of 1 or more";
  if (x.rank < 3 || x.rank > 2 + kPoolNdAxes || y.rank != x.rank)
    return "operands of one rank, 3 to 5";
  if (x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1])
    return "input and output of one batch and channel count";
  const PoolNdWindow window = pool_nd_axes(params, x, y);
  for (const PoolNdAxis& axis : window.axis)
    if (const char* expected = check_axis(axis)) return expected;
  return nullptr;
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::pool_nd
