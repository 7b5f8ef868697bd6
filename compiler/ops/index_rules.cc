#include "compiler/ops/index_rules.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"
#include "kernels/common/contract/scatter_reduction.h"

namespace codl::compiler {

llvm::Error expect_indices_inside(const ir::NodeView& node, uint32_t data, uint32_t indices,
                                  int32_t axis) {
  const ir::Dims& outer = node.input(data).dims;
  const ir::Dims& inner = node.input(indices).dims;
  bool is_inside = outer.size() == inner.size();
  for (size_t i = 0; is_inside && i < outer.size(); ++i)
    is_inside = static_cast<int32_t>(i) == axis || inner[i] <= outer[i];
  if (is_inside) return llvm::Error::success();
  return input_error(node.node.name, "expected indices inside {0} but for axis {1}, found {2}",
                     ir::to_string(node.input(data)), axis, ir::to_string(node.input(indices)));
}

llvm::Error expect_scatter_types(const ir::NodeView& node, int32_t reduction) {
  const DType dtype = node.input(0).dtype;
  if (llvm::Error error = expect_typed(node, 1, DType::I64)) return error;
  if (llvm::Error error = expect_typed(node, 2, dtype)) return error;
  if (kernels::can_reduce_scattered(dtype, reduction)) return llvm::Error::success();
  return unsupported_error(node.node.name, "expected a reduction of {0}, found {1}",
                           dtype_name(dtype), reduction);
}

Interval scatter_bounds(int32_t reduction, llvm::ArrayRef<Interval> operands) {
  if (reduction == kScatterElementsAdd || reduction == kScatterElementsMul) return {};
  return operands[0].with(operands[2]);
}

}  // namespace codl::compiler
