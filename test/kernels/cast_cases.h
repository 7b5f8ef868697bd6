// Covers every pair of dtypes, with more elements than a block.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> cast_cases() {
  std::vector<KernelCase> cases;
  for (uint8_t from = 1; from < kDTypeEnd; ++from)
    for (uint8_t to = 1; to < kDTypeEnd; ++to)
      cases.push_back({"cast",
                       OpKind::Cast,
                       words_of(CastParams{.to = to}),
                       {typed_operand(static_cast<DType>(from), {2, 3, 1, 17, 5}),
                        typed_operand(static_cast<DType>(to), {2, 3, 1, 17, 5})}});
  return cases;
}

}  // namespace codl::test
