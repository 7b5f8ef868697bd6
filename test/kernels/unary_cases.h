// Covers every member of the family, Plain and Nhwc, with lengths around the vectors; every dtype.
#pragma once

#include "kernels/unary/unary.h"
#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> unary_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t kind, const OperandShape& x, const OperandShape& y,
                       SplitDim part_dim = SplitDim::None, Range part = {}) {
    UnaryParams params;
    params.kind = kind;
    // Clip to [0.1, 0.6]: 0, which pad lanes hold, is outside.
    params.alpha = kind == kUnaryClip ? 0.1f : 0.2f;
    params.beta = 0.6f;
    cases.push_back({name, OpKind::Unary, words_of(params), {x, y}, part_dim, part});
  };
  for (const FamilyMember& member : kFamilyMembers) {
    if (member.op != OpKind::Unary || !kernels::is_activation(member.kind)) continue;
    const int32_t kind = member.kind;
    add("scalar", kind, plain_operand({}), plain_operand({}));
    for (int32_t length : {1, 7, 16, 33, 1001})
      add("plain", kind, plain_operand({length}), plain_operand({length}));
    add("plain of rank 3", kind, plain_operand({2, 5, 19}), plain_operand({2, 5, 19}));
    add("plain of rank 5", kind, plain_operand({2, 3, 1, 4, 5}), plain_operand({2, 3, 1, 4, 5}));
    for (int32_t channels : {5, 21})
      add("channels", kind, nhwc_operand({2, channels, 3, 5}), nhwc_operand({2, channels, 3, 5}));
    add("windows", kind, nhwc_operand({2, 6, 8, 3}, {1, 7}), nhwc_operand({2, 6, 8, 3}, {2, 5}));
    add("part of rows", kind, nhwc_operand({2, 6, 8, 3}, {1, 7}),
        nhwc_operand({2, 6, 8, 3}, {2, 8}), SplitDim::Height, {3, 6});
    for (Range channels : {Range{0, 16}, Range{16, 32}, Range{16, 37}, Range{32, 37}})
      add("part of channels", kind, nhwc_operand({1, 37, 3, 4}), nhwc_operand({1, 37, 3, 4}),
          SplitDim::OutputChannel, channels);
  }
  // The function is not zero at zero, so pad lanes must not get the others' result.
  for (int32_t channels : {1, 3, 16, 17, 149})
    add("channels", kUnarySigmoid, nhwc_operand({2, channels, 3, 5}),
        nhwc_operand({2, channels, 3, 5}));
  add("tasks", kUnaryClip, nhwc_operand({2, 21, 5, 80}), nhwc_operand({2, 21, 5, 80}));
  add("tasks of a plain tensor", kUnaryTanh, plain_operand({20001}), plain_operand({20001}));
  // The kernel of any dtype, on every dtype; elementwise_test.cc has the expected results.
  const auto add_typed = [&](int32_t kind, DType dtype) {
    const DType to = kernels::unary_output_dtype(kind, dtype);
    if (to == DType::Any || (dtype == DType::F32 && to == dtype)) return;
    add("typed", kind, typed_operand(dtype, {2, 3, 1, 5, 17}), typed_operand(to, {2, 3, 1, 5, 17}));
  };
  for (const FamilyMember& member : kFamilyMembers)
    if (member.op == OpKind::Unary)
      for (uint8_t dtype = 1; dtype < kDTypeEnd; ++dtype)
        add_typed(member.kind, static_cast<DType>(dtype));
  return cases;
}

}  // namespace codl::test
