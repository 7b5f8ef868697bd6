// Random gives random numbers: element i of y comes from words of Philox at counter (i / 4, 0,
// stream, 0), with the key `seed` (has_seed) or that of the session, KernelArgs::session_seed.
//
//   x  Plain, any dtype and dims: not read. It makes the node wait for an input of the network, so
//      that it is computed in every run and is no constant.
//   y  Plain f32 of the output's own dims
//
// kind Normal: location + scale * n, where n has mean 0 and variance 1, by the method of Box and
// Muller; Uniform: at least location, less than location + scale (or equal to it by rounding).
//
// No parts; one task.
#pragma once

#include "kernels/common/contract/move_elements.h"

namespace codl::kernels {

// Is the largest |n|.
inline constexpr double kMaxRandomNormal = 6.77;

void random_ref(const KernelArgs& args);

}  // namespace codl::kernels
