#include "kernels/roi_align/roi_align.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::roi_align {
namespace {

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<RoiAlignParams>();
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 3)) return error;
  if (llvm::Error error = expect_operand(node, 0, 4)) return error;
  if (llvm::Error error = expect_operand(node, 1, 2)) return error;
  if (llvm::Error error = expect_typed(node, 2, {DType::I64})) return error;
  const ir::Dims& rois = node.input(1).dims;
  if (rois[1] != 4 || node.input(2).rank() != 1 || node.input(2).dims[0] != rois[0])
    return input_error(where, "expected regions [r, 4] and indices [r], found {0} and {1}",
                       ir::to_string(node.input(1)), ir::to_string(node.input(2)));
  if (params.sampling_ratio < 0)
    return input_error(where, "expected a sampling ratio of 0 or more, found {0}",
                       params.sampling_ratio);
  if (params.sampling_ratio > kernels::kRoiAlignMaxRatio)
    return unsupported_error(where, "expected a sampling ratio <= {0}, found {1}",
                             kernels::kRoiAlignMaxRatio, params.sampling_ratio);
  return checked_type(where, DType::F32,
                      {rois[0], node.input(0).dims[1], params.output_h, params.output_w});
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::RoiAlign,
    .onnx_types = "RoiAlign",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds_with_zero,
};

}  // namespace codl::compiler::roi_align
