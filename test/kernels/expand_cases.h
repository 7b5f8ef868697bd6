// Covers dims of one and missing dims at every place, every element size.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> expand_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, DType dtype, std::initializer_list<int32_t> x,
                       std::initializer_list<int32_t> y) {
    cases.push_back({name, OpKind::Expand, {}, {typed_operand(dtype, x), typed_operand(dtype, y)}});
  };
  add("scalar to scalar", DType::F32, {}, {});
  add("same dims", DType::F32, {3, 4}, {3, 4});
  add("rank 8", DType::F32, {1, 2, 1, 3, 1}, {2, 1, 2, 2, 2, 2, 3, 2});
  for (DType dtype : {DType::Bool, DType::F16, DType::F32, DType::I64}) {
    add("scalar", dtype, {}, {3, 35});
    add("rows", dtype, {35}, {4, 35});
    add("columns", dtype, {4, 1}, {4, 35});
    add("both", dtype, {3, 1, 5, 1}, {3, 4, 5, 6});
  }
  return cases;
}

}  // namespace codl::test
