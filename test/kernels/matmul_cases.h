// Covers sizes around the tiles (1, 4, 6, 14 rows; 16 and 32 columns).
#pragma once

#include "test/kernels/kernel_case.h"
#include "test/kernels/tested_activations.h"

namespace codl::test {

inline std::vector<KernelCase> matmul_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t m, int32_t k, int32_t n,
                       int32_t activation = kUnaryIdentity, Range columns = {}) {
    MatMulParams params;
    params.activation = activation;
    params.activation_alpha = activation == kUnaryClip ? 0.1f : 0.2f;
    params.activation_beta = 0.6f;
    KernelCase item;
    item.name = name;
    item.op = OpKind::MatMul;
    item.params = words_of(params);
    item.operands = {plain_operand({m, k}), packed_operand({k, n}), packed_operand({n}),
                     plain_operand({m, n})};
    if (!columns.empty()) {
      item.part_dim = SplitDim::OutputChannel;
      item.part = columns;
    }
    cases.push_back(item);
  };
  for (int32_t rows : {1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 29}) add("rows", rows, 9, 37);
  for (int32_t depth : {1, 2, 3, 4, 5, 33}) add("depth", 3, depth, 16);
  for (int32_t columns : {1, 3, 5, 16, 17, 21, 32, 40, 48}) add("columns", 1, 10, columns);
  // They fill a panel only in part, so other tiles run.
  for (int32_t columns : {1, 3, 4, 8, 9, 24})
    for (int32_t rows : {1, 2, 4, 5, 7, 8, 11, 12, 13, 25}) add("few columns", rows, 9, columns);
  for (int32_t activation : kTestedActivations)
    for (int32_t columns : {32, 39}) add("activation", 2, 7, columns, activation);
  add("first columns", 2, 11, 50, kUnaryRelu, {0, 16});
  add("middle columns", 2, 11, 50, kUnarySigmoid, {16, 48});
  add("last columns", 2, 11, 50, kUnarySigmoid, {32, 50});
  add("quads of depth", 11, 8, 20);
  add("tasks of columns", 1, 2000, 1000);
  add("tasks of rows", 300, 40, 70, kUnaryTanh);
  for (int32_t rows : {1, 5, 20}) {
    add("large bias", rows, 512, 40);
    cases.back().bias_factor = kLargeBias;
  }
  const auto add_blocks = [&](int32_t m, int32_t k, int32_t n, WeightBlocks blocks,
                              Range columns = {}) {
    add("weights in blocks", m, k, n, m == 1 ? kUnarySigmoid : kUnaryIdentity, columns);
    cases.back().blocks = blocks;
  };
  for (int32_t bits : {4, 8}) {
    for (int32_t rows : {1, 3, 20}) add_blocks(rows, 44, 56, {bits, 16});
    for (int32_t rows : {1, 3}) add_blocks(rows, 79, 37, {bits, 32});
    add_blocks(1, 128, 90, {bits, 64}, {16, 48});
    add_blocks(9, 64, 90, {bits, 64}, {64, 90});
    add_blocks(1, 1040, 515, {bits, 128});
  }
  return cases;
}

}  // namespace codl::test
