// Covers every kind over one to three axes; integers; windows that hang over or lie in the padding.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> pool_nd_cases() {
  std::vector<KernelCase> cases;
  using Dims = std::initializer_list<int32_t>;
  PoolNdParams params;
  params.p = 3;
  params.kernel_0 = params.kernel_1 = params.kernel_2 = 2;
  params.stride_0 = params.stride_1 = params.stride_2 = 2;
  params.dilation_0 = params.dilation_1 = params.dilation_2 = 1;
  const auto add = [&](const char* name, int32_t kind, DType dtype, Dims x, Dims y) {
    params.kind = kind;
    cases.push_back({name,
                     OpKind::PoolNd,
                     words_of(params),
                     {typed_operand(dtype, x),
                      typed_operand(kind == kPoolNdMaxIndex ? DType::I64 : dtype, y)}});
  };
  for (int32_t kind : {kPoolNdMax, kPoolNdAverage, kPoolNdLp, kPoolNdMaxIndex}) {
    add("line", kind, DType::F32, {2, 3, 8}, {2, 3, 4});
    add("map", kind, DType::F32, {1, 3, 6, 5}, {1, 3, 3, 2});
    add("box", kind, DType::F32, {1, 2, 4, 5, 6}, {1, 2, 2, 2, 3});
    add("box of two, odd channels", kind, DType::F32, {2, 17, 2, 4, 3}, {2, 17, 1, 2, 1});
    params.pad_begin_0 = 5;
    params.pad_end_1 = 3;
    params.dilation_1 = 2;
    params.ceil_mode = 1;
    add("windows in the padding", kind, DType::F32, {1, 2, 4, 5}, {1, 2, 5, 4});
    params.count_include_pad = 1;
    params.is_column_major = 1;
    add("padding counts", kind, DType::F32, {1, 2, 4, 5}, {1, 2, 5, 4});
    params.pad_begin_0 = params.pad_end_1 = params.ceil_mode = params.count_include_pad = 0;
    params.is_column_major = 0;
    params.dilation_1 = 1;
  }
  for (DType dtype : {DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32,
                      DType::I64, DType::U64})
    for (int32_t kind : {kPoolNdMax, kPoolNdMaxIndex})
      add("integers", kind, dtype, {1, 2, 6, 4}, {1, 2, 3, 2});
  return cases;
}

}  // namespace codl::test
