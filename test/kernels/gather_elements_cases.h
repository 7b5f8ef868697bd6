// Covers every axis; indices are smaller than the data and longer along the axis.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> gather_elements_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t axis, const OperandShape& data,
                       std::initializer_list<int32_t> indices) {
    GatherElementsParams params;
    params.axis = axis;
    cases.push_back(
        {name,
         OpKind::GatherElements,
         words_of(params),
         {data, typed_operand(DType::I64, indices), typed_operand(data.dtype, indices)}});
  };
  add("vector", 0, plain_operand({5}), {9});
  add("first axis", 0, plain_operand({5, 7}), {6, 7});
  add("last axis", 1, plain_operand({5, 7}), {4, 20});
  add("middle axis", 1, plain_operand({2, 3, 4}), {2, 5, 3});
  add("rank 5", 2, plain_operand({2, 1, 3, 2, 2}), {1, 1, 2, 2, 1});
  for (DType dtype : {DType::Bool, DType::I16, DType::U32, DType::U64})
    add("dtype", 0, typed_operand(dtype, {3, 4}), {3, 4});
  return cases;
}

}  // namespace codl::test
