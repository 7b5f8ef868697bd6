// Attributes that convolutions and pooling share.
#pragma once

#include <array>
#include <optional>

#include "compiler/frontend/onnx_model.h"

namespace codl::compiler {

// [0] along the height, [1] along the width.
struct SpatialAttributes {
  std::array<int32_t, 2> kernel;
  std::array<int32_t, 2> strides;
  std::array<int32_t, 2> dilations;
  std::array<int32_t, 4> pads;  // top, left, bottom, right
  bool has_automatic_pads = false;
};

// kernel_shape, strides, dilations, pads and auto_pad of a node over a map of `map` (height,
// width). The kernel comes from `filter` where there is one (kernel_shape must agree), else from
// kernel_shape, which must be there.
//
// auto_pad: SAME_UPPER and SAME_LOWER give ceil(map / stride) outputs, the odd pad element at the
// end or the beginning; VALID pads nothing. Errors: Input.
llvm::Expected<SpatialAttributes> read_spatial_attributes(
    const OnnxNode& node, std::array<int64_t, 2> map, std::optional<std::array<int64_t, 2>> filter);

}  // namespace codl::compiler
