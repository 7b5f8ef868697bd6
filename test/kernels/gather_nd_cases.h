// Covers tuples that name elements, rows and planes, with and without batch dims.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> gather_nd_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t batch_dims, const OperandShape& data,
                       std::initializer_list<int32_t> indices,
                       std::initializer_list<int32_t> output) {
    GatherNdParams params;
    params.batch_dims = batch_dims;
    cases.push_back(
        {name,
         OpKind::GatherNd,
         words_of(params),
         {data, typed_operand(DType::I64, indices), typed_operand(data.dtype, output)}});
  };
  add("one element", 0, plain_operand({5}), {1}, {});
  add("elements", 0, plain_operand({3, 4}), {6, 2}, {6});
  add("rows", 0, plain_operand({3, 4, 17}), {2, 2, 2}, {2, 2, 17});
  add("planes", 0, plain_operand({3, 4, 5}), {2, 1}, {2, 4, 5});
  add("batch", 1, plain_operand({2, 3, 4}), {2, 5, 1}, {2, 5, 4});
  add("two batch dims", 2, plain_operand({2, 3, 4, 5}), {2, 3, 2}, {2, 3});
  for (DType dtype : {DType::Bool, DType::I16, DType::U32, DType::I64})
    add("dtype", 1, typed_operand(dtype, {2, 3, 4}), {2, 3, 1}, {2, 3, 4});
  return cases;
}

}  // namespace codl::test
