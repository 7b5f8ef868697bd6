#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> reshape_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, const OperandShape& x, const OperandShape& y) {
    cases.push_back({name, OpKind::Reshape, {}, {x, y}});
  };
  add("scalar", plain_operand({}), plain_operand({1, 1}));
  add("flatten", plain_operand({2, 3, 5, 7}), plain_operand({2, 105}));
  add("rank 3 to rank 5", plain_operand({2, 15, 14}), plain_operand({2, 3, 5, 2, 7}));
  add("tasks", plain_operand({301, 203}), plain_operand({203, 301}));
  for (DType dtype : {DType::Bool, DType::F16, DType::I32, DType::I64})
    add("dtype", typed_operand(dtype, {3, 4}), typed_operand(dtype, {2, 6}));
  return cases;
}

}  // namespace codl::test
