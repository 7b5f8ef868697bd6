// Which members of the family Unary the F32 rows compute, and so may follow the arithmetic of a
// convolution, matrix product or binary operator as its activation.
#pragma once

#include "schema/tables.h"

namespace codl::kernels {

// Those that activation-inl.h and prelude.cl have. The members behind Tanh have the reference
// kernel alone.
constexpr bool is_activation(int32_t kind) { return kind >= kUnaryIdentity && kind <= kUnaryTanh; }
static_assert(kUnaryIdentity == 0 && kUnaryTanh == 5);

}  // namespace codl::kernels
