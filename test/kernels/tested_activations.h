// Lists activations for the cases of operators that take one.
#pragma once

#include "schema/tables.h"

namespace codl::test {

// Limits, curves, both kinds of parameters, and functions that are not zero at zero, as pad lanes
// must be. All are continuous, so that a rounding error before them stays one. unary_cases.h has
// all functions; how each is computed does not depend on the operator.
inline constexpr int32_t kTestedActivations[] = {
    kUnaryIdentity,  kUnaryRelu,  kUnaryLeakyRelu, kUnaryClip, kUnarySigmoid, kUnaryTanh,
    kUnaryHardSwish, kUnarySwish, kUnaryGelu,      kUnaryElu,  kUnaryCos,
};

}  // namespace codl::test
