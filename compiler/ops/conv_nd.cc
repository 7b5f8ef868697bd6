#include "kernels/conv_nd/conv_nd.h"

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler::conv_nd {
namespace {

struct Axis {
  int64_t stride;
  int64_t dilation;
  int64_t pad_begin;
  int64_t pad_end;
  int64_t output_padding;
};

Axis axis_of(const ConvNdParams& params, int32_t i) {
  const Axis axes[] = {
      {params.stride_0, params.dilation_0, params.pad_begin_0, params.pad_end_0,
       params.output_padding_0},
      {params.stride_1, params.dilation_1, params.pad_begin_1, params.pad_end_1,
       params.output_padding_1},
      {params.stride_2, params.dilation_2, params.pad_begin_2, params.pad_end_2,
       params.output_padding_2},
  };
  return axes[i];
}

llvm::Error check_axis(llvm::StringRef where, const Axis& axis) {
  auto check = [&](const char* name, int64_t number, int64_t least) -> llvm::Error {
    if (number < least || number > kMaxDim)
      return input_error(where, "expected {0} in [{1}, {2}], found {3}", name, least, kMaxDim,
                         number);
    return llvm::Error::success();
  };
  if (llvm::Error error = check("stride", axis.stride, 1)) return error;
  if (llvm::Error error = check("dilation", axis.dilation, 1)) return error;
  if (llvm::Error error = check("pad", axis.pad_begin, -int64_t{kMaxDim})) return error;
  if (llvm::Error error = check("pad", axis.pad_end, -int64_t{kMaxDim})) return error;
  return check("output padding", axis.output_padding, 0);
}

int64_t output_extent(const Axis& axis, bool is_transposed, int64_t in, int64_t kernel) {
  const int64_t reach = (kernel - 1) * axis.dilation + 1;
  const int64_t pads = axis.pad_begin + axis.pad_end;
  if (is_transposed) return (in - 1) * axis.stride + reach + axis.output_padding - pads;
  const int64_t room = in + pads - reach;
  return room < 0 ? 0 : room / axis.stride + 1;
}

llvm::Error check_channels(const ir::NodeView& node, const ConvNdParams& params) {
  const llvm::StringRef where = node.node.name;
  const ir::Dims& x = node.input(0).dims;
  const ir::Dims& w = node.input(1).dims;
  if (params.groups < 1 || w[0] % params.groups != 0)
    return input_error(where, "expected groups that divide {0} filters, found {1}", w[0],
                       params.groups);
  const int64_t in_channels = params.is_transposed ? w[0] : int64_t{w[1]} * params.groups;
  if (in_channels != x[1])
    return input_error(where, "expected {0} input channels, found {1}", in_channels, x[1]);
  return llvm::Error::success();
}

llvm::Expected<ir::TensorType> infer(const ir::NodeView& node) {
  const auto params = node.params<ConvNdParams>();
  const llvm::StringRef where = node.node.name;
  if (llvm::Error error = expect_operand_count(node, params.has_bias ? 3 : 2)) return error;
  const DType dtype = node.input(0).dtype == DType::I32 ? DType::I32 : DType::F32;
  if (llvm::Error error = expect_operand(node, 0, -1, dtype)) return error;
  const int32_t rank = node.input(0).rank();
  if (rank < 3)
    return input_error(where, "expected an input of rank 3 or more, found {0}",
                       ir::to_string(node.input(0)));
  if (rank > 2 + kernels::kConvNdAxes)
    return unsupported_error(where, "expected 1 to 3 spatial axes, found {0}",
                             ir::to_string(node.input(0)));
  if (llvm::Error error = expect_operand(node, 1, rank, dtype)) return error;
  if (llvm::Error error = check_channels(node, params)) return error;
  const ir::Dims& x = node.input(0).dims;
  const ir::Dims& w = node.input(1).dims;
  const int64_t channels = params.is_transposed ? int64_t{w[1]} * params.groups : w[0];
  if (params.has_bias) {
    if (llvm::Error error = expect_operand(node, 2, 1, dtype)) return error;
    if (node.input(2).dims[0] != channels)
      return input_error(where, "expected a bias of {0} elements, found {1}", channels,
                         node.input(2).dims[0]);
  }
  llvm::SmallVector<int64_t, 5> dims = {x[0], channels};
  for (int32_t i = 2; i < rank; ++i) {
    const Axis axis = axis_of(params, i - 2);
    if (llvm::Error error = check_axis(where, axis)) return error;
    dims.push_back(output_extent(axis, params.is_transposed, x[i], w[i]));
    if (dims.back() < 1)
      return input_error(where, "expected a filter that fits the padded input, found {0} over {1}",
                         ir::to_string(node.input(1)), ir::to_string(node.input(0)));
  }
  return checked_type(where, dtype, dims);
}

void channels(const ir::NodeView& node, ChannelLinks& links) {
  const auto params = node.params<ConvNdParams>();
  if (!params.is_transposed) return link_convolution(node, links, params.groups);
  if (params.groups != 1) return;
  links.tie({0, 1}, {1, 0}, node.input(0).dims[1]);
  links.tie({1, 1}, {ChannelLinks::kResult, 1}, node.output().dims[1]);
  links.makes({1, 1});
  if (params.has_bias) links.tie({2, 0}, {ChannelLinks::kResult, 1}, node.output().dims[1]);
}

Interval bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands) {
  const auto params = node.params<ConvNdParams>();
  const ir::Value& weights = node.input_value(1);
  const Interval x = operands[0].with(Interval::of(0));
  const auto channels = static_cast<size_t>(node.output().dims[1]);
  const auto filters = static_cast<size_t>(weights.type.dims[0]);
  const auto width = static_cast<size_t>(weights.type.dims[1]);
  const auto count = static_cast<size_t>(weights.type.element_count());
  std::vector<Interval> sums;
  if (!weights.is_constant) {
    // No output has more terms than it has weights.
    sums.assign(channels, x * operands[1].with(Interval::of(0)) *
                              Interval::of(static_cast<double>(count / channels)));
  } else if (params.is_transposed != 0) {
    const size_t filters_of_group = filters / static_cast<size_t>(params.groups);
    const size_t taps = count / (filters * width);
    sums = weighted_sums(x, weights, channels, [&](size_t i) {
      return i / (taps * width) / filters_of_group * width + i / taps % width;
    });
  } else {
    sums = weighted_sums(x, weights, channels, [&](size_t i) { return i / (count / filters); });
  }
  if (params.has_bias) add_bias(sums, node.input_value(2), operands[2]);
  return hull_of(sums);
}

Growth growth(const ir::NodeView&, llvm::ArrayRef<Interval> operands) {
  return growth_of_product(operands[0], operands[1]);
}

}  // namespace

extern const OpSpec kSpec;
const OpSpec kSpec = {
    .kind = OpKind::ConvNd,
    .onnx_types =
        "Conv ConvInteger ConvTranspose DeformConv QLinearConv com.microsoft.FusedConv "
        "com.microsoft.NhwcConv com.microsoft.NhwcFusedConv com.microsoft.QLinearConv",
    .infer = infer,
    .splits = no_splits,
    .input_range = whole_range,
    .bounds = bounds,
    .growth = growth,
    .channels = channels,
};

}  // namespace codl::compiler::conv_nd
