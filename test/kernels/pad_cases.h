// SKELETON
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> pad_cases() { return {}; }

}  // namespace codl::test
