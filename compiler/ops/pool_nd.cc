#include "kernels/pool_nd/pool_nd.h"

#include <cmath>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler::pool_nd {
namespace {

WindowAxis axis_of(const ir::NodeView& node, int32_t i) {
  const auto params = node.params<PoolNdParams>();
  const WindowAxis axes[] = {
      {1, params.kernel_0, params.stride_0, params.dilation_0, params.pad_begin_0,
       params.pad_end_0},
      {1, params.kernel_1, params.stride_1, params.dilation_1, params.pad_begin_1,
       params.pad_end_1},
      {1, params.kernel_2, params.stride_2, params.dilation_2, params.pad_begin_2,
       params.pad_end_2},
  };
  WindowAxis axis = axes[i];
  axis.in = node.input(0).dims[2 + i];
  return axis;
}

llvm::Error check_input(const ir::NodeView& node, int32_t kind) {
  const llvm::StringRef where = node.node.name;
  const bool takes_integers = kind == kPoolNdMax || kind == kPoolNdMaxIndex;
  if (llvm::Error error =
          takes_integers ? expect_typed(node, 0,
                                        {DType::F32, DType::I8, DType::U8, DType::I16, DType::U16,
                                         DType::I32, DType::U32, DType::I64, DType::U64})
                         : expect_operand(node, 0, -1))
    return error;
  const int32_t rank = node.input(0).rank();
  if (rank < 3)
    return input_error(where, "expected an input of rank 3 or more, found {0}",
                       ir::to_string(node.input(0)));
  if (rank > 2 + kernels::kPoolNdAxes)
    return unsupported_error(where, "expected 1 to 3 spatial axes, found {0}",
                             ir::to_string(node.input(0)));
  return llvm::Error::success();
}

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<PoolNdParams>();
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, 1)) return error;
  if (member_name(OpKind::PoolNd, params.kind).empty())
    return input_error(where, "expected a kind of pooling, found {0}", params.kind);
  if (llvm::Error error = check_input(node, params.kind)) return error;
  if (params.kind == kPoolNdLp && params.p < 1)
    return input_error(where, "expected p of 1 or more, found {0}", params.p);
  const ir::Dims& x = node.input(0).dims;
  llvm::SmallVector<int64_t, 5> dims = {x[0], x[1]};
  for (int32_t i = 0; i + 2 < node.input(0).rank(); ++i) {
    const WindowAxis axis = axis_of(node, i);
    if (llvm::Error error = check_window(where, axis)) return error;
    dims.push_back(window_count(axis, params.ceil_mode != 0));
    if (dims.back() < 1)
      return input_error(where, "expected a window that fits the padded input, found {0} over {1}",
                         axis.extent(), ir::to_string(node.input(0)));
  }
  const DType dtype = params.kind == kPoolNdMaxIndex ? DType::I64 : node.input(0).dtype;
  return checked_type(where, dtype, dims);
}

// The index of a maximum counts the elements of all earlier channels.
void channels(const ir::NodeView& node, ChannelLinks& links) {
  if (node.params<PoolNdParams>().kind != kPoolNdMaxIndex) link_channels(node, links);
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<PoolNdParams>();
  if (params.kind != kPoolNdLp) return bounds_with_zero(node, operands);
  double taps = 1;
  for (int32_t i = 0; i + 2 < node.input(0).rank(); ++i)
    taps *= static_cast<double>(axis_of(node, i).kernel);
  return {0, operands[0].magnitude() * std::pow(taps, 1.0 / params.p)};
}

Growth growth(const ir::NodeView& node, llvm::ArrayRef<Interval>) {
  const auto params = node.params<PoolNdParams>();
  return params.kind == kPoolNdLp && params.p > 1 ? Growth::Steep : Growth::Linear;
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::PoolNd,
    .onnx_types = "MaxPool AveragePool LpPool GlobalMaxPool GlobalAveragePool GlobalLpPool",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
    .growth = growth,
    .channels = channels,
};

}  // namespace codl::compiler::pool_nd
