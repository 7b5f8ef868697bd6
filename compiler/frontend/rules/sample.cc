// Imports GridSample, RoiAlign and DeformConv.
#include "compiler/frontend/graph/compose.h"
#include "compiler/frontend/graph/shape_operands.h"
#include "compiler/frontend/graph/spatial.h"
#include "compiler/frontend/rules/rules.h"

namespace codl::compiler {
namespace {

llvm::Expected<int32_t> grid_kind(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(mode, node.string_or("mode", "linear"));
  if (mode == "linear" || mode == "bilinear") return kGridSampleLinear;
  if (mode == "cubic" || mode == "bicubic") return kGridSampleCubic;
  if (mode == "nearest") return kGridSampleNearest;
  return input_error(node.name, "expected mode linear, nearest or cubic, found '{0}'", mode);
}

llvm::Expected<int32_t> grid_padding(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(padding, node.string_or("padding_mode", "zeros"));
  if (padding == "zeros") return kGridSampleZeros;
  if (padding == "border") return kGridSampleBorder;
  if (padding == "reflection") return kGridSampleReflection;
  return input_error(node.name, "expected padding_mode zeros, border or reflection, found '{0}'",
                     padding);
}

llvm::Error import_grid_sample(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(kind, grid_kind(node));
  CODL_ASSIGN_OR_RETURN(padding, grid_padding(node));
  CODL_ASSIGN_OR_RETURN(align_corners, node.int_or("align_corners", 0));
  GridSampleParams params;
  params.kind = kind;
  params.padding = padding;
  params.aligns_corners = align_corners != 0;
  Compose c(node, importer);
  return c.bind(c.node(OpKind::GridSample, params, {c.operand(0), c.operand(1)}));
}

llvm::Error import_roi_align(const OnnxNode& node, Importer& importer, llvm::StringRef fallback) {
  CODL_ASSIGN_OR_RETURN(mode, node.string_or("mode", "avg"));
  CODL_ASSIGN_OR_RETURN(coordinates, node.string_or("coordinate_transformation_mode", fallback));
  CODL_ASSIGN_OR_RETURN(height, node.int_or("output_height", 1));
  CODL_ASSIGN_OR_RETURN(width, node.int_or("output_width", 1));
  CODL_ASSIGN_OR_RETURN(ratio, node.int_or("sampling_ratio", 0));
  CODL_ASSIGN_OR_RETURN(scale, node.float_or("spatial_scale", 1.0f));
  if (mode != "avg" && mode != "max")
    return input_error(node.name, "expected mode avg or max, found '{0}'", mode);
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return input_error(node.name,
                       "expected coordinate_transformation_mode half_pixel or output_half_pixel, "
                       "found '{0}'",
                       coordinates);
  for (int64_t number : {height, width, ratio})
    if (number < 0 || number > INT32_MAX)
      return input_error(node.name, "expected output dims and sampling_ratio >= 0, found {0}",
                         number);
  RoiAlignParams params;
  params.output_h = static_cast<int32_t>(height);
  params.output_w = static_cast<int32_t>(width);
  params.sampling_ratio = static_cast<int32_t>(ratio);
  params.is_max = mode == "max";
  params.is_half_pixel = coordinates == "half_pixel";
  params.spatial_scale = scale;
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(roi_dims, importer.dims_of(node, 1));
  if (dims.size() == 4 && roi_dims.size() == 2 && element_count(roi_dims) == 0)
    return bind_empty(node, importer, DType::F32, {roi_dims[0], dims[1], height, width});
  if (dims.size() == 4)
    if (llvm::Error error = expect_indices(node, importer, 2, {dims[0]})) return error;
  Compose c(node, importer);
  const ir::ValueId indices = c.operand_as(2, DType::I64);
  return c.bind(c.node(OpKind::RoiAlign, params, {c.operand(0), c.operand(1), indices}));
}

llvm::Error import_roi_align_10(const OnnxNode& node, Importer& importer) {
  return import_roi_align(node, importer, "output_half_pixel");
}
llvm::Error import_roi_align_16(const OnnxNode& node, Importer& importer) {
  return import_roi_align(node, importer, "half_pixel");
}

// ---- DeformConv ----

// Describes a convolution whose taps read the map where an operand says, even between its elements.
// The operands are x[n,c,h,w], w[oc,c/groups,kh,kw], offsets[n,offset_groups*taps*2,oh,ow] with the
// row's before the column's, bias[oc], mask[n,offset_groups*taps,oh,ow].
struct DeformConv {
  Dims64 x;
  Dims64 w;
  Dims64 out;  // [oh, ow]
  llvm::SmallVector<SpatialAxis, 3> axes;
  int64_t groups = 1;
  int64_t offset_groups = 1;

  int64_t taps() const { return w[2] * w[3]; }
  int64_t parts() const { return x[0] * offset_groups; }  // maps with own offsets
};

llvm::Expected<DeformConv> read_deform_conv(const OnnxNode& node, Importer& importer) {
  DeformConv conv;
  CODL_ASSIGN_OR_RETURN(x, importer.dims_of(node, 0));
  CODL_ASSIGN_OR_RETURN(w, importer.dims_of(node, 1));
  CODL_ASSIGN_OR_RETURN(offsets, importer.dims_of(node, 2));
  if (x.size() != w.size() || x.size() != offsets.size() || x.size() < 3)
    return input_error(node.name,
                       "expected x, weights and offsets of one rank, found {0}, {1}, {2}", x.size(),
                       w.size(), offsets.size());
  if (x.size() != 4)
    return unsupported_error(node.name, "expected two spatial axes, found {0}", x.size() - 2);
  CODL_ASSIGN_OR_RETURN(attributes,
                        read_spatial_attributes(node, llvm::makeArrayRef(x).drop_front(2),
                                                llvm::makeArrayRef(w).drop_front(2)));
  CODL_ASSIGN_OR_RETURN(groups, node.int_or("group", 1));
  CODL_ASSIGN_OR_RETURN(offset_groups, node.int_or("offset_group", 1));
  conv.x.assign(x.begin(), x.end());
  conv.w.assign(w.begin(), w.end());
  conv.axes = attributes.axes;
  conv.groups = groups;
  conv.offset_groups = offset_groups;
  if (x[2] < 1 || x[3] < 1)
    return unsupported_error(node.name, "expected a map of elements, found {0}x{1}", x[2], x[3]);
  if (groups < 1 || w[0] % groups != 0 || w[1] > x[1] || w[1] * groups != x[1] ||
      offset_groups < 1 || x[1] % offset_groups != 0)
    return input_error(node.name,
                       "expected group and offset_group that divide the channels, found {0} and "
                       "{1} of {2} channels",
                       groups, offset_groups, x[1]);
  for (size_t i = 0; i < 2; ++i) {
    const SpatialAxis& axis = conv.axes[i];
    const int64_t window = int64_t{axis.dilation} * (axis.kernel - 1) + 1;
    const int64_t padded = x[i + 2] + axis.pad_begin + axis.pad_end;
    if (window > padded)
      return input_error(node.name, "expected a window of at most {0} elements, found {1}", padded,
                         window);
    conv.out.push_back((padded - window) / axis.stride + 1);
  }
  if (offsets[0] != x[0] || offsets[1] % offset_groups != 0 ||
      offsets[1] / offset_groups != 2 * conv.taps() || offsets[2] != conv.out[0] ||
      offsets[3] != conv.out[1])
    return input_error(node.name,
                       "expected 2 offsets for each of {0} taps in {1} groups and {2}x{3} outputs, "
                       "found {4}x{5}x{6}",
                       conv.taps(), offset_groups, conv.out[0], conv.out[1], offsets[1], offsets[2],
                       offsets[3]);
  return conv;
}

// Returns positions along spatial axis `axis` in GridSample's coordinates, from offsets[parts *
// taps, 2, oh, ow]: an element's center i is (2 * i + 1) / extent - 1. The result is [parts, taps *
// oh, ow, 1].
ir::ValueId deformed_places(Compose& c, const DeformConv& conv, ir::ValueId offsets, size_t axis) {
  const SpatialAxis& window = conv.axes[axis];
  const double unit = 2.0 / static_cast<double>(conv.x[axis + 2]);
  std::vector<float> taps, outputs;
  for (int64_t tap = 0; tap < conv.taps(); ++tap)
    taps.push_back(static_cast<float>(unit * window.dilation *
                                      (axis == 0 ? tap / conv.w[3] : tap % conv.w[3])));
  for (int64_t i = 0; i < conv.out[axis]; ++i)
    outputs.push_back(static_cast<float>(unit * (i * window.stride - window.pad_begin + 0.5) - 1));
  const int64_t rows = axis == 0 ? conv.out[0] : 1;
  const int64_t columns = axis == 0 ? 1 : conv.out[1];
  const ir::ValueId undeformed = c.add(c.floats(taps, {1, conv.taps(), 1, 1}, "taps"),
                                       c.floats(outputs, {1, 1, rows, columns}, "windows"));
  const ir::ValueId moved = c.reshape(c.slice(offsets, 1, static_cast<int64_t>(axis), 1),
                                      {conv.parts(), conv.taps(), conv.out[0], conv.out[1]});
  return c.reshape(c.add(c.mul(moved, c.scalar(DType::F32, unit)), undeformed),
                   {conv.parts(), conv.taps() * conv.out[0], conv.out[1], 1});
}

// Samples the taps' inputs as channels (GridSample at every tap's place), then convolves them with
// one tap.
llvm::Error import_deform_conv(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(conv, read_deform_conv(node, importer));
  Compose c(node, importer);
  const int64_t channels = conv.x[1];
  const int64_t rows = conv.taps() * conv.out[0];
  const ir::ValueId offsets =
      c.reshape(c.operand(2), {conv.parts() * conv.taps(), 2, conv.out[0], conv.out[1]});
  // In a grid, the column's number comes first.
  const ir::ValueId grid =
      c.concat({deformed_places(c, conv, offsets, 1), deformed_places(c, conv, offsets, 0)}, 3);
  GridSampleParams sampling;
  sampling.kind = kGridSampleLinear;
  sampling.padding = kGridSampleZeros;
  const ir::ValueId x =
      c.reshape(c.operand(0), {conv.parts(), channels / conv.offset_groups, conv.x[2], conv.x[3]});
  ir::ValueId taken = c.node(OpKind::GridSample, sampling, {x, grid});
  if (node.has_input(4))
    taken = c.mul(taken, c.reshape(c.operand(4), {conv.parts(), 1, rows, conv.out[1]}));
  taken = c.reshape(taken, {conv.x[0], channels * conv.taps(), conv.out[0], conv.out[1]});

  const Dims64 filter = {conv.w[0], conv.w[1] * conv.taps(), 1, 1};
  const bool has_bias = node.has_input(3);
  if (importer.is_constant(node, 1) && (!has_bias || importer.is_constant(node, 3))) {
    CODL_ASSIGN_OR_RETURN(weights, importer.float_constant(node, 1));
    Conv2dParams params;
    set_window_2d(params, {SpatialAxis(), SpatialAxis()});
    params.groups = static_cast<int32_t>(conv.groups);
    const std::vector<float> zeros(static_cast<size_t>(conv.w[0]), 0.0f);
    const ir::ValueId bias = has_bias ? c.operand(3) : c.floats(zeros, {conv.w[0]}, "bias");
    return c.bind(c.node(OpKind::Conv2d, params, {taken, c.floats(weights, filter), bias}));
  }
  ConvNdParams params;
  set_window_nd(params, {SpatialAxis(), SpatialAxis()});
  params.groups = static_cast<int32_t>(conv.groups);
  params.has_bias = has_bias;
  llvm::SmallVector<ir::ValueId, 3> operands = {taken, c.reshape(c.operand(1), filter)};
  if (has_bias) operands.push_back(c.operand(3));
  return c.bind(c.node(OpKind::ConvNd, params, operands));
}

}  // namespace

llvm::ArrayRef<ImportEntry> sample_entries() {
  static constexpr ImportEntry kEntries[] = {
      {"DeformConv", 19, kNewestOpset, import_deform_conv},
      {"GridSample", 16, kNewestOpset, import_grid_sample},
      {"RoiAlign", 10, 15, import_roi_align_10},
      {"RoiAlign", 16, kNewestOpset, import_roi_align_16},
  };
  return kEntries;
}

}  // namespace codl::compiler
