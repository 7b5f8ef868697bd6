// Which members of the family Unary may follow the arithmetic of a convolution, matrix product or
// binary operator as its activation.
#pragma once

#include "schema/tables.h"

namespace codl::kernels {

// Those from f32 to f32, which are the ones that the F32 rows of Unary compute: activation-inl.h
// and prelude.cl have them all.
constexpr bool is_activation(int32_t kind) { return kind >= kUnaryIdentity && kind <= kUnaryAtanh; }
static_assert(kUnaryIdentity == 0 && kUnaryAtanh == 40 && kUnaryNot == 41);

}  // namespace codl::kernels
