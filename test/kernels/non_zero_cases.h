// SKELETON
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> non_zero_cases() { return {}; }

}  // namespace codl::test
