// Pooling.
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

constexpr ImportRow kRows[] = {
    {"AveragePool", 7, kNewestOpset, import_average_pool},
    {"GlobalAveragePool", 7, kNewestOpset, import_global_average_pool},
    {"GlobalMaxPool", 7, kNewestOpset, import_global_max_pool},
    {"MaxPool", 7, kNewestOpset, import_max_pool},
};

}  // namespace

llvm::ArrayRef<ImportRow> pool_rows() { return kRows; }

}  // namespace codl::compiler
