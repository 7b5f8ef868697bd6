// Covers sums of one channel and of more than there are, even and odd; channels around the vectors'
// ends; exponents that are roots and others; rows of a part.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> lrn_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, const LrnParams& params,
                       std::initializer_list<int32_t> dims) {
    cases.push_back(
        {name, OpKind::Lrn, words_of(params), {nhwc_operand(dims), nhwc_operand(dims)}});
    cases.push_back(
        {name, OpKind::Lrn, words_of(params), {plain_operand(dims), plain_operand(dims)}});
  };
  add("as in AlexNet", {5, 1e-4f, 0.75f, 2}, {1, 96, 3, 4});
  add("even", {4, 0.5f, 0.75f, 1}, {2, 21, 3, 2});
  add("one channel in a sum", {1, 0.5f, 0.75f, 1}, {1, 5, 3, 2});
  add("one channel", {3, 0.5f, 0.75f, 1}, {1, 1, 3, 2});
  add("more than there are", {100, 2, 0.75f, 1}, {1, 18, 3, 2});
  add("root", {3, 0.5f, 0.5f, 1}, {1, 17, 3, 2});
  add("quotient", {7, 0.5f, 1, 0.5f}, {1, 37, 2, 2});
  add("other power", {2, 0.5f, 1.3f, 3}, {1, 33, 2, 2});
  add("tasks", {5, 0.5f, 0.75f, 1}, {1, 20, 30, 40});
  const LrnParams params = {5, 0.5f, 0.75f, 1};
  cases.push_back({"part",
                   OpKind::Lrn,
                   words_of(params),
                   {nhwc_operand({2, 19, 7, 3}, {1, 6}), nhwc_operand({2, 19, 7, 3}, {2, 5})},
                   SplitDim::Height,
                   {2, 5}});
  return cases;
}

}  // namespace codl::test
