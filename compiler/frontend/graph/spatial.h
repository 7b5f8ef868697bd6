// Reads attributes that convolutions and pooling share.
#pragma once

#include <optional>

#include "compiler/frontend/onnx/onnx_model.h"
#include "llvm/ADT/SmallVector.h"

namespace codl::compiler {

// Describes one spatial axis of a window.
struct SpatialAxis {
  int32_t kernel = 1;
  int32_t stride = 1;
  int32_t dilation = 1;
  int32_t pad_begin = 0;
  int32_t pad_end = 0;
};

struct SpatialAttributes {
  llvm::SmallVector<SpatialAxis, 3> axes;
  bool has_automatic_pads = false;

  // Makes a 1-D window 2-D: adds an axis of one element before the last.
  void add_height() { axes.insert(axes.begin(), SpatialAxis()); }
};

// Reads kernel_shape, strides, dilations, pads and auto_pad of a node over a map with these extents
// (the dims after batch and channels). The kernel comes from `filter` if there is one (kernel_shape
// must agree), else from kernel_shape, which is then required.
//
// auto_pad: SAME_UPPER and SAME_LOWER give ceil(map / stride) outputs, with the odd pad element at
// the end or the beginning; VALID pads nothing. Errors: Input.
llvm::Expected<SpatialAttributes> read_spatial_attributes(
    const OnnxNode& node, llvm::ArrayRef<int64_t> map,
    std::optional<llvm::ArrayRef<int64_t>> filter);

// Holds the same for ConvTranspose. Its pads follow from output_shape if it is given, or from
// auto_pad; pads may then be negative. output_padding has one element per axis.
struct TransposedAttributes {
  SpatialAttributes window;
  llvm::SmallVector<int32_t, 3> output_padding;
};
llvm::Expected<TransposedAttributes> read_transposed_attributes(const OnnxNode& node,
                                                                llvm::ArrayRef<int64_t> map,
                                                                llvm::ArrayRef<int64_t> filter);

// Writes axis `i` of `axes` to member_i of ConvNdParams or PoolNdParams; missing axes get values
// without effect.
template <typename Params>
void set_window_nd(Params& params, llvm::ArrayRef<SpatialAxis> axes) {
  const auto at = [&](size_t i) { return i < axes.size() ? axes[i] : SpatialAxis(); };
  const SpatialAxis all[] = {at(0), at(1), at(2)};
  params.stride_0 = all[0].stride;
  params.stride_1 = all[1].stride;
  params.stride_2 = all[2].stride;
  params.dilation_0 = all[0].dilation;
  params.dilation_1 = all[1].dilation;
  params.dilation_2 = all[2].dilation;
  params.pad_begin_0 = all[0].pad_begin;
  params.pad_begin_1 = all[1].pad_begin;
  params.pad_begin_2 = all[2].pad_begin;
  params.pad_end_0 = all[0].pad_end;
  params.pad_end_1 = all[1].pad_end;
  params.pad_end_2 = all[2].pad_end;
}

// Writes strides, dilations and pads of a window over height and width to params of Conv2d,
// DepthwiseConv2d or Pool2d.
template <typename Params>
void set_window_2d(Params& params, llvm::ArrayRef<SpatialAxis> axes) {
  params.stride_h = axes[0].stride;
  params.stride_w = axes[1].stride;
  params.dilation_h = axes[0].dilation;
  params.dilation_w = axes[1].dilation;
  params.pad_top = axes[0].pad_begin;
  params.pad_left = axes[1].pad_begin;
  params.pad_bottom = axes[0].pad_end;
  params.pad_right = axes[1].pad_end;
}

}  // namespace codl::compiler
