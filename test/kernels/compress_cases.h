// Covers every axis; conditions are shorter and longer than the dim.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> compress_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t axis, const OperandShape& x, int32_t condition,
                       std::initializer_list<int32_t> y) {
    CompressParams params;
    params.axis = axis;
    cases.push_back({name,
                     OpKind::Compress,
                     words_of(params),
                     {x, typed_operand(DType::Bool, {condition}), typed_operand(x.dtype, y)}});
  };
  add("vector", 0, plain_operand({17}), 17, {17});
  add("rows", 0, plain_operand({9, 5}), 9, {9, 5});
  add("columns", 1, plain_operand({5, 9}), 9, {5, 9});
  add("short condition", 1, plain_operand({5, 9}), 4, {5, 4});
  add("long condition", 1, plain_operand({2, 3, 4}), 7, {2, 3, 4});
  add("rank 5", 2, plain_operand({2, 3, 5, 2, 3}), 5, {2, 3, 5, 2, 3});
  for (DType dtype : {DType::Bool, DType::U16, DType::I32, DType::I64})
    add("dtype", 1, typed_operand(dtype, {2, 6, 3}), 6, {2, 6, 3});
  return cases;
}

}  // namespace codl::test
