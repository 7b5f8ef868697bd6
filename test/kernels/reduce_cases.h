// Covers every kind, over masks that keep or reduce the innermost axis; lengths around the blocks
// of 64 and 128, lines of 16 and fewer, enough for several tasks.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline KernelCase make_reduce_case(const std::string& name, int32_t kind, int32_t axes_mask,
                                   std::initializer_list<int32_t> dims) {
  ReduceParams params;
  params.kind = kind;
  params.axes_mask = axes_mask;
  OperandShape x = plain_operand(dims);
  OperandShape y = x;
  for (int32_t i = 0; i < y.rank; ++i)
    if ((axes_mask >> i & 1) != 0) y.dims[i] = 1;
  if (kind == kReduceArgMax || kind == kReduceArgMin) y.dtype = DType::I64;
  y.bytes = static_cast<uint64_t>(kernels::element_count(y)) * dtype_bytes(y.dtype);
  return {name, OpKind::Reduce, words_of(params), {x, y}};
}

inline std::vector<KernelCase> reduce_cases() {
  std::vector<KernelCase> cases;
  for (int32_t kind = kReduceSum; kind <= kReduceArgMin; ++kind) {
    const std::string name = "kind " + std::to_string(kind);
    const bool takes_one_axis = kind == kReduceArgMax || kind == kReduceArgMin;
    cases.push_back(make_reduce_case(name + ", rows", kind, 2, {3, 300}));
    cases.push_back(make_reduce_case(name + ", columns", kind, 1, {5, 300}));
    cases.push_back(make_reduce_case(name + ", middle", kind, 4, {2, 3, 5, 7}));
    cases.push_back(make_reduce_case(name + ", rank 3", kind, 4, {2, 5, 19}));
    cases.push_back(make_reduce_case(name + ", rank 5", kind, 2, {2, 3, 2, 5, 7}));
    cases.push_back(make_reduce_case(name + ", many rows", kind, 1, {150, 70}));
    cases.push_back(make_reduce_case(name + ", short lines", kind, 2, {70, 9}));
    cases.push_back(make_reduce_case(name + ", long line", kind, 2, {2, 4200}));
    cases.push_back(make_reduce_case(name + ", tasks", kind, 2, {40, 30, 20}));
    if (takes_one_axis) continue;
    cases.push_back(make_reduce_case(name + ", every second axis", kind, 21, {3, 2, 4, 3, 5}));
    cases.push_back(make_reduce_case(name + ", nothing", kind, 0, {2, 3}));
    cases.push_back(make_reduce_case(name + ", all", kind, 7, {2, 3, 130}));
    cases.push_back(make_reduce_case(name + ", scalar", kind, 0, {}));
  }
  return cases;
}

}  // namespace codl::test
