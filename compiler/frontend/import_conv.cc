// Conv.
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

constexpr ImportRow kRows[] = {
    {"Conv", 7, kNewestOpset, import_conv},
};

}  // namespace

llvm::ArrayRef<ImportRow> conv_rows() { return kRows; }

}  // namespace codl::compiler
