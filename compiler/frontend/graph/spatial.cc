#include "compiler/frontend/graph/spatial.h"

#include <algorithm>

#include "compiler/ops/shape_rules.h"
#include "compiler/support/error.h"
#include "schema/plan_layout.h"

namespace codl::compiler {
namespace {

enum class AutoPad { None, SameUpper, SameLower, Valid };

llvm::Expected<AutoPad> read_auto_pad(const OnnxNode& node) {
  CODL_ASSIGN_OR_RETURN(name, node.string_or("auto_pad", "NOTSET"));
  if (name == "NOTSET" || name.empty()) return AutoPad::None;
  if (name == "SAME_UPPER") return AutoPad::SameUpper;
  if (name == "SAME_LOWER") return AutoPad::SameLower;
  if (name == "VALID") return AutoPad::Valid;
  return input_error(
      node.name, "expected auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID, found '{0}'", name);
}

// Distributes `total` pad elements; the odd one goes to the end, or to the beginning (is_lower).
void share_pads(int64_t total, bool is_lower, WindowAxis* axis) {
  const int64_t smaller = total >= 0 ? total / 2 : -((1 - total) / 2);
  axis->pad_begin = is_lower ? total - smaller : smaller;
  axis->pad_end = total - axis->pad_begin;
}

// Reads kernel_shape, strides and dilations; also pads, unless auto_pad makes them.
llvm::Expected<llvm::SmallVector<WindowAxis, 3>> read_axes(
    const OnnxNode& node, llvm::ArrayRef<int64_t> map,
    std::optional<llvm::ArrayRef<int64_t>> filter, AutoPad auto_pad) {
  const size_t count = map.size();
  if (!filter && node.find("kernel_shape") == nullptr)
    return input_error(node.name, "expected attribute 'kernel_shape', found none");
  const int size = static_cast<int>(count);
  std::vector<int64_t> from_filter;
  if (filter) from_filter.assign(filter->begin(), filter->end());
  CODL_ASSIGN_OR_RETURN(kernel, node.ints_or("kernel_shape", from_filter, size));
  CODL_ASSIGN_OR_RETURN(strides, node.ints_or("strides", std::vector<int64_t>(count, 1), size));
  CODL_ASSIGN_OR_RETURN(dilations, node.ints_or("dilations", std::vector<int64_t>(count, 1), size));
  CODL_ASSIGN_OR_RETURN(pads, node.ints_or("pads", std::vector<int64_t>(2 * count, 0), 2 * size));
  if (filter && kernel != from_filter)
    return input_error(node.name, "expected kernel_shape [{0}] as the weights', found [{1}]",
                       llvm::make_range(from_filter.begin(), from_filter.end()),
                       llvm::make_range(kernel.begin(), kernel.end()));
  llvm::SmallVector<WindowAxis, 3> axes;
  for (size_t i = 0; i < count; ++i) {
    WindowAxis axis;
    axis.in = map[i];
    axis.kernel = kernel[i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    if (auto_pad == AutoPad::None) {
      axis.pad_begin = pads[i];
      axis.pad_end = pads[i + count];
    }
    if (llvm::Error error = check_window(node.name, axis)) return error;
    axes.push_back(axis);
  }
  return axes;
}

SpatialAxis spatial_axis(const WindowAxis& axis) {
  return {static_cast<int32_t>(axis.kernel), static_cast<int32_t>(axis.stride),
          static_cast<int32_t>(axis.dilation), static_cast<int32_t>(axis.pad_begin),
          static_cast<int32_t>(axis.pad_end)};
}

}  // namespace

llvm::Expected<SpatialAttributes> read_spatial_attributes(
    const OnnxNode& node, llvm::ArrayRef<int64_t> map,
    std::optional<llvm::ArrayRef<int64_t>> filter) {
  CODL_ASSIGN_OR_RETURN(auto_pad, read_auto_pad(node));
  CODL_ASSIGN_OR_RETURN(axes, read_axes(node, map, filter, auto_pad));
  SpatialAttributes attributes;
  attributes.has_automatic_pads = auto_pad != AutoPad::None;
  for (WindowAxis& axis : axes) {
    if (auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower) {
      const int64_t count = ceil_div(axis.in, axis.stride);
      const int64_t total = (count - 1) * axis.stride + axis.extent() - axis.in;
      share_pads(std::max<int64_t>(0, total), auto_pad == AutoPad::SameLower, &axis);
      // A dilated kernel may exceed the range of the parameters.
      if (llvm::Error error = check_window(node.name, axis)) return error;
    }
    attributes.axes.push_back(spatial_axis(axis));
  }
  return attributes;
}

llvm::Expected<TransposedAttributes> read_transposed_attributes(const OnnxNode& node,
                                                                llvm::ArrayRef<int64_t> map,
                                                                llvm::ArrayRef<int64_t> filter) {
  const size_t count = map.size();
  const int size = static_cast<int>(count);
  CODL_ASSIGN_OR_RETURN(auto_pad, read_auto_pad(node));
  CODL_ASSIGN_OR_RETURN(axes, read_axes(node, map, filter, auto_pad));
  CODL_ASSIGN_OR_RETURN(padding,
                        node.ints_or("output_padding", std::vector<int64_t>(count, 0), size));
  CODL_ASSIGN_OR_RETURN(shape, node.ints_or("output_shape", {}));
  // Some exporters write all dims of the output.
  if (shape.size() == count + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (!shape.empty() && shape.size() != count)
    return input_error(node.name, "expected {0} elements of attribute 'output_shape', found {1}",
                       count, shape.size());
  const bool is_same = auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower;
  // ONNX swapped the two in opset 11.
  const bool is_lower = (auto_pad != AutoPad::SameUpper) == (node.opset >= 11);
  TransposedAttributes attributes;
  attributes.window.has_automatic_pads = auto_pad != AutoPad::None || !shape.empty();
  for (size_t i = 0; i < count; ++i) {
    WindowAxis& axis = axes[i];
    if (padding[i] < 0 || padding[i] > kMaxDim)
      return input_error(node.name, "expected output_padding in [0, {0}], found {1}", kMaxDim,
                         padding[i]);
    if (!shape.empty() || is_same) {
      const int64_t out = shape.empty() ? axis.in * axis.stride : shape[i];
      if (out < 1 || out > kMaxDim)
        return input_error(node.name, "expected output_shape in [1, {0}], found {1}", kMaxDim, out);
      share_pads((axis.in - 1) * axis.stride + padding[i] + axis.extent() - out, is_lower, &axis);
      if (std::max(std::abs(axis.pad_begin), std::abs(axis.pad_end)) > kMaxDim)
        return input_error(node.name, "expected pads of at most {0}, found {1}", kMaxDim,
                           axis.pad_end);
    }
    attributes.window.axes.push_back(spatial_axis(axis));
    attributes.output_padding.push_back(static_cast<int32_t>(padding[i]));
  }
  return attributes;
}

}  // namespace codl::compiler
