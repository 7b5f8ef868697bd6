// Covers every axis; indices of rank 0 to 3, inside and outside; elements and slices.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> gather_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t axis, const OperandShape& data,
                       std::initializer_list<int32_t> indices,
                       std::initializer_list<int32_t> output) {
    GatherParams params;
    params.axis = axis;
    cases.push_back(
        {name,
         OpKind::Gather,
         words_of(params),
         {data, typed_operand(DType::I64, indices), typed_operand(data.dtype, output)}});
  };
  add("element", 0, plain_operand({5}), {}, {});
  add("elements", 0, plain_operand({5}), {7}, {7});
  add("rows", 0, plain_operand({5, 33}), {2, 3}, {2, 3, 33});
  add("columns", 1, plain_operand({5, 33}), {4}, {5, 4});
  add("middle axis", 1, plain_operand({2, 3, 4}), {2, 1, 2}, {2, 2, 1, 2, 4});
  add("axis that goes", 1, plain_operand({2, 3, 4}), {}, {2, 4});
  for (DType dtype : {DType::Bool, DType::BF16, DType::I32, DType::I64})
    add("dtype", 1, typed_operand(dtype, {3, 4, 3}), {5}, {3, 5, 3});
  return cases;
}

}  // namespace codl::test
