// Every kind and layout, pads of none, few and more than the dim, with and without a value.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> pad_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t kind, bool has_value, const OperandShape& x,
                       const std::vector<int32_t>& begin, const std::vector<int32_t>& end) {
    KernelCase item;
    item.name = name;
    item.op = OpKind::Pad;
    item.params.assign(sizeof(PadParams) / 4, 0);
    item.params[0] = kind;
    item.params[1] = has_value ? 1 : 0;
    OperandShape y = x;  // Nhwc: all rows held
    for (size_t i = 0; i < begin.size(); ++i) {
      item.params[2 + i] = begin[i];
      item.params[2 + kMaxRank + i] = end[i];
      y.dims[i] += begin[i] + end[i];
    }
    if (y.layout == Layout::Nhwc) y.row_end = y.dims[2];
    y.bytes = static_cast<uint64_t>(kernels::stored_elements(y)) * dtype_bytes(y.dtype);
    item.operands = {x};
    if (has_value) item.operands.push_back(typed_operand(x.dtype, {}));
    item.operands.push_back(y);
    cases.push_back(item);
  };
  for (int32_t kind : {kPadConstant, kPadReflect, kPadEdge, kPadWrap}) {
    add("scalar", kind, false, plain_operand({}), {}, {});
    add("no pad", kind, false, plain_operand({3, 5}), {0, 0}, {0, 0});
    add("vector", kind, false, plain_operand({5}), {2}, {3});
    add("more than the dim", kind, false, plain_operand({3, 2}), {7, 1}, {4, 9});
    add("dims of one", kind, false, plain_operand({1, 4, 1}), {2, 0, 1}, {0, 1, 3});
    add("map", kind, false, plain_operand({2, 3, 6, 7}), {0, 0, 1, 2}, {0, 0, 3, 1});
    add("rank 5", kind, false, plain_operand({2, 3, 4, 5, 3}), {0, 0, 1, 2, 1}, {0, 0, 2, 0, 1});
    add("rank 8", kind, false, plain_operand({1, 2, 1, 2, 3, 1, 2, 2}), {0, 1, 0, 0, 1, 0, 0, 1},
        {1, 0, 0, 1, 0, 0, 0, 1});
    for (int32_t channels : {1, 4, 5, 16, 35})
      add("pixels", kind, false, nhwc_operand({2, channels, 5, 4}), {0, 0, 1, 2}, {0, 0, 3, 1});
    add("no pixels", kind, false, nhwc_operand({1, 3, 5, 4}), {0, 0, 0, 0}, {0, 0, 0, 0});
    add("pixels of one", kind, false, nhwc_operand({1, 3, 1, 1}), {0, 0, 2, 0}, {0, 0, 1, 3});
    add("more pixels than there are", kind, false, nhwc_operand({1, 8, 2, 3}), {0, 0, 5, 7},
        {0, 0, 4, 9});
    add("tasks of pixels", kind, false, nhwc_operand({2, 17, 30, 40}), {0, 0, 1, 1}, {0, 0, 1, 1});
    for (DType dtype : {DType::Bool, DType::U16, DType::I64})
      add("dtype", kind, false, typed_operand(dtype, {3, 4}), {1, 2}, {2, 1});
  }
  for (int32_t channels : {1, 4, 7, 20})
    for (int32_t end : {0, 1, 5, 16}) {
      add("channels behind", kPadConstant, end == 5, nhwc_operand({2, channels, 5, 4}),
          {0, 0, 0, 0}, {0, end, 0, 0});
      add("channels and pixels", kPadConstant, end == 5, nhwc_operand({2, channels, 5, 4}),
          {0, 3, 1, 2}, {0, end, 3, 1});
    }
  add("value", kPadConstant, true, plain_operand({2, 3}), {1, 1}, {0, 2});
  add("value of pixels", kPadConstant, true, nhwc_operand({2, 3, 4, 5}), {0, 0, 1, 1},
      {0, 0, 0, 2});
  add("value of a dtype", kPadConstant, true, typed_operand(DType::I8, {2, 3}), {1, 1}, {0, 2});
  return cases;
}

}  // namespace codl::test
