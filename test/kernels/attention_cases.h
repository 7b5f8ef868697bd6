// Covers lines around tiles, units and the few that need no panels; keys around panels and blocks;
// sizes around vectors; shared heads; biases of all broadcasts, which hide keys, one block of them,
// and all; parts.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

// Describes a step by the heads of q and of k, and the other extents.
struct AttentionDims {
  int32_t batch;
  int32_t heads;
  int32_t key_heads;
  int32_t rows;
  int32_t keys;
  int32_t depth;
  int32_t columns;
};

inline KernelCase make_attention_case(const std::string& name, const AttentionDims& dims,
                                      std::initializer_list<int32_t> bias = {}) {
  const auto& [batch, heads, key_heads, rows, keys, depth, columns] = dims;
  const AttentionParams params = {.scale = 0.7f, .has_bias = bias.size() > 0 ? 1 : 0};
  KernelCase item = {name, OpKind::Attention, words_of(params), {}};
  item.operands = {plain_operand({batch, heads, rows, depth}),
                   plain_operand({batch, key_heads, keys, depth}),
                   plain_operand({batch, key_heads, keys, columns})};
  if (bias.size() > 0) item.operands.push_back(plain_operand(bias));
  item.operands.push_back(plain_operand({batch, heads, rows, columns}));
  return item;
}

inline std::vector<KernelCase> attention_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, const AttentionDims& dims,
                       std::initializer_list<int32_t> bias = {}) {
    cases.push_back(make_attention_case(name, dims, bias));
  };
  add("one size", {1, 1, 1, 2, 2, 1, 1});
  add("a decoder's step", {1, 3, 3, 1, 300, 64, 64}, {1, 1, 1, 300});
  add("a decoder's step, shared keys", {2, 8, 2, 1, 70, 20, 36}, {2, 1, 1, 70});
  add("few rows", {1, 2, 2, 3, 37, 17, 9}, {1, 1, 3, 37});
  add("few sizes", {2, 3, 3, 29, 19, 4, 4});
  add("odd", {1, 3, 3, 13, 21, 7, 5}, {1, 3, 13, 21});
  add("vision", {1, 3, 3, 50, 50, 64, 64});
  add("two keys", {1, 2, 2, 20, 2, 8, 12});
  add("blocks of keys", {1, 2, 2, 90, 257, 16, 20}, {1, 1, 1, 257});
  add("more blocks of keys", {1, 1, 1, 30, 700, 32, 24}, {1, 1, 30, 700});
  add("units", {1, 1, 1, 600, 40, 12, 8}, {1, 1, 600, 1});
  add("shared keys", {2, 6, 2, 17, 33, 24, 28}, {2, 6, 17, 33});
  add("wide", {1, 1, 1, 18, 40, 132, 200}, {1, 1, 1, 1});
  add("wider", {1, 1, 1, 9, 40, 256, 256});
  for (const Range part : {Range{0, 5}, Range{5, 19}}) {
    KernelCase item = make_attention_case("part", {1, 4, 2, 19, 40, 16, 20}, {1, 4, 19, 40});
    item.part_dim = SplitDim::Height;
    item.part = part;
    cases.push_back(item);
  }
  return cases;
}

}  // namespace codl::test
