// Finds a kernel of kernels.def by its symbol.
#pragma once

#include <string_view>

#include "kernels/kernel_table.h"
#include "test/support/catch.h"

namespace codl::profiler {

inline const KernelInfo& kernel_of(std::string_view symbol) {
  for (const KernelInfo& kernel : kKernelInfos)
    if (symbol == kernel.symbol) return kernel;
  FAIL("no kernel " << symbol);
  return kKernelInfos[0];
}

}  // namespace codl::profiler
