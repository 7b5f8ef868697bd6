// Covers products of all four orders with sizes around tiles, panels and blocks of depth; batches
// that broadcast.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline KernelCase make_batch_matmul_case(const std::string& name, int32_t orders,
                                         std::initializer_list<int32_t> a_dims,
                                         std::initializer_list<int32_t> b_dims) {
  BatchMatMulParams params;
  params.is_a_transposed = orders & 1;
  params.is_b_transposed = orders >> 1;
  OperandShape a = plain_operand(a_dims);
  OperandShape b = plain_operand(b_dims);
  OperandShape y = a.rank > b.rank ? a : b;
  for (int32_t i = 0; i + 2 < y.rank; ++i) {
    const int32_t own_a = i - (y.rank - a.rank);
    const int32_t own_b = i - (y.rank - b.rank);
    const int32_t dim_a = own_a < 0 ? 1 : a.dims[own_a];
    const int32_t dim_b = own_b < 0 ? 1 : b.dims[own_b];
    y.dims[i] = dim_a > dim_b ? dim_a : dim_b;
  }
  y.dims[y.rank - 2] = a.dims[a.rank - 2];
  y.dims[y.rank - 1] = b.dims[b.rank - 1];
  // The dims are in the order of a product; they are swapped if the operand is transposed.
  if (params.is_a_transposed != 0) std::swap(a.dims[a.rank - 1], a.dims[a.rank - 2]);
  if (params.is_b_transposed != 0) std::swap(b.dims[b.rank - 1], b.dims[b.rank - 2]);
  y.bytes = static_cast<uint64_t>(kernels::element_count(y)) * sizeof(float);
  return {
      name + ", order " + std::to_string(orders), OpKind::BatchMatMul, words_of(params), {a, b, y}};
}

inline std::vector<KernelCase> batch_matmul_cases() {
  std::vector<KernelCase> cases;
  for (int32_t orders = 0; orders < 4; ++orders) {
    const auto add = [&](const char* name, std::initializer_list<int32_t> a,
                         std::initializer_list<int32_t> b) {
      cases.push_back(make_batch_matmul_case(name, orders, a, b));
    };
    add("one", {1, 1}, {1, 1});
    add("vector and matrix", {1, 37}, {37, 21});
    add("matrix and vector", {21, 5}, {5, 1});
    add("odd", {3, 7, 5}, {3, 5, 17});
    for (int32_t columns : {1, 3, 4, 8, 9, 24}) {
      add("few columns", {2, 25, 5}, {2, 5, columns});
      add("few columns, depth in blocks", {8, 2100}, {2100, columns});
    }
    add("whole panels", {28, 16}, {16, 32});
    add("tiles and panels", {2, 29, 19}, {2, 19, 49});
    add("attention", {1, 3, 50, 24}, {1, 3, 24, 50});
    add("one b for all", {4, 6, 8}, {8, 10});
    add("one b for all single rows", {5, 1, 9}, {9, 5});
    add("one a for all", {6, 8}, {2, 3, 8, 10});
    add("both broadcast", {2, 1, 3, 4, 5}, {3, 1, 5, 6});
    add("rows in blocks", {200, 40}, {40, 33});
    add("depth in blocks", {3, 2100}, {2100, 18});
  }
  return cases;
}

}  // namespace codl::test
