// Makes one step of any kernel from shapes alone, for tests of code that reads shapes.
#pragma once

#include <array>
#include <initializer_list>

#include "kernels/pack.h"
#include "schema/step_shape.h"

namespace codl::compiler {

// Makes a step of the kernel on a map of `rows` x `rows` (MatMul: on [1, in_channels]).
// Convolutions and pools have the given window and "same" padding; everything else is elementwise.
class SampleStep {
 public:
  struct Options {
    int32_t in_channels = 32;
    int32_t out_channels = 32;  // for Conv2d and MatMul
    int32_t rows = 8;
    int32_t kernel = 3;
    int32_t stride = 1;
    SplitDim part_dim = SplitDim::None;
    Range part = {};
  };

  SampleStep(uint16_t kernel_id, const Options& options) : row_(*find_kernel(kernel_id)) {
    options_ = options;
    const int32_t out_rows = (options.rows + options.stride - 1) / options.stride;
    switch (row_.op) {
      case OpKind::Conv2d:
        set_window<Conv2dParams>().groups = 1;
        add_map(options.in_channels, options.rows);
        add_packed({options.out_channels, options.in_channels, options.kernel, options.kernel});
        add_packed({options.out_channels});
        add_map(options.out_channels, out_rows);
        break;
      case OpKind::DepthwiseConv2d:
        set_window<DepthwiseConv2dParams>();
        add_map(options.in_channels, options.rows);
        add_packed({options.in_channels, 1, options.kernel, options.kernel});
        add_packed({options.in_channels});
        add_map(options.in_channels, out_rows);
        break;
      case OpKind::MatMul:
        add({1, options.in_channels}, Layout::Plain);
        add_packed({options.in_channels, options.out_channels});
        add_packed({options.out_channels});
        add({1, options.out_channels}, Layout::Plain);
        break;
      case OpKind::Pool2d: {
        auto& params = set_window<Pool2dParams>();
        params.kind = kPool2dMax;
        params.kernel_h = params.kernel_w = options.kernel;
        add_map(options.in_channels, options.rows);
        add_map(options.in_channels, out_rows);
        break;
      }
      case OpKind::Binary:
      case OpKind::Concat:
        add_map(options.in_channels, options.rows);
        [[fallthrough]];
      default:
        add_map(options.in_channels, options.rows);
        add_map(row_.op == OpKind::Concat ? 2 * options.in_channels : options.in_channels,
                options.rows);
    }
  }

  // The shape is valid as long as this object lives.
  kernels::StepShape shape() const {
    kernels::StepShape step;
    step.kernel = &row_;
    step.params = params_.data();
    step.operands = operands_.data();
    step.operand_count = operand_count_;
    step.part_dim = options_.part_dim;
    step.part = options_.part;
    return step;
  }

 private:
  template <typename Params>
  Params& set_window() {
    static_assert(sizeof(Params) <= sizeof(params_));
    Params& params = *new (params_.data()) Params;
    params.stride_h = params.stride_w = options_.stride;
    params.dilation_h = params.dilation_w = 1;
    params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = options_.kernel / 2;
    return params;
  }

  kernels::OperandShape& add(std::initializer_list<int32_t> dims, Layout layout) {
    kernels::OperandShape& shape = operands_[operand_count_++];
    shape.layout = layout;
    shape.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), shape.dims);
    return shape;
  }

  void add_map(int32_t channels, int32_t rows) {
    const Layout layout = row_.layout == Layout::Image2d ? Layout::Image2d : Layout::Nhwc;
    kernels::OperandShape& shape = add({1, channels, rows, rows}, layout);
    shape.row_end = rows;
    if (layout == Layout::Nhwc)
      shape.bytes = static_cast<uint64_t>(kernels::stored_elements(shape)) * sizeof(float);
  }

  void add_packed(std::initializer_list<int32_t> dims) {
    kernels::OperandShape& shape = add(dims, Layout::Packed);
    shape.bytes = kernels::packed_bytes({row_.packing_of(operand_count_ - 1), shape.dtype},
                                        shape.dims, shape.rank, 1);
  }

  const KernelInfo& row_;
  Options options_;
  alignas(4) std::array<uint8_t, 64> params_ = {};  // zero: no activation, no residual
  std::array<kernels::OperandShape, 4> operands_;
  uint32_t operand_count_ = 0;
};

}  // namespace codl::compiler
