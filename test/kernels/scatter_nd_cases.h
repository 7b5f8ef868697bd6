// SKELETON
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> scatter_nd_cases() { return {}; }

}  // namespace codl::test
