// Covers permutations that keep, merge and break runs, up to rank 8.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> transpose_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, std::initializer_list<int32_t> dims,
                       const std::vector<int32_t>& perm, DType dtype = DType::F32) {
    KernelCase item;
    item.name = name;
    item.op = OpKind::Transpose;
    item.params.assign(sizeof(TransposeParams) / 4, 0);
    const OperandShape x = typed_operand(dtype, dims);
    OperandShape y = x;
    for (size_t i = 0; i < perm.size(); ++i) {
      item.params[i] = perm[i];
      y.dims[i] = x.dims[perm[i]];
    }
    item.operands = {x, y};
    cases.push_back(item);
  };
  add("scalar", {}, {});
  add("vector", {5}, {0});
  add("matrix", {7, 18}, {1, 0});
  add("unchanged", {3, 4, 5}, {0, 1, 2});
  add("channels last", {2, 3, 5, 7}, {0, 2, 3, 1});
  add("channels first", {2, 5, 7, 3}, {0, 3, 1, 2});
  add("runs kept", {4, 3, 9}, {1, 0, 2});
  add("axes of one", {1, 6, 1, 4}, {3, 2, 1, 0});
  add("rank 5", {2, 3, 5, 4, 7}, {0, 2, 3, 4, 1});
  add("rank 8", {2, 1, 3, 2, 1, 2, 3, 2}, {7, 0, 3, 5, 1, 6, 2, 4});
  add("tasks", {170, 190}, {1, 0});
  add("last axes of many maps", {3, 5, 37, 41}, {0, 1, 3, 2});
  add("last axes and batch", {5, 3, 37, 41}, {1, 0, 3, 2});
  for (DType dtype : {DType::Bool, DType::F16, DType::I32, DType::I64}) {
    add("channels last of a dtype", {2, 19, 5, 7}, {0, 2, 3, 1}, dtype);
    add("runs of a dtype", {4, 3, 9}, {1, 0, 2}, dtype);
  }
  return cases;
}

}  // namespace codl::test
