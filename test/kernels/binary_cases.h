// Covers every member of the family on every kind of broadcast that binary.h names.
#pragma once

#include "kernels/binary/binary.h"
#include "test/kernels/kernel_case.h"
#include "test/kernels/tested_activations.h"

namespace codl::test {

inline std::vector<KernelCase> binary_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t kind, const OperandShape& a, const OperandShape& b,
                       const OperandShape& y, int32_t activation = kUnaryIdentity,
                       SplitDim part_dim = SplitDim::None, Range part = {}) {
    BinaryParams params;
    params.kind = kind;
    params.activation = activation;
    params.activation_alpha = activation == kUnaryClip ? 0.1f : 0.2f;
    params.activation_beta = 0.6f;
    cases.push_back({name, OpKind::Binary, words_of(params), {a, b, y}, part_dim, part});
  };
  for (int32_t kind : {kBinaryAdd, kBinarySub, kBinaryMul, kBinaryDiv}) {
    add("scalars", kind, plain_operand({}), plain_operand({}), plain_operand({}));
    for (int32_t length : {1, 7, 16, 33, 1001})
      add("plain", kind, plain_operand({length}), plain_operand({length}), plain_operand({length}));
    add("rows and columns", kind, plain_operand({5, 1}), plain_operand({7}), plain_operand({5, 7}));
    add("middle axis", kind, plain_operand({2, 1, 4}), plain_operand({2, 3, 4}),
        plain_operand({2, 3, 4}));
    add("outer and inner axis", kind, plain_operand({2, 3, 4}), plain_operand({1, 3, 1}),
        plain_operand({2, 3, 4}));
    add("rank 5", kind, plain_operand({2, 3, 1, 4, 5}), plain_operand({3, 2, 1, 5}),
        plain_operand({2, 3, 2, 4, 5}));
    add("scalar first", kind, plain_operand({1, 1}), plain_operand({3, 9}), plain_operand({3, 9}));
    for (int32_t channels : {5, 21}) {
      const OperandShape y = nhwc_operand({2, channels, 3, 5});
      add("same", kind, y, y, y, kUnarySigmoid);
      add("scalar", kind, y, plain_operand({1}), y);
      add("per channel", kind, y, plain_operand({1, channels, 1, 1}), y);
    }
    const OperandShape low = nhwc_operand({2, 21, 8, 3}, {0, 6});
    const OperandShape high = nhwc_operand({2, 21, 8, 3}, {2, 8});
    add("windows", kind, low, high, nhwc_operand({2, 21, 8, 3}, {3, 5}));
    add("part of rows", kind, low, high, high, kUnaryRelu, SplitDim::Height, {3, 6});
    add("part of rows, plain operand", kind, plain_operand({1, 1, 8, 1}), high, high, kUnaryRelu,
        SplitDim::Height, {3, 6});
    for (Range channels : {Range{0, 16}, Range{16, 32}, Range{16, 37}, Range{32, 37}}) {
      const OperandShape y = nhwc_operand({1, 37, 3, 4});
      add("part of channels", kind, y, y, y, kUnaryTanh, SplitDim::OutputChannel, channels);
      add("part of channels, per channel", kind, y, plain_operand({37, 1, 1}), y, kUnaryTanh,
          SplitDim::OutputChannel, channels);
      add("part of channels, one pixel", kind, y, nhwc_operand({1, 37, 1, 1}), y, kUnaryTanh,
          SplitDim::OutputChannel, channels);
    }
    add("part of rows, one pixel", kind, nhwc_operand({2, 21, 1, 1}), high, high, kUnaryRelu,
        SplitDim::Height, {3, 6});
    add("one pixel for all batches", kind, high, nhwc_operand({1, 21, 1, 1}), high);
  }
  // These functions use the same loops.
  for (int32_t kind = kBinaryPow; kind <= kBinaryPRelu; ++kind) {
    const OperandShape y = nhwc_operand({2, 21, 3, 5});
    add("plain", kind, plain_operand({33}), plain_operand({33}), plain_operand({33}));
    add("rows and columns", kind, plain_operand({5, 1}), plain_operand({7}), plain_operand({5, 7}));
    add("same", kind, y, y, y);
    add("per channel", kind, y, plain_operand({1, 21, 1, 1}), y);
  }
  // They are not commutative, so operands must not be swapped.
  for (int32_t channels : {1, 3, 5, 16, 17, 21, 149}) {
    const OperandShape y = nhwc_operand({2, channels, 3, 5});
    add("same", kBinarySub, y, y, y, kUnarySigmoid);
    add("scalar", kBinarySub, y, plain_operand({1}), y);
    add("per channel", kBinarySub, y, plain_operand({1, channels, 1, 1}), y);
    add("per channel, three axes", kBinarySub, plain_operand({channels, 1, 1}), y, y);
    add("per channel and batch", kBinarySub, y, nhwc_operand({2, channels, 1, 1}), y);
    add("per pixel", kBinarySub, nhwc_operand({2, 1, 3, 5}), y, y);
    add("one row for all", kBinarySub, y, nhwc_operand({1, channels, 1, 5}), y);
    add("plain columns", kBinarySub, y, plain_operand({5}), y);
    add("plain of equal dims", kBinarySub, plain_operand({2, channels, 3, 5}), y, y);
  }
  add("tasks", kBinaryMul, nhwc_operand({2, 21, 5, 80}), plain_operand({21, 1, 1}),
      nhwc_operand({2, 21, 5, 80}));
  add("tasks of a plain tensor", kBinaryAdd, plain_operand({20, 1001}), plain_operand({20, 1}),
      plain_operand({20, 1001}));
  for (int32_t activation : kTestedActivations)
    add("activation", kBinaryAdd, nhwc_operand({1, 6, 2, 3}), nhwc_operand({1, 6, 2, 3}),
        nhwc_operand({1, 6, 2, 3}), activation);
  // The kernel of any dtype, on every dtype; elementwise_test.cc has the expected results.
  const auto add_typed = [&](int32_t kind, DType dtype) {
    const DType to = kernels::binary_output_dtype(kind, dtype);
    if (to == DType::Any || (dtype == DType::F32 && to == dtype)) return;
    add("typed", kind, typed_operand(dtype, {2, 3, 1, 70}), typed_operand(dtype, {3, 5, 1}),
        typed_operand(to, {2, 3, 5, 70}));
    add("typed, long runs", kind, typed_operand(dtype, {700}), typed_operand(dtype, {1}),
        typed_operand(to, {700}));
  };
  for (const FamilyMember& member : kFamilyMembers)
    if (member.op == OpKind::Binary)
      for (uint8_t dtype = 1; dtype < kDTypeEnd; ++dtype)
        add_typed(member.kind, static_cast<DType>(dtype));
  return cases;
}

}  // namespace codl::test
