// Covers tuples that name elements, rows and planes; every reduction; tuples that meet.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> scatter_nd_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t reduction, const OperandShape& data,
                       std::initializer_list<int32_t> indices,
                       std::initializer_list<int32_t> updates) {
    ScatterNdParams params;
    params.reduction = reduction;
    cases.push_back(
        {name,
         OpKind::ScatterNd,
         words_of(params),
         {data, typed_operand(DType::I64, indices), typed_operand(data.dtype, updates), data}});
  };
  add("one element", kScatterElementsNone, plain_operand({5}), {1}, {});
  add("elements", kScatterElementsNone, plain_operand({3, 4}), {6, 2}, {6});
  add("rows", kScatterElementsNone, plain_operand({3, 4, 17}), {2, 2, 2}, {2, 2, 17});
  add("planes", kScatterElementsNone, plain_operand({3, 4, 5}), {2, 1}, {2, 4, 5});
  for (DType dtype : {DType::Bool, DType::BF16, DType::F64})
    add("moved only", kScatterElementsNone, typed_operand(dtype, {3, 4}), {3, 1}, {3, 4});
  for (int32_t reduction :
       {kScatterElementsAdd, kScatterElementsMul, kScatterElementsMin, kScatterElementsMax})
    for (DType dtype : {DType::F32, DType::I64, DType::I8, DType::U32})
      add("reduction", reduction, typed_operand(dtype, {3, 2, 5}), {8, 2}, {8, 5});
  return cases;
}

}  // namespace codl::test
