#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 2)) return error;
  if (llvm::Error error = expect_operand(node, 0, -1)) return error;
  if (llvm::Error error = expect_operand(node, 1, -1)) return error;
  const int32_t kind = node.params<BinaryParams>().kind;
  if (member_name(OpKind::Binary, kind).empty())
    return input_error(where, "expected a binary function, found {0}", kind);

  // Dims are aligned at the last; a missing one counts as 1.
  const ir::Dims& a = node.input(0).dims;
  const ir::Dims& b = node.input(1).dims;
  const size_t rank = std::max(a.size(), b.size());
  llvm::SmallVector<int64_t, 4> dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int32_t dim_a = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int32_t dim_b = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1)
      return input_error(where, "expected operands that broadcast, found {0} and {1}",
                         ir::to_string(node.input(0)), ir::to_string(node.input(1)));
    dims[i] = std::max(dim_a, dim_b);
  }
  return checked_type(where, DType::F32, dims);
}

llvm::SmallVector<SplitRule, 2> splits(const ir::NodeView& node) {
  const bool has_rows = node.output().rank() == 4;
  return split_rules(node.output(), has_rows, has_rows);
}

}  // namespace

extern const OpSpec kBinarySpec;
const OpSpec kBinarySpec = {
    .kind = OpKind::Binary,
    .onnx_types = "Add Sub Mul Div",
    .infer = infer,
    .work = elementwise_work,
    .splits = splits,
    .input_range = same_range,
    .computes_in_nhwc = always_in_nhwc,
};

}  // namespace codl::compiler
