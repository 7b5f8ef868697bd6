// Rules that several operators share: limits of a type, windows that slide over an axis.
#pragma once

#include "compiler/ops/op_spec.h"

namespace codl::compiler {

// A plain type with these dims. Errors: Input, naming `where`, if a dim is not positive;
// Unsupported, if the value is larger than the runtime's contracts allow (kMaxDim, kMaxElements,
// kMaxRank; rank 4 is counted with its channels padded as in Nhwc).
llvm::Expected<ir::TensorType> checked_type(llvm::StringRef where, DType dtype,
                                            llvm::ArrayRef<int64_t> dims);

// Unless operand `i` exists (Input error), is of the dtype (Unsupported) and has `rank` dims
// (Input; any rank if negative).
llvm::Error expect_operand(const ir::NodeView& node, uint32_t i, int32_t rank,
                           DType dtype = DType::F32);
// Unless operand `i` exists (Input error) and has one of `dtypes` (Unsupported; empty: any).
llvm::Error expect_typed(const ir::NodeView& node, uint32_t i, llvm::ArrayRef<DType> dtypes = {});
llvm::Error expect_operand_count(const ir::NodeView& node, uint32_t count);

// The dims that these operands broadcast to (numpy: aligned at the last, a missing one counts as
// 1). Errors: Input, if there are none.
llvm::Expected<llvm::SmallVector<int64_t, 8>> broadcast_dims(const ir::NodeView& node,
                                                             llvm::ArrayRef<uint32_t> operands);

// One spatial axis of a convolution or pooling.
struct WindowAxis {
  int64_t in = 1;  // elements of the input along the axis
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  // From the window's first tap to behind its last.
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  int64_t first_tap(int64_t output) const { return output * stride - pad_begin; }
};

// Input error unless every member is in a range that cannot overflow: kernel, stride, dilation at
// least 1, pads at least 0, all at most kMaxDim.
llvm::Error check_window(llvm::StringRef where, const WindowAxis& axis);

// Number of windows. With `ceil_mode` the last window may hang over the end, but not begin behind
// the input and its leading pad (ONNX since opset 19, PyTorch, ONNX Runtime always). Less than 1 if
// no window fits. The axis has passed check_window().
int64_t window_count(const WindowAxis& axis, bool ceil_mode);

// Input elements from the first tap of the first window of `output` to behind the last tap of the
// last, clipped to the input: what the kernels' contracts ask for. Where a dilated window begins or
// ends in the padding, its outermost taps inside may be up to dilation - 1 elements further in.
// Never empty: windows that lie in the padding altogether name the element next to them, so that
// every part has an operand.
Range window_input_range(const WindowAxis& axis, Range output);

// Rules for an output [n, c, h, w]: Height if `height`, OutputChannel if `channels`. A dim with no
// place to cut gets no rule.
llvm::SmallVector<SplitRule, 2> split_rules(const ir::TensorType& output, bool height,
                                            bool channels);

// Says whether an element-wise operator has kernels of f32 on both sides. Those compute every
// layout and any part; the kernel of any dtype computes the whole, in Plain.
bool has_f32_kernels(const ir::NodeView& node);
llvm::SmallVector<SplitRule, 2> elementwise_splits(const ir::NodeView& node);

}  // namespace codl::compiler
