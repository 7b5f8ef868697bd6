// GridSample and RoiAlign.
#include "compiler/frontend/compose.h"
#include "compiler/frontend/rules.h"

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

constexpr ImportRow kRows[] = {
    {"GridSample", 16, kNewestOpset, import_grid_sample},
    {"RoiAlign", 10, 15, import_roi_align_10},
    {"RoiAlign", 16, kNewestOpset, import_roi_align_16},
};

}  // namespace

llvm::ArrayRef<ImportRow> sample_rows() { return kRows; }

}  // namespace codl::compiler
