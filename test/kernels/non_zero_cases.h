// Covers every dtype, ranks 0 to 8.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> non_zero_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, const OperandShape& x) {
    const int32_t elements = static_cast<int32_t>(kernels::element_count(x));
    cases.push_back({name,
                     OpKind::NonZero,
                     {},
                     {x, typed_operand(DType::I64, {x.rank == 0 ? 1 : x.rank, elements})}});
  };
  add("scalar", typed_operand(DType::Bool, {}));
  add("map", typed_operand(DType::Bool, {2, 3, 5, 7}));
  add("rank 8", typed_operand(DType::Bool, {2, 1, 3, 2, 1, 2, 3, 2}));
  for (uint8_t dtype = 1; dtype < kDTypeEnd; ++dtype)
    add("dtype", typed_operand(static_cast<DType>(dtype), {4, 23}));
  return cases;
}

}  // namespace codl::test
