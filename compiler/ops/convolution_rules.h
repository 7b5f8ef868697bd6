// Holds the rules that Conv2d and DepthwiseConv2d share: operands, window, output type.
#pragma once

#include "compiler/ops/shape_rules.h"

namespace codl::compiler {

struct ConvolutionOperand {
  enum : uint32_t { kX = 0, kW = 1, kBias = 2, kResidual = 3 };
};

// Describes the window of a convolution along height and width. Conv2dParams and
// DepthwiseConv2dParams name these fields alike.
struct ConvolutionWindow {
  WindowAxis height;
  WindowAxis width;

  template <typename Params>
  static ConvolutionWindow of(const ir::NodeView& node) {
    const auto params = node.params<Params>();
    const ir::Dims& x = node.input(ConvolutionOperand::kX).dims;
    const ir::Dims& w = node.input(ConvolutionOperand::kW).dims;
    return {{x[2], w[2], params.stride_h, params.dilation_h, params.pad_top, params.pad_bottom},
            {x[3], w[3], params.stride_w, params.dilation_w, params.pad_left, params.pad_right}};
  }
};

// Returns an Input error unless the operands exist with their ranks. Call it before
// ConvolutionWindow::of().
llvm::Error check_convolution_operands(const ir::NodeView& node, bool has_residual);

// Returns the output type [n, w.dims[0], oh, ow]. Returns an Input error if the bias, the window or
// the residual does not fit.
llvm::Expected<ir::TensorType> infer_convolution(const ir::NodeView& node,
                                                 const ConvolutionWindow& window,
                                                 bool has_residual);

// Returns what the sums may be before the activation.
Interval convolution_bounds(const ir::NodeView& node, llvm::ArrayRef<Interval> operands);

}  // namespace codl::compiler
