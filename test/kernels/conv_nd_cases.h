// Covers one to three axes, plain and transposed, groups, windows that hang over.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> conv_nd_cases() {
  std::vector<KernelCase> cases;
  using Dims = std::initializer_list<int32_t>;
  ConvNdParams same;
  same.groups = 1;
  same.stride_0 = same.stride_1 = same.stride_2 = 1;
  same.dilation_0 = same.dilation_1 = same.dilation_2 = 1;
  const auto add = [&](const char* name, const ConvNdParams& params, Dims x, Dims w, Dims y,
                       Dims bias = {}) {
    KernelCase item{name, OpKind::ConvNd, words_of(params), {plain_operand(x), plain_operand(w)}};
    if (params.has_bias != 0) item.operands.push_back(plain_operand(bias));
    item.operands.push_back(plain_operand(y));
    cases.push_back(item);
  };
  add("line", same, {2, 3, 9}, {4, 3, 3}, {2, 4, 7});
  add("box", same, {1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {1, 3, 3, 3, 5});
  add("box of two, odd channels", same, {2, 5, 3, 4, 3}, {17, 5, 2, 3, 1}, {2, 17, 2, 2, 3});
  ConvNdParams params = same;
  params.has_bias = 1;
  params.groups = 2;
  params.stride_0 = 2;
  params.stride_1 = 3;
  params.dilation_1 = 2;
  params.pad_begin_0 = params.pad_end_0 = params.pad_begin_1 = 2;
  add("map, groups, pads", params, {1, 4, 7, 9}, {6, 2, 3, 2}, {1, 6, 5, 3}, {6});
  params.pad_begin_1 = -2;
  add("map, negative pads", params, {1, 4, 7, 9}, {6, 2, 3, 2}, {1, 6, 5, 2}, {6});
  params = same;
  params.is_transposed = 1;
  add("line, transposed", params, {2, 3, 9}, {3, 4, 3}, {2, 4, 11});
  params.has_bias = 1;
  params.groups = 2;
  params.stride_0 = 2;
  params.stride_1 = 3;
  params.dilation_0 = 2;
  params.pad_begin_0 = 1;
  params.pad_end_1 = 1;
  params.output_padding_1 = 1;
  add("map, transposed", params, {2, 4, 3, 4}, {4, 3, 3, 2}, {2, 6, 8, 11}, {6});
  KernelCase integers = cases.back();
  integers.name += ", i32";
  for (OperandShape& operand : integers.operands) operand.dtype = DType::I32;
  cases.push_back(integers);
  params.stride_2 = 2;
  params.pad_begin_2 = -3;
  add("box, transposed", params, {1, 2, 3, 2, 3}, {2, 1, 3, 2, 2}, {1, 2, 8, 5, 9}, {2});
  return cases;
}

}  // namespace codl::test
