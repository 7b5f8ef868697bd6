// Covers every axis, in both directions, with and without the element itself; every dtype.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> cumulate_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, CumulateParams params, const OperandShape& shape) {
    cases.push_back({name, OpKind::Cumulate, words_of(params), {shape, shape}});
  };
  for (int32_t bits = 0; bits < 8; ++bits)
    for (int32_t axis = 0; axis < 5; ++axis)
      add("axis",
          {.axis = axis,
           .is_product = bits & 1,
           .is_exclusive = bits >> 1 & 1,
           .is_reverse = bits >> 2},
          plain_operand({2, 3, 1, 5, 17}));
  for (uint8_t dtype = 1; dtype < kDTypeEnd; ++dtype)
    if (is_integer(static_cast<DType>(dtype)))
      for (int32_t is_product : {0, 1})
        add("typed", {.axis = 0, .is_product = is_product},
            typed_operand(static_cast<DType>(dtype), {70}));
  add("one", {.axis = 0}, plain_operand({1}));
  return cases;
}

}  // namespace codl::test
