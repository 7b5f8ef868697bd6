#include "kernels/grid_sample/grid_sample.h"

namespace codl::kernels::grid_sample {
namespace {

const char* check(const StepShape& step, StepNeeds*) {
  if (const char* expected = check_operands(step, 3, 3)) return expected;
  const auto& params = step.params_as<GridSampleParams>();
  for (uint32_t i = 0; i < 3; ++i)
    if (step.operands[i].dtype != DType::F32 || step.operands[i].layout != Layout::Plain)
      return "plain operands of f32";
  const OperandShape& x = step.operands[0];
  const OperandShape& grid = step.operands[1];
  const OperandShape& y = step.output();
  if (params.kind < kGridSampleNearest || params.kind > kGridSampleCubic ||
      params.padding < kGridSampleZeros || params.padding > kGridSampleReflection)
    return "members of GridSample";
  if (x.rank < 3 || x.rank > 2 + kGridSampleAxes || y.rank != x.rank || grid.rank != x.rank)
    return "operands of one rank, 3 to 5";
  if (x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1] || grid.dims[0] != x.dims[0])
    return "operands of one batch and channel count";
  for (int32_t i = 2; i < y.rank; ++i)
    if (grid.dims[i - 1] != y.dims[i]) return "a place in the grid for every output";
  return grid.dims[grid.rank - 1] == x.rank - 2 ? nullptr : "a number per axis in the grid";
}

}  // namespace

extern const Contract kContract;
const Contract kContract = {check, nullptr};

}  // namespace codl::kernels::grid_sample
