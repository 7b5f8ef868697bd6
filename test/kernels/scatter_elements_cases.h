// Covers every axis and reduction; indices that meet, and that lie outside.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> scatter_elements_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t axis, int32_t reduction, const OperandShape& data,
                       std::initializer_list<int32_t> indices) {
    ScatterElementsParams params;
    params.axis = axis;
    params.reduction = reduction;
    cases.push_back(
        {name,
         OpKind::ScatterElements,
         words_of(params),
         {data, typed_operand(DType::I64, indices), typed_operand(data.dtype, indices), data}});
  };
  add("vector", 0, kScatterElementsNone, plain_operand({5}), {9});
  add("first axis", 0, kScatterElementsNone, plain_operand({5, 7}), {3, 6});
  add("rank 5", 2, kScatterElementsNone, plain_operand({2, 1, 3, 2, 2}), {1, 1, 4, 2, 1});
  for (DType dtype : {DType::Bool, DType::F16, DType::F64})
    add("moved only", 0, kScatterElementsNone, typed_operand(dtype, {3, 4}), {3, 4});
  for (int32_t reduction :
       {kScatterElementsAdd, kScatterElementsMul, kScatterElementsMin, kScatterElementsMax})
    for (DType dtype : {DType::F32, DType::I64, DType::I8, DType::U8, DType::I16, DType::U16,
                        DType::I32, DType::U32, DType::U64})
      add("reduction", 1, reduction, typed_operand(dtype, {3, 4, 2}), {3, 8, 1});
  return cases;
}

}  // namespace codl::test
