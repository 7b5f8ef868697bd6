// Binary computes y = activation(a op b), element by element with ONNX (numpy) broadcasting; op is
// a member of the family Binary, the activation a member of Unary that is_activation() (ops.def).
//
//   Add, Sub, Mul        a + b, a - b, a b
//   Div                  a / b; of integers towards zero
//   Pow                  a^b
//   Min, Max             a NaN in a or b gives a NaN
//   Mod                  a - b floor(a / b): the sign of b
//   Fmod                 a - b trunc(a / b): the sign of a
//   PRelu                a < 0 ? a b : a
//   Equal, Less ...      bool; of floats, integers; Equal of bool too
//   And, Or, Xor         of bool
//   BitwiseAnd ...       of integers
//   ShiftLeft, ShiftRight  of integers, a by b bits; a b outside [0, bits) shifts everything out
//                        (-1 remains of a negative number to the right)
//
// The first rows are for f32, for f64 (plain loops) and for integers, which are computed modulo
// 2^bits: a / 0, a mod 0 and a^b for b < 0 and |a| > 1 are 0, as is 0^b for b < 0. F32 rows have
// those from f32 to f32. An activation is for f32 only.
//
//   y     Plain of any rank, Nhwc, or Image2d (image kernel)
//   a, b  dims aligned to y's from the right, each dim y's or 1, and that of one of the two y's
//
// CPU kernel, y Plain: a and b Plain. CPU kernel, y Nhwc: a and b each Nhwc, or Plain of rank <= 4
// (a scalar, [c, 1, 1] ...; another shape works and is slow). Buffer kernel: as the CPU kernel, but
// each of a and b has y's layout and dims, or is Plain and a scalar (one element), or, for y Nhwc,
// Plain with one element per channel ([1, c, 1, 1] or [c, 1, 1]) or Nhwc with one pixel ([1, c, 1,
// 1] or [n, c, 1, 1]). Image kernel: the same with Image2d for Nhwc. Broadcast kernel (GPU): y, a
// and b Plain, a or b of none of the shapes that the buffer kernel takes.
//
// Windows of rows: an Nhwc or Image2d operand holds the rows of the part, or its one row where its
// dim is 1. Parts: Height and OutputChannel for Nhwc and Image2d; none for Plain. Pad lanes of y
// are written as zero. y must not overlap a or b. Nothing past the end is read.
#pragma once

#include "kernels/common/activation/activation.h"
#include "kernels/common/contract/broadcast.h"
#include "kernels/common/contract/elementwise.h"

namespace codl::kernels {

// Returns whether the CPU kernel has loops of its own for the member.
constexpr bool is_arithmetic(int32_t kind) {
  return kind == kBinaryAdd || kind == kBinarySub || kind == kBinaryMul || kind == kBinaryDiv;
}

// Says how a broadcast operand lies under the output, in the cases that GPU kernels tell apart.
enum class BinaryOperand : int32_t {
  Same = 0,        // it has the output's dims and layout
  Scalar = 1,      // Plain, one element
  PerChannel = 2,  // it is Plain with one element per channel of an Nhwc or Image2d output
  OnePixel = 3,    // it has the output's layout and channels, one row and one column
  General = 4,     // it is broadcast otherwise; CPU kernel, and of a Plain output the broadcast
                   // kernel
};

constexpr BinaryOperand binary_operand_of(const OperandShape& operand, const OperandShape& y) {
  if (operand.layout == y.layout && same_dims(operand, y)) return BinaryOperand::Same;
  if (has_pixels(operand) && operand.dims[1] == y.dims[1] && operand.dims[2] == 1 &&
      operand.dims[3] == 1)
    return BinaryOperand::OnePixel;
  if (operand.layout != Layout::Plain) return BinaryOperand::General;
  const int64_t count = element_count(operand);
  if (count == 1) return BinaryOperand::Scalar;
  const int32_t axis = operand.rank - 3;  // the axis of the channels, aligned from the right
  if (has_pixels(y) && axis >= 0 && operand.dims[axis] == y.dims[1] && count == y.dims[1])
    return BinaryOperand::PerChannel;
  return BinaryOperand::General;
}

// Returns the dtype of y for a and b of `dtype`; Any if there is no such member, or not for this
// dtype.
constexpr DType binary_output_dtype(int32_t kind, DType dtype) {
  switch (kind) {
    case kBinaryEqual:
      return is_number(dtype) || dtype == DType::Bool ? DType::Bool : DType::Any;
    case kBinaryLess:
    case kBinaryLessOrEqual:
    case kBinaryGreater:
    case kBinaryGreaterOrEqual:
      return is_number(dtype) ? DType::Bool : DType::Any;
    case kBinaryAnd:
    case kBinaryOr:
    case kBinaryXor:
      return dtype == DType::Bool ? dtype : DType::Any;
    case kBinaryBitwiseAnd:
    case kBinaryBitwiseOr:
    case kBinaryBitwiseXor:
    case kBinaryShiftLeft:
    case kBinaryShiftRight:
      return is_integer(dtype) ? dtype : DType::Any;
    default:
      return is_number(dtype) && !member_name(OpKind::Binary, kind).empty() ? dtype : DType::Any;
  }
}

// Returns a op b for one pair of f32, where op is a member from f32 to f32.
float binary_value_ref(int32_t kind, float a, float b);

void binary_ref(const KernelArgs& args);
void binary_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
