// Declares rules that several operators share: limits of types, windows that slide along an axis.
#pragma once

#include "compiler/ops/op_spec.h"

namespace codl::compiler {

// Returns a plain type with these dims. Returns an Input error, naming `where`, if a dim is not
// positive, and an Unsupported error if the value is larger than the runtime's contracts allow
// (kMaxDim, kMaxElements, kMaxRank; rank 4 is counted with its channels padded as in Nhwc).
llvm::Expected<ir::TensorType> checked_type(llvm::StringRef where, DType dtype,
                                            llvm::ArrayRef<int64_t> dims);

// Returns an Input error unless operand `i` exists and has `rank` dims (any rank if negative);
// returns an Unsupported error unless it has the dtype.
llvm::Error expect_operand(const ir::NodeView& node, uint32_t i, int32_t rank,
                           DType dtype = DType::F32);
// Returns an Input error unless operand `i` exists; Unsupported error unless it has one of `dtypes`
// (empty: any).
llvm::Error expect_typed(const ir::NodeView& node, uint32_t i, llvm::ArrayRef<DType> dtypes = {});
llvm::Error expect_operand_count(const ir::NodeView& node, uint32_t count);

// Returns the dims that these operands broadcast to (as in numpy: aligned at the last, a missing
// dim counts as 1). Returns an Input error if there are none.
llvm::Expected<llvm::SmallVector<int64_t, 8>> broadcast_dims(const ir::NodeView& node,
                                                             llvm::ArrayRef<uint32_t> operands);

// Describes one spatial axis of a convolution or pooling.
struct WindowAxis {
  int64_t in = 1;  // elements of the input along the axis
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  // Returns the distance from the window's first tap to the end of its last.
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  int64_t first_tap(int64_t output) const { return output * stride - pad_begin; }
};

// Returns an Input error unless every member is in a range that cannot overflow: kernel, stride and
// dilation at least 1, pads at least 0, all at most kMaxDim.
llvm::Error check_window(llvm::StringRef where, const WindowAxis& axis);

// Returns the number of windows; less than 1 if none fits. With `ceil_mode` the last window may
// hang over the end, but not begin after the input and its leading pad (as in ONNX since opset 19
// and in PyTorch; ONNX Runtime always does this). The axis must have passed check_window().
int64_t window_count(const WindowAxis& axis, bool ceil_mode);

// Returns the input elements that the windows of `output` read, from the first tap of the first to
// the last tap of the last, clipped to the input. The kernels' contracts ask for this range. Where
// a dilated window begins or ends in the padding, its outermost taps inside may be up to dilation -
// 1 elements further in. The range is never empty: windows that lie in the padding altogether name
// the element next to them, so that every part has an operand.
Range window_input_range(const WindowAxis& axis, Range output);

// Returns the rules for an output [n, c, h, w]: Height if `height`, OutputChannel if `channels`. A
// dim with no place to cut gets no rule.
llvm::SmallVector<SplitRule, 2> split_rules(const ir::TensorType& output, bool height,
                                            bool channels);

// Says whether an element-wise operator has kernels of f32 on both sides. Those compute every
// layout and any part; the kernel of any dtype computes the whole, in Plain.
bool has_f32_kernels(const ir::NodeView& node);
llvm::SmallVector<SplitRule, 2> elementwise_splits(const ir::NodeView& node);

}  // namespace codl::compiler
