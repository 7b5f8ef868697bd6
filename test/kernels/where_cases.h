// Covers broadcasts of each of the three inputs; every size of element.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> where_cases() {
  std::vector<KernelCase> cases;
  using Dims = std::initializer_list<int32_t>;
  const auto add = [&](const char* name, DType dtype, Dims condition, Dims a, Dims b, Dims y) {
    cases.push_back({name,
                     OpKind::Where,
                     {},
                     {typed_operand(DType::Bool, condition), typed_operand(dtype, a),
                      typed_operand(dtype, b), typed_operand(dtype, y)}});
  };
  for (DType dtype : {DType::F32, DType::Bool, DType::U8, DType::BF16, DType::I32, DType::I64}) {
    add("same", dtype, {3, 17}, {3, 17}, {3, 17}, {3, 17});
    add("scalars", dtype, {}, {}, {}, {});
    add("one condition", dtype, {1}, {5, 4}, {4}, {5, 4});
    add("a mask", dtype, {1, 1, 6, 6}, {2, 3, 6, 6}, {}, {2, 3, 6, 6});
    add("all three grow", dtype, {2, 1, 1, 4, 1}, {3, 1, 1, 5}, {1, 1, 7, 1, 1}, {2, 3, 7, 4, 5});
  }
  return cases;
}

}  // namespace codl::test
