// Conv and BatchNormalization.
#include <cmath>

#include "compiler/frontend/rules.h"
#include "compiler/frontend/spatial.h"
#include "compiler/support/error.h"
#include "schema/tables.h"

namespace codl::compiler {
namespace {

// The bias operand, or zeros: Conv2d always has one.
llvm::Expected<ir::ValueId> bias_operand(const OnnxNode& node, Importer& importer,
                                         int64_t channels) {
  if (!node.has_input(2))
    return importer.add_floats(node, "bias", {channels}, std::vector<float>(channels, 0.0f));
  // Weights are packed at compile time: only a constant will do.
  if (auto bias = importer.constant(node, 2); !bias) return bias.takeError();
  return importer.operand(node, 2);
}

template <typename Params>
void set_window(Params& params, const SpatialAttributes& attributes) {
  params.stride_h = attributes.strides[0];
  params.stride_w = attributes.strides[1];
  params.dilation_h = attributes.dilations[0];
  params.dilation_w = attributes.dilations[1];
  params.pad_top = attributes.pads[0];
  params.pad_left = attributes.pads[1];
  params.pad_bottom = attributes.pads[2];
  params.pad_right = attributes.pads[3];
}

llvm::Error import_conv(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(x_dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(w, importer.constant(node, 1));
  if (x_dims.size() != w.dims.size())
    return input_error(node.name, "expected input and weights of one rank, found {0} and {1}",
                       x_dims.size(), w.dims.size());
  if (x_dims.size() != 4)
    return unsupported_error(node.name, "expected a 2-D convolution (rank 4), found rank {0}",
                             x_dims.size());
  CODL_ASSIGN_OR_RETURN(attributes, read_spatial_attributes(node, {x_dims[2], x_dims[3]},
                                                            std::array{w.dims[2], w.dims[3]}));
  CODL_ASSIGN_OR_RETURN(groups, node.int_or("group", 1));
  if (groups < 1 || groups > w.dims[0])
    return input_error(node.name, "expected group in [1, {0}], found {1}", w.dims[0], groups);

  CODL_ASSIGN_OR_RETURN(x_value, importer.operand(node, 0));
  CODL_ASSIGN_OR_RETURN(w_value, importer.operand(node, 1));
  CODL_ASSIGN_OR_RETURN(bias, bias_operand(node, importer, w.dims[0]));
  ir::ValueId output = ir::kNoId;
  const bool is_depthwise =
      groups > 1 && groups == x_dims[1] && w.dims[0] == x_dims[1] && w.dims[1] == 1;
  if (is_depthwise) {
    DepthwiseConv2dParams params;
    set_window(params, attributes);
    CODL_ASSIGN_OR_RETURN(appended, importer.append(node, "", OpKind::DepthwiseConv2d, params,
                                                    {x_value, w_value, bias}));
    output = appended;
  } else {
    Conv2dParams params;
    set_window(params, attributes);
    params.groups = static_cast<int32_t>(groups);
    CODL_ASSIGN_OR_RETURN(
        appended, importer.append(node, "", OpKind::Conv2d, params, {x_value, w_value, bias}));
    output = appended;
  }
  importer.bind(node, output);
  return llvm::Error::success();
}

// y = scale * (x - mean) / sqrt(variance + epsilon) + shift, as one scale and shift per channel: a
// depthwise convolution with a 1x1 filter for maps, Mul and Add for other ranks. fold_batch_norm
// merges either into a convolution or MatMul in front.
llvm::Error import_batch_normalization(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(epsilon, node.float_or("epsilon", 1e-5f));
  CODL_ASSIGN_OR_RETURN(training, node.int_or("training_mode", 0));
  CODL_ASSIGN_OR_RETURN(spatial, node.int_or("spatial", 1));
  if (training != 0)
    return unsupported_error(node.name, "expected training_mode 0, found {0}", training);
  if (spatial != 1) return unsupported_error(node.name, "expected spatial 1, found {0}", spatial);
  CODL_ASSIGN_OR_RETURN(x_dims, importer.dims_of(node, 0));
  if (x_dims.size() < 2)
    return input_error(node.name, "expected rank >= 2, found {0}", x_dims.size());
  const int64_t channels = x_dims[1];
  llvm::SmallVector<ConstantView, 4> statistics;
  for (size_t i = 1; i < 5; ++i) {
    CODL_ASSIGN_OR_RETURN(view, importer.constant(node, i));
    if (view.dims.size() != 1 || view.dims[0] != channels)
      return input_error(node.name, "expected {0} elements in '{1}', found dims [{2}]", channels,
                         node.inputs[i], llvm::make_range(view.dims.begin(), view.dims.end()));
    statistics.push_back(view);
  }

  const auto scale = statistics[0].as<float>();
  const auto shift = statistics[1].as<float>();
  const auto mean = statistics[2].as<float>();
  const auto variance = statistics[3].as<float>();
  std::vector<float> weights(channels);
  std::vector<float> bias(channels);
  for (int64_t c = 0; c < channels; ++c) {
    // In double: folding must not add an error of its own to the network's.
    const double factor = scale[c] / std::sqrt(double{variance[c]} + epsilon);
    weights[c] = static_cast<float>(factor);
    bias[c] = static_cast<float>(shift[c] - mean[c] * factor);
  }

  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  if (x_dims.size() == 4) {
    CODL_ASSIGN_OR_RETURN(w, importer.add_floats(node, "scale", {channels, 1, 1, 1}, weights));
    CODL_ASSIGN_OR_RETURN(b, importer.add_floats(node, "shift", {channels}, bias));
    DepthwiseConv2dParams params;
    params.stride_h = params.stride_w = 1;
    params.dilation_h = params.dilation_w = 1;
    CODL_ASSIGN_OR_RETURN(output,
                          importer.append(node, "", OpKind::DepthwiseConv2d, params, {x, w, b}));
    importer.bind(node, output);
    return llvm::Error::success();
  }
  llvm::SmallVector<int64_t, 4> dims(x_dims.size(), 1);
  dims[1] = channels;
  CODL_ASSIGN_OR_RETURN(w, importer.add_floats(node, "scale", dims, weights));
  CODL_ASSIGN_OR_RETURN(b, importer.add_floats(node, "shift", dims, bias));
  CODL_ASSIGN_OR_RETURN(scaled, importer.append(node, "scaled", OpKind::Binary,
                                                BinaryParams{.kind = kBinaryMul}, {x, w}));
  CODL_ASSIGN_OR_RETURN(shifted, importer.append(node, "", OpKind::Binary,
                                                 BinaryParams{.kind = kBinaryAdd}, {scaled, b}));
  importer.bind(node, shifted);
  return llvm::Error::success();
}

constexpr ImportRow kRows[] = {
    {"BatchNormalization", 7, kNewestOpset, import_batch_normalization},
    {"Conv", 7, kNewestOpset, import_conv},
};

}  // namespace

llvm::ArrayRef<ImportRow> conv_rows() { return kRows; }

}  // namespace codl::compiler
