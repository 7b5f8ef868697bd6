// Covers inputs whose channels do not end at a multiple of 4, every axis, 1 to 15 inputs.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> concat_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t axis, std::vector<OperandShape> operands,
                       Range part = {}) {
    ConcatParams params;
    params.axis = axis;
    cases.push_back({name, OpKind::Concat, words_of(params), std::move(operands),
                     part.empty() ? SplitDim::None : SplitDim::Height, part});
  };
  const auto add_channels = [&](const char* name, const std::vector<int32_t>& channels) {
    std::vector<OperandShape> operands;
    int32_t sum = 0;
    for (int32_t count : channels) {
      operands.push_back(nhwc_operand({2, count, 3, 5}));
      sum += count;
    }
    operands.push_back(nhwc_operand({2, sum, 3, 5}));
    add(name, 1, std::move(operands));
  };
  add_channels("one input", {5});
  add_channels("whole pixels", {16, 32, 4});
  add_channels("odd channels", {1, 3, 5, 17});
  add_channels("more than a vector", {21, 149, 16});
  add_channels("fifteen inputs", {1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 2, 1});
  add("windows", 1,
      {nhwc_operand({2, 5, 8, 3}, {0, 6}), nhwc_operand({2, 6, 8, 3}, {2, 8}),
       nhwc_operand({2, 11, 8, 3}, {2, 5})});
  add("part of rows", 1,
      {nhwc_operand({2, 5, 8, 3}, {0, 6}), nhwc_operand({2, 6, 8, 3}, {2, 8}),
       nhwc_operand({2, 11, 8, 3}, {1, 7})},
      {3, 5});
  add("batch of pixels", 0,
      {nhwc_operand({1, 5, 2, 3}), nhwc_operand({2, 5, 2, 3}), nhwc_operand({3, 5, 2, 3})});
  add("rows of pixels", 2,
      {nhwc_operand({2, 5, 1, 3}), nhwc_operand({2, 5, 4, 3}), nhwc_operand({2, 5, 5, 3})});
  add("columns of pixels", 3,
      {nhwc_operand({2, 5, 4, 3}, {1, 4}), nhwc_operand({2, 5, 4, 1}), nhwc_operand({2, 5, 4, 4})},
      {2, 4});
  add("plain vector", 0, {plain_operand({3}), plain_operand({1}), plain_operand({4})});
  add("plain, first axis", 0,
      {plain_operand({2, 3, 4}), plain_operand({1, 3, 4}), plain_operand({3, 3, 4})});
  add("plain, middle axis", 1,
      {plain_operand({2, 3, 4}), plain_operand({2, 5, 4}), plain_operand({2, 8, 4})});
  add("plain, last axis", 2,
      {plain_operand({2, 3, 4}), plain_operand({2, 3, 21}), plain_operand({2, 3, 25})});
  add("plain, rank 5", 1,
      {plain_operand({2, 3, 2, 5, 3}), plain_operand({2, 1, 2, 5, 3}),
       plain_operand({2, 4, 2, 5, 3})});
  add("tasks", 1,
      {nhwc_operand({2, 17, 5, 80}), nhwc_operand({2, 5, 5, 80}), nhwc_operand({2, 22, 5, 80})});
  add("tasks of a plain tensor", 1,
      {plain_operand({30, 1000}), plain_operand({30, 17}), plain_operand({30, 1017})});
  for (DType dtype : {DType::Bool, DType::F16, DType::I32, DType::I64})
    add("dtype", 1,
        {typed_operand(dtype, {2, 3, 4}), typed_operand(dtype, {2, 1, 4}),
         typed_operand(dtype, {2, 4, 4})});
  return cases;
}

}  // namespace codl::test
