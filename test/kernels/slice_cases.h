// Covers steps of every sign and size, every element size, ranks up to 8; runs kept, merged and
// broken.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

struct SliceAxis {
  int32_t start, step, count;
};

inline std::vector<KernelCase> slice_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, const OperandShape& x,
                       const std::vector<SliceAxis>& slices) {
    KernelCase item;
    item.name = name;
    item.op = OpKind::Slice;
    item.params.assign(sizeof(SliceParams) / 4, 0);
    OperandShape y = x;
    for (size_t i = 0; i < slices.size(); ++i) {
      item.params[i] = slices[i].start;
      item.params[kMaxRank + i] = slices[i].step;
      item.params[2 * kMaxRank + i] = y.dims[i] = slices[i].count;
    }
    y.bytes = static_cast<uint64_t>(kernels::element_count(y)) * dtype_bytes(y.dtype);
    item.operands = {x, y};
    cases.push_back(item);
  };
  add("scalar", plain_operand({}), {});
  add("vector", plain_operand({9}), {{2, 3, 3}});
  add("vector backwards", plain_operand({9}), {{8, -1, 9}});
  add("one element, step that leads outside", plain_operand({9}), {{4, -100, 1}});
  add("rows", plain_operand({5, 33}), {{1, 1, 3}, {0, 1, 33}});
  add("columns", plain_operand({5, 33}), {{0, 1, 5}, {3, 1, 17}});
  add("every second column, rows backwards", plain_operand({5, 33}), {{4, -2, 3}, {1, 2, 16}});
  add("map", plain_operand({2, 7, 9, 11}), {{0, 1, 2}, {1, 2, 3}, {1, 1, 7}, {10, -3, 4}});
  add("rank 3", plain_operand({2, 5, 17}), {{0, 1, 2}, {1, 2, 2}, {3, 1, 13}});
  add("rank 5", plain_operand({2, 3, 4, 5, 7}),
      {{1, 1, 1}, {0, 2, 2}, {3, -1, 3}, {0, 1, 5}, {5, -2, 3}});
  add("rank 8", plain_operand({2, 1, 3, 2, 1, 2, 3, 2}),
      {{1, -1, 2}, {0, 1, 1}, {0, 2, 2}, {0, 1, 2}, {0, 1, 1}, {1, 1, 1}, {2, -1, 3}, {0, 1, 2}});
  for (DType dtype : {DType::Bool, DType::I8, DType::F16, DType::I32, DType::I64, DType::F64}) {
    add("columns of a dtype", typed_operand(dtype, {3, 10}), {{2, -1, 3}, {1, 1, 8}});
    add("elements of a dtype", typed_operand(dtype, {3, 10}), {{0, 2, 2}, {9, -2, 5}});
  }
  return cases;
}

}  // namespace codl::test
