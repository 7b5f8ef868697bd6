#include "kernels/grid_sample/grid_sample.h"

#include <cmath>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::grid_sample {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<GridSampleParams>();
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 2)) return error;
  if (params.kind < kGridSampleNearest || params.kind > kGridSampleCubic ||
      params.padding < kGridSampleZeros || params.padding > kGridSampleReflection)
    return input_error(where, "expected members of GridSample, found {0} and {1}", params.kind,
                       params.padding);
  if (llvm::Error error = expect_operand(node, 0, -1)) return error;
  const int32_t rank = node.input(0).rank();
  if (rank < 3)
    return input_error(where, "expected an input of rank 3 or more, found {0}",
                       ir::to_string(node.input(0)));
  if (rank > 2 + kernels::kGridSampleAxes)
    return unsupported_error(where, "expected 1 to 3 spatial axes, found {0}",
                             ir::to_string(node.input(0)));
  if (llvm::Error error = expect_operand(node, 1, rank)) return error;
  const ir::Dims& x = node.input(0).dims;
  const ir::Dims& grid = node.input(1).dims;
  if (grid[0] != x[0] || grid[rank - 1] != rank - 2)
    return input_error(where, "expected a grid of batch {0} and {1} coordinates, found {2}", x[0],
                       rank - 2, ir::to_string(node.input(1)));
  llvm::SmallVector<int64_t, 5> dims = {x[0], x[1]};
  for (int32_t i = 1; i < rank - 1; ++i) dims.push_back(grid[i]);
  return checked_type(where, DType::F32, dims);
}

// The weights of a cubic sum along an axis are 1 + 0.75 / 2 in magnitude at most, as ONNX's
// coefficient is -0.75.
Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const Interval x = operands[0].with(Interval::of(0));
  if (node.params<GridSampleParams>().kind != kGridSampleCubic) return x;
  return Interval::within(x.magnitude() * std::pow(1.375, node.input(0).rank() - 2));
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::GridSample,
    .onnx_types = "DeformConv GridSample",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
};

}  // namespace codl::compiler::grid_sample
