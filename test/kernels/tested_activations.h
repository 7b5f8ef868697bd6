// Activations for the cases of operators that take one.
#pragma once

#include "schema/tables.h"

namespace codl::test {

// Limits, curves, both kinds of parameters, and members that are not zero at zero, which pad lanes
// must be. Continuous ones: a rounding error of what is in front stays one. All members are in
// unary_cases.h; how each is computed does not depend on the operator.
inline constexpr int32_t kTestedActivations[] = {
    kUnaryIdentity,  kUnaryRelu,  kUnaryLeakyRelu, kUnaryClip, kUnarySigmoid, kUnaryTanh,
    kUnaryHardSwish, kUnarySwish, kUnaryGelu,      kUnaryElu,  kUnaryCos,
};

}  // namespace codl::test
