// The operands of the nodes that shrinking changes, which are the same for convolutions and MatMul.
#pragma once

#include <cstdint>

namespace codl::compiler {

inline constexpr uint32_t kX = 0, kW = 1, kBias = 2, kResidual = 3;

}  // namespace codl::compiler
