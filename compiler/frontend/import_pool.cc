// Pooling, and means over the map, which are pooling with a window as large as the map.
#include <algorithm>

#include "compiler/frontend/rules.h"
#include "compiler/frontend/spatial.h"
#include "compiler/support/error.h"
#include "schema/tables.h"

namespace codl::compiler {
namespace {

// Dims of input 0. Unsupported unless rank 4.
llvm::Expected<llvm::SmallVector<int64_t, 4>> map_dims(const OnnxNode& node,
                                                       const Importer& importer) {
  CODL_ASSIGN_OR_RETURN(dims, importer.dims_of(node, 0));
  if (dims.size() != 4)
    return unsupported_error(node.name, "expected rank 4, found {0}", dims.size());
  return dims;
}

llvm::Error import_window_pool(const OnnxNode& node, Importer& importer, int32_t kind) {
  CODL_ASSIGN_OR_RETURN(dims, map_dims(node, importer));
  CODL_ASSIGN_OR_RETURN(attributes,
                        read_spatial_attributes(node, {dims[2], dims[3]}, std::nullopt));
  CODL_ASSIGN_OR_RETURN(ceil_mode, node.int_or("ceil_mode", 0));
  CODL_ASSIGN_OR_RETURN(count_include_pad, node.int_or("count_include_pad", 0));
  Pool2dParams params;
  params.kind = kind;
  params.kernel_h = attributes.kernel[0];
  params.kernel_w = attributes.kernel[1];
  params.stride_h = attributes.strides[0];
  params.stride_w = attributes.strides[1];
  params.dilation_h = attributes.dilations[0];
  params.dilation_w = attributes.dilations[1];
  params.pad_top = attributes.pads[0];
  params.pad_left = attributes.pads[1];
  params.pad_bottom = attributes.pads[2];
  params.pad_right = attributes.pads[3];
  // auto_pad fixes the number of windows by itself.
  params.ceil_mode = ceil_mode != 0 && !attributes.has_automatic_pads;
  params.count_include_pad = kind == kPool2dAverage && count_include_pad != 0;
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  CODL_ASSIGN_OR_RETURN(output, importer.append(node, "", OpKind::Pool2d, params, {x}));
  importer.bind(node, output);
  return llvm::Error::success();
}

// One window over the whole height and / or width.
Pool2dParams whole_map_params(int32_t kind, int64_t kernel_h, int64_t kernel_w) {
  Pool2dParams params;
  params.kind = kind;
  params.kernel_h = static_cast<int32_t>(kernel_h);
  params.kernel_w = static_cast<int32_t>(kernel_w);
  params.stride_h = params.stride_w = 1;
  params.dilation_h = params.dilation_w = 1;
  return params;
}

llvm::Error import_global_pool(const OnnxNode& node, Importer& importer, int32_t kind) {
  CODL_ASSIGN_OR_RETURN(dims, map_dims(node, importer));
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  CODL_ASSIGN_OR_RETURN(output, importer.append(node, "", OpKind::Pool2d,
                                                whole_map_params(kind, dims[2], dims[3]), {x}));
  importer.bind(node, output);
  return llvm::Error::success();
}

llvm::Error import_mean(const OnnxNode& node, Importer& importer, llvm::ArrayRef<int64_t> axes) {
  CODL_ASSIGN_OR_RETURN(keepdims, node.int_or("keepdims", 1));
  CODL_ASSIGN_OR_RETURN(dims, map_dims(node, importer));
  bool is_mean[4] = {};
  for (int64_t axis : axes) {
    CODL_ASSIGN_OR_RETURN(positive, normalized_axis(node, axis, dims.size()));
    is_mean[positive] = true;
  }
  if (is_mean[0] || is_mean[1] || axes.empty())
    return unsupported_error(node.name, "expected a mean over height and width, found other axes");
  CODL_ASSIGN_OR_RETURN(x, importer.operand(node, 0));
  const Pool2dParams params =
      whole_map_params(kPool2dAverage, is_mean[2] ? dims[2] : 1, is_mean[3] ? dims[3] : 1);
  CODL_ASSIGN_OR_RETURN(
      mean, importer.append(node, keepdims ? "" : "keepdims", OpKind::Pool2d, params, {x}));
  if (keepdims) {
    importer.bind(node, mean);
    return llvm::Error::success();
  }
  llvm::SmallVector<int64_t, 4> kept;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!is_mean[i]) kept.push_back(dims[i]);
  CODL_ASSIGN_OR_RETURN(output, importer.append_reshape(node, "", mean, kept));
  importer.bind(node, output);
  return llvm::Error::success();
}

llvm::Error import_max_pool(const OnnxNode& node, Importer& importer) {
  return import_window_pool(node, importer, kPool2dMax);
}
llvm::Error import_average_pool(const OnnxNode& node, Importer& importer) {
  return import_window_pool(node, importer, kPool2dAverage);
}
llvm::Error import_global_max_pool(const OnnxNode& node, Importer& importer) {
  return import_global_pool(node, importer, kPool2dMax);
}
llvm::Error import_global_average_pool(const OnnxNode& node, Importer& importer) {
  return import_global_pool(node, importer, kPool2dAverage);
}

llvm::Error import_reduce_mean_7(const OnnxNode& node, Importer& importer) {
  CODL_ASSIGN_OR_RETURN(axes, node.ints_or("axes", {}));
  return import_mean(node, importer, axes);
}

llvm::Error import_reduce_mean_18(const OnnxNode& node, Importer& importer) {
  if (!node.has_input(1)) return import_mean(node, importer, {});
  CODL_ASSIGN_OR_RETURN(axes, importer.int_constant(node, 1));
  return import_mean(node, importer, axes);
}

constexpr ImportRow kRows[] = {
    {"AveragePool", 7, kNewestOpset, import_average_pool},
    {"GlobalAveragePool", 7, kNewestOpset, import_global_average_pool},
    {"GlobalMaxPool", 7, kNewestOpset, import_global_max_pool},
    {"MaxPool", 7, kNewestOpset, import_max_pool},
    {"ReduceMean", 7, 17, import_reduce_mean_7},
    {"ReduceMean", 18, kNewestOpset, import_reduce_mean_18},
};

}  // namespace

llvm::ArrayRef<ImportRow> pool_rows() { return kRows; }

}  // namespace codl::compiler
