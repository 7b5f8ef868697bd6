// SKELETON
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> top_k_cases() { return {}; }

}  // namespace codl::test
