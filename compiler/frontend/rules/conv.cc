// Imports Conv and ConvTranspose.
//
// Constant weights over one or two spatial axes become Conv2d or DepthwiseConv2d, which have the
// fast kernels; all others become a ConvNd.
#include <algorithm>

#include "compiler/frontend/graph/compose.h"
#include "compiler/frontend/graph/spatial.h"
#include "compiler/frontend/rules/rules.h"
#include "kernels/common/contract/conv_window.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

using Dims = llvm::SmallVector<int64_t, 5>;

// Holds the facts that both rules read before they choose a form.
struct Convolution {
  Dims x;
  Dims w;
  int64_t groups = 1;
  bool has_bias = false;
  bool is_constant = false;  // weights and bias are

  llvm::ArrayRef<int64_t> map() const { return llvm::ArrayRef<int64_t>(x).drop_front(2); }
  llvm::ArrayRef<int64_t> filter() const { return llvm::ArrayRef<int64_t>(w).drop_front(2); }
};

llvm::Expected<Convolution> read_convolution(const OnnxNode& node, Importer& importer) {
  Convolution conv;
  CODL_ASSIGN_OR_RETURN(x, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(w, importer.dims_of(node, 1));
  conv.x.assign(x.begin(), x.end());
  conv.w.assign(w.begin(), w.end());
  if (conv.x.size() != conv.w.size() || conv.x.size() < 3)
    return input_error(node.name, "expected input and weights of one rank >= 3, found {0} and {1}",
                       conv.x.size(), conv.w.size());
  if (conv.x.size() > 5)
    return unsupported_error(node.name, "expected 1 to 3 spatial axes, found {0}",
                             conv.x.size() - 2);
  CODL_ASSIGN_OR_RETURN(groups, node.int_or("group", 1));
  if (groups < 1 || groups > conv.w[0] || conv.w[0] % groups != 0)
    return input_error(node.name, "expected group that divides {0}, found {1}", conv.w[0], groups);
  conv.groups = groups;
  conv.has_bias = node.has_input(2);
  conv.is_constant =
      importer.is_constant(node, 1) && (!conv.has_bias || importer.is_constant(node, 2));
  return conv;
}

// Returns true if the kernels of Conv2d take a window of these axes.
bool fits_conv2d(llvm::ArrayRef<SpatialAxis> axes) {
  int64_t taps = 1;
  return axes.size() <= 2 && llvm::all_of(axes, [&](const SpatialAxis& axis) {
           const int32_t largest =
               std::max({axis.stride, axis.dilation, axis.pad_begin, axis.pad_end});
           taps *= axis.kernel;
           return taps <= kernels::kMaxFilterTaps && largest <= kernels::kMaxWindowStep &&
                  axis.pad_begin >= 0 && axis.pad_end >= 0;
         });
}

// Returns the dims, with a height of 1 if there is none.
Dims as_map(llvm::ArrayRef<int64_t> dims) {
  Dims map(dims.begin(), dims.end());
  if (map.size() == 3) map.insert(map.begin() + 2, 1);
  return map;
}

// Returns x as a map; the second function returns the value with rank `rank` again.
ir::ValueId to_map(Compose& c, ir::ValueId x, const Convolution& conv) {
  return c.reshape(x, as_map(conv.x));
}
llvm::Error bind_map(Compose& c, ir::ValueId y, const Convolution& conv) {
  if (conv.x.size() == 3 && y != ir::kNoId) {
    const llvm::ArrayRef<int32_t> dims = c.dims(y);
    if (dims.size() == 4) y = c.reshape(y, {dims[0], dims[1], dims[3]});
  }
  return c.bind(y);
}

// Returns the bias operand, or zeros, because Conv2d always has a bias.
llvm::Expected<ir::ValueId> bias_or_zeros(const OnnxNode& node, Importer& importer,
                                          int64_t channels) {
  if (node.has_input(2)) return importer.operand(node, 2);
  return importer.add_floats(node, "bias", {channels}, std::vector<float>(channels, 0.0f));
}

ir::ValueId append_conv_nd(Compose& c, const Convolution& conv, ConvNdParams params,
                           llvm::ArrayRef<SpatialAxis> axes) {
  params.has_bias = conv.has_bias;
  params.groups = static_cast<int32_t>(conv.groups);
  set_window_nd(params, axes);
  llvm::SmallVector<ir::ValueId, 3> operands = {c.operand(0), c.operand(1)};
  if (conv.has_bias) operands.push_back(c.operand(2));
  return c.node(OpKind::ConvNd, params, operands);
}

ir::ValueId append_conv2d(Compose& c, ir::ValueId x, ir::ValueId w, ir::ValueId bias,
                          int64_t groups, llvm::ArrayRef<SpatialAxis> axes) {
  Conv2dParams params;
  set_window_2d(params, axes);
  params.groups = static_cast<int32_t>(groups);
  return c.node(OpKind::Conv2d, params, {x, w, bias});
}

ir::ValueId append_depthwise(Compose& c, ir::ValueId x, ir::ValueId w, ir::ValueId bias,
                             llvm::ArrayRef<SpatialAxis> axes) {
  DepthwiseConv2dParams params;
  set_window_2d(params, axes);
  return c.node(OpKind::DepthwiseConv2d, params, {x, w, bias});
}

llvm::Error import_conv(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(conv, read_convolution(node, importer));
  CODL_ASSIGN_OR_RETURN(attributes, read_spatial_attributes(node, conv.map(), conv.filter()));
  Compose c(node, importer);
  if (!conv.is_constant || !fits_conv2d(attributes.axes))
    return c.bind(append_conv_nd(c, conv, ConvNdParams(), attributes.axes));

  ir::ValueId w = ir::kNoId;
  if (conv.w.size() == 4) {
    w = c.operand(1);
  } else {
    CODL_ASSIGN_OR_RETURN(weights, importer.float_constant(node, 1));
    attributes.add_height();
    w = c.floats(weights, as_map(conv.w));
  }
  const ir::ValueId x = to_map(c, c.operand(0), conv);
  CODL_ASSIGN_OR_RETURN(bias, bias_or_zeros(node, importer, conv.w[0]));
  const bool is_depthwise =
      conv.groups > 1 && conv.groups == conv.x[1] && conv.w[0] == conv.x[1] && conv.w[1] == 1;
  return bind_map(c,
                  is_depthwise ? append_depthwise(c, x, w, bias, attributes.axes)
                               : append_conv2d(c, x, w, bias, conv.groups, attributes.axes),
                  conv);
}

// ---- ConvTranspose ----

// Describes one axis of a transposed convolution as a plain one with fewer taps, each of whose
// outputs is a block of `stride` elements (Shi et al., Real-Time Single Image and Video
// Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network, CVPR 2016): element q
// * stride + a is the sum over m of input q - m times tap a + stride * m.
struct SubPixelAxis {
  int64_t taps;
  int64_t stride;
  int64_t kernel;
  SpatialAxis conv;  // the plain convolution
  int64_t crop;      // elements before the output
  int64_t out;

  // Returns the tap of the transposed convolution that is tap `t` for element `a` of a block; none
  // if it is kernel or more.
  int64_t tap(int64_t a, int64_t t) const { return a + stride * (taps - 1 - t); }
  // Returns the number of taps of element `a` of a block: the last ones.
  int64_t taps_of(int64_t a) const { return ceil_div(kernel - a, stride); }
  // Returns the plain convolution for element `a` of every block; its padding may be negative.
  SpatialAxis conv_of(int64_t a) const {
    SpatialAxis result = conv;
    result.kernel = static_cast<int32_t>(taps_of(a));
    result.pad_begin -= static_cast<int32_t>(taps - taps_of(a));
    return result;
  }
  bool has_conv_of_each() const { return kernel >= stride && conv_of(stride - 1).pad_begin >= 0; }
};

SubPixelAxis sub_pixel_axis(const SpatialAxis& axis, int64_t in, int64_t output_padding) {
  SubPixelAxis result = {};
  result.stride = axis.stride;
  result.kernel = axis.kernel;
  result.taps = ceil_div(axis.kernel, axis.stride);
  result.out =
      (in - 1) * axis.stride + axis.kernel + output_padding - axis.pad_begin - axis.pad_end;
  // Blocks that the crop removes altogether are not computed.
  const int64_t skipped = std::min<int64_t>(axis.pad_begin / axis.stride, result.taps - 1);
  result.crop = axis.pad_begin - skipped * axis.stride;
  const int64_t blocks = (axis.pad_begin + result.out - 1) / axis.stride - skipped + 1;
  result.conv.kernel = static_cast<int32_t>(result.taps);
  result.conv.pad_begin = static_cast<int32_t>(result.taps - 1 - skipped);
  // It is more than taps - 1 if output_padding, or a negative pad, makes blocks that no tap
  // reaches: they lie in the padding alone, so they get the bias.
  result.conv.pad_end = static_cast<int32_t>(
      std::max<int64_t>(blocks - in - result.conv.pad_begin + result.taps - 1, 0));
  return result;
}

// Returns true if this form of the axis computes few zeros.
bool is_sub_pixel(const SpatialAxis& axis, const SubPixelAxis& parts) {
  return (axis.dilation == 1 || axis.kernel == 1) && axis.pad_begin >= 0 && parts.out >= 1 &&
         parts.out <= kMaxDim && axis.stride <= 2 * axis.kernel;
}

// Holds the weights of the plain convolutions that replace a transposed one of two axes.
struct SubPixelWeights {
  llvm::ArrayRef<float> w;  // [ic, oc / groups, kh, kw]
  Dims dims;
  int64_t groups;
  SubPixelAxis h;
  SubPixelAxis v;

  // Appends the weights [ic / groups, taps_h, taps_w] of output channel `o`, element (a, b) of a
  // block, from tap (row, column) on.
  void append(int64_t o, int64_t a, int64_t b, int64_t row, int64_t column,
              LargeVector<float>& to) const {
    const int64_t out_of_group = dims[1];
    const int64_t in_of_group = dims[0] / groups;
    for (int64_t i = 0; i < in_of_group; ++i) {
      const int64_t from = (o / out_of_group * in_of_group + i) * out_of_group + o % out_of_group;
      for (int64_t t = row; t < h.taps; ++t)
        for (int64_t u = column; u < v.taps; ++u) {
          const bool is_there = h.tap(a, t) < h.kernel && v.tap(b, u) < v.kernel;
          to.push_back(is_there ? w[(from * h.kernel + h.tap(a, t)) * v.kernel + v.tap(b, u)]
                                : 0.0f);
        }
    }
  }
};

// Returns true if one convolution for each element of a block is cheaper than one for all. The
// latter multiplies by zeros if taps do not divide evenly; the former has another pass over the
// output, which takes about as long as 64 multiply-adds per element.
bool pays_per_element(const Convolution& conv, const SubPixelAxis& h, const SubPixelAxis& v) {
  const int64_t block = h.stride * v.stride;
  const int64_t zeros = h.taps * h.stride * v.taps * v.stride - h.kernel * v.kernel;
  // An operator has at most 16 operands, including its output.
  return conv.groups == 1 && block <= 9 && h.has_conv_of_each() && v.has_conv_of_each() &&
         zeros * conv.w[0] >= 64 * block;
}

llvm::Error import_sub_pixel(const OnnxNode& node, Importer& importer, const Convolution& conv,
                             const SubPixelAxis& h, const SubPixelAxis& v) {
  const int64_t block = h.stride * v.stride;
  const int64_t channels = conv.w[1] * conv.groups;
  CODL_ASSIGN_OR_RETURN(given_weights, importer.float_constant(node, 1));
  const SubPixelWeights weights = {given_weights, as_map(conv.w), conv.groups, h, v};
  std::vector<float> bias(channels, 0.0f);
  if (conv.has_bias) {
    CODL_ASSIGN_OR_RETURN(given, importer.float_constant(node, 2));
    if (static_cast<int64_t>(given.size()) != channels)
      return input_error(node.name, "expected a bias of {0} elements, found {1}", channels,
                         given.size());
    bias.assign(given.begin(), given.end());
  }
  DepthToSpaceParams params;
  params.block_h = static_cast<int32_t>(h.stride);
  params.block_w = static_cast<int32_t>(v.stride);
  // Adjacent channels are moved together; those of a group must stay together.
  params.is_channel_major = conv.groups > 1 ? 1 : 0;
  params.crop_top = static_cast<int32_t>(h.crop);
  params.crop_left = static_cast<int32_t>(v.crop);

  Compose c(node, importer);
  const ir::ValueId x = to_map(c, c.operand(0), conv);
  ir::ValueId blocks = ir::kNoId;
  if (pays_per_element(conv, h, v)) {
    llvm::SmallVector<ir::ValueId, 9> elements;
    for (int64_t i = 0; i < block; ++i) {
      const int64_t a = i / v.stride, b = i % v.stride;
      LargeVector<float> w;
      for (int64_t o = 0; o < channels; ++o)
        weights.append(o, a, b, h.taps - h.taps_of(a), v.taps - v.taps_of(b), w);
      elements.push_back(
          append_conv2d(c, x, c.floats(w, {channels, conv.w[0], h.taps_of(a), v.taps_of(b)}),
                        c.floats(bias, {channels}), conv.groups, {h.conv_of(a), v.conv_of(b)}));
    }
    blocks = c.concat(elements, 1);
  } else {
    LargeVector<float> w;
    std::vector<float> biases;
    for (int64_t i = 0; i < channels * block; ++i) {
      const int64_t o = params.is_channel_major != 0 ? i / block : i % channels;
      const int64_t at = params.is_channel_major != 0 ? i % block : i / channels;
      weights.append(o, at / v.stride, at % v.stride, 0, 0, w);
      biases.push_back(bias[o]);
    }
    blocks = append_conv2d(c, x,
                           c.floats(w, {channels * block, conv.w[0] / conv.groups, h.taps, v.taps}),
                           c.floats(biases, {channels * block}), conv.groups, {h.conv, v.conv});
  }
  return bind_map(
      c, c.shaped_node(OpKind::DepthToSpace, params, {blocks}, {conv.x[0], channels, h.out, v.out}),
      conv);
}

llvm::Error import_conv_transpose(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(conv, read_convolution(node, importer));
  if (conv.w[0] != conv.x[1])
    return input_error(node.name, "expected {0} input channels, found {1}", conv.w[0], conv.x[1]);
  CODL_ASSIGN_OR_RETURN(attributes, read_transposed_attributes(node, conv.map(), conv.filter()));
  llvm::SmallVector<SpatialAxis, 3> axes = attributes.window.axes;
  llvm::SmallVector<int32_t, 3> padding = attributes.output_padding;
  if (conv.is_constant && axes.size() <= 2) {
    if (axes.size() == 1) {
      axes.insert(axes.begin(), SpatialAxis());
      padding.insert(padding.begin(), 0);
    }
    const Dims x = as_map(conv.x);
    const SubPixelAxis h = sub_pixel_axis(axes[0], x[2], padding[0]);
    const SubPixelAxis v = sub_pixel_axis(axes[1], x[3], padding[1]);
    // The product is below 2^48: two factors of at most 2^24.
    const int64_t channels = conv.w[1] * conv.groups;
    if (is_sub_pixel(axes[0], h) && is_sub_pixel(axes[1], v) && fits_conv2d({h.conv, v.conv}) &&
        h.stride * v.stride <= kMaxDim / channels)
      return import_sub_pixel(node, importer, conv, h, v);
  }
  Compose c(node, importer);
  ConvNdParams params;
  params.is_transposed = 1;
  params.output_padding_0 = attributes.output_padding[0];
  if (attributes.output_padding.size() > 1) params.output_padding_1 = attributes.output_padding[1];
  if (attributes.output_padding.size() > 2) params.output_padding_2 = attributes.output_padding[2];
  return c.bind(append_conv_nd(c, conv, params, attributes.window.axes));
}

}  // namespace

llvm::ArrayRef<ImportEntry> conv_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"Conv", 1, kNewestOpset, import_conv},
      {"ConvTranspose", 1, kNewestOpset, import_conv_transpose},
  };
  return kEntries;
}

}  // namespace codl::compiler
