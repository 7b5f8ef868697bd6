// Covers every axis of both layouts; lengths around the vectors.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> softmax_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t axis, const OperandShape& shape,
                       int32_t is_log = 0) {
    SoftmaxParams params;
    params.axis = axis;
    params.is_log = is_log;
    cases.push_back({name, OpKind::Softmax, words_of(params), {shape, shape}});
  };
  for (int32_t length : {1, 3, 15, 16, 17, 33, 1000})
    add("last axis", 1, plain_operand({3, length}));
  for (int32_t length : {64, 100, 197, 512, 513}) {
    add("shared runs", 1, plain_operand({13, length}));
    add("logarithm of shared runs", 1, plain_operand({5, length}), 1);
  }
  add("vector", 0, plain_operand({10}));
  add("first axis", 0, plain_operand({5, 70}));
  add("middle axis", 1, plain_operand({2, 5, 3, 7}));
  for (int32_t channels : {1, 3, 5, 16, 17, 21, 149})
    for (int32_t axis = 0; axis < 4; ++axis) add("pixels", axis, nhwc_operand({2, channels, 3, 5}));
  for (int32_t axis = 0; axis < 4; ++axis) {
    add("logarithm of pixels", axis, nhwc_operand({2, 5, 3, 5}), 1);
    add("logarithm", axis, plain_operand({2, 5, 3, 19}), 1);
  }
  add("rank 3", 2, plain_operand({2, 3, 19}));
  add("rank 5", 2, plain_operand({2, 3, 4, 3, 5}));
  add("rows held", 1, nhwc_operand({2, 6, 8, 3}, {2, 5}));
  add("rows held, columns", 3, nhwc_operand({2, 6, 8, 3}, {2, 5}));
  for (int32_t length : {2, 3, 16}) add("many short runs", 2, plain_operand({3, 37, length}));
  add("tasks of short runs", 1, nhwc_operand({2, 2, 40, 200}));
  add("tasks", 1, nhwc_operand({2, 21, 5, 80}));
  add("tasks of columns", 0, plain_operand({30, 1001}));
  for (int32_t length : {65, 129}) add("long columns", 0, plain_operand({length, 61}));
  return cases;
}

}  // namespace codl::test
