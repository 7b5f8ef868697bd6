// Covers one, some and all of the elements, along every axis.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> top_k_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t axis, int32_t k, int32_t is_smallest,
                       std::initializer_list<int32_t> dims) {
    TopKParams params;
    params.axis = axis;
    params.k = k;
    params.is_smallest = is_smallest;
    OperandShape x = plain_operand(dims);
    OperandShape y = x;
    y.dims[axis] = k;
    y.dtype = DType::I64;
    y.bytes = static_cast<uint64_t>(kernels::element_count(y)) * sizeof(int64_t);
    cases.push_back({name, OpKind::TopK, words_of(params), {x, y}});
  };
  for (int32_t k : {1, 2, 5, 33, 100}) add("last axis", 1, k, k % 2, {3, 100});
  for (int32_t axis = 0; axis < 3; ++axis) add("some axis", axis, 3, 0, {4, 5, 7});
  add("rank 5", 1, 2, 0, {2, 5, 3, 1, 7});
  add("one", 0, 1, 1, {1});
  return cases;
}

}  // namespace codl::test
