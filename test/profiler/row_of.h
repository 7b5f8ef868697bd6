// A row of kernels.def by its symbol.
#pragma once

#include <string_view>

#include "kernels/kernel_table.h"
#include "test/support/catch.h"

namespace codl::profiler {

inline const KernelRow& row_of(std::string_view symbol) {
  for (const KernelRow& row : kKernelRows)
    if (symbol == row.symbol) return row;
  FAIL("no row " << symbol);
  return kKernelRows[0];
}

}  // namespace codl::profiler
