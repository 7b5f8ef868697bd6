// Unary computes y = f(x), element by element; f is a member of the family Unary (ops.def).
//
//   x, y  the same dims and the same layout: Plain of any rank, Nhwc, or Image2d (image kernel)
//
// f32 to f32: schema/activations.def lists the functions with their formulas; the F32 kernels
// compute these, and only these.
//
// The Any row computes other dtypes: Identity of any; Relu, Clip (alpha and beta cut off to
// integers), Abs, Neg, Sign and BitwiseNot of integers, modulo 2^bits; Not of bool; and to bool,
// IsNan of f32 and IsInf of f32, which finds -infinity if alpha is not 0 and +infinity if beta is
// not 0.
//
// A NaN stays a NaN, except in ThresholdedRelu and Shrink, whose comparisons with it are false.
//
// Windows of rows: both must hold the rows of the part. Parts: Height and OutputChannel for Nhwc
// and Image2d; none for Plain. Pad lanes of y are written as zero whatever f(0) is. y must not
// overlap x. Nothing past the end is read.
#pragma once

#include "kernels/common/activation/activation.h"
#include "kernels/common/contract/elementwise.h"

namespace codl::kernels {

// Returns the dtype of f(x) for an x of `dtype`; Any if there is no such member, or not for this
// dtype.
constexpr DType unary_output_dtype(int32_t kind, DType dtype) {
  const bool is_real = dtype == DType::F32 || dtype == DType::F64;
  switch (kind) {
    case kUnaryIdentity:
      return dtype;
    case kUnaryRelu:
    case kUnaryClip:
    case kUnaryAbs:
    case kUnaryNeg:
    case kUnarySign:
      return is_number(dtype) ? dtype : DType::Any;
    case kUnaryNot:
      return dtype == DType::Bool ? dtype : DType::Any;
    case kUnaryBitwiseNot:
      return is_integer(dtype) ? dtype : DType::Any;
    case kUnaryIsNan:
    case kUnaryIsInf:
      return is_real ? DType::Bool : DType::Any;
    default:
      return is_real && !member_name(OpKind::Unary, kind).empty() ? dtype : DType::Any;
  }
}

// Returns f(x) for one f32 element; the reference kernels of every operator with an activation use
// it.
float unary_value_ref(int32_t kind, float alpha, float beta, float x);

void unary_ref(const KernelArgs& args);
void unary_launch(const StepShape& step, ClLaunch* out_launch);

}  // namespace codl::kernels
