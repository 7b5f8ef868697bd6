#include "compiler/frontend/spatial.h"

#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"

namespace codl::compiler {

llvm::Expected<SpatialAttributes> read_spatial_attributes(
    const OnnxNode& node, std::array<int64_t, 2> map,
    std::optional<std::array<int64_t, 2>> filter) {
  if (!filter && node.find("kernel_shape") == nullptr)
    return input_error(node.name, "expected attribute 'kernel_shape', found none");
  std::vector<int64_t> kernel_fallback;
  if (filter) kernel_fallback.assign(filter->begin(), filter->end());
  CODL_ASSIGN_OR_RETURN(kernel, node.ints_or("kernel_shape", kernel_fallback, 2));
  CODL_ASSIGN_OR_RETURN(strides, node.ints_or("strides", {1, 1}, 2));
  CODL_ASSIGN_OR_RETURN(dilations, node.ints_or("dilations", {1, 1}, 2));
  CODL_ASSIGN_OR_RETURN(pads, node.ints_or("pads", {0, 0, 0, 0}, 4));
  CODL_ASSIGN_OR_RETURN(auto_pad, node.string_or("auto_pad", "NOTSET"));
  if (filter && (kernel[0] != (*filter)[0] || kernel[1] != (*filter)[1]))
    return input_error(node.name, "expected kernel_shape {0}x{1} as the weights', found {2}x{3}",
                       (*filter)[0], (*filter)[1], kernel[0], kernel[1]);
  const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!is_same && auto_pad != "NOTSET" && auto_pad != "VALID")
    return input_error(node.name,
                       "expected auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID, found '{0}'",
                       auto_pad);

  SpatialAttributes attributes;
  attributes.has_automatic_pads = auto_pad != "NOTSET";
  for (int d = 0; d < 2; ++d) {
    WindowAxis axis;
    axis.in = map[d];
    axis.kernel = kernel[d];
    axis.stride = strides[d];
    axis.dilation = dilations[d];
    if (!attributes.has_automatic_pads) {
      axis.pad_begin = pads[d];
      axis.pad_end = pads[d + 2];
    }
    if (llvm::Error error = check_window(node.name, axis)) return error;
    if (is_same) {
      const int64_t count = ceil_div(axis.in, axis.stride);
      const int64_t total =
          std::max<int64_t>(0, (count - 1) * axis.stride + axis.extent() - axis.in);
      const int64_t smaller = total / 2;
      axis.pad_begin = auto_pad == "SAME_UPPER" ? smaller : total - smaller;
      axis.pad_end = total - axis.pad_begin;
      // A dilated kernel may ask for more than the parameters hold.
      if (llvm::Error error = check_window(node.name, axis)) return error;
    }
    attributes.kernel[d] = static_cast<int32_t>(axis.kernel);
    attributes.strides[d] = static_cast<int32_t>(axis.stride);
    attributes.dilations[d] = static_cast<int32_t>(axis.dilation);
    attributes.pads[d] = static_cast<int32_t>(axis.pad_begin);
    attributes.pads[d + 2] = static_cast<int32_t>(axis.pad_end);
  }
  return attributes;
}

}  // namespace codl::compiler
