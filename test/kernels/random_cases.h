// Covers both kinds, with a seed and with the session's, and counts around the four numbers of a
// counter.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> random_cases() {
  std::vector<KernelCase> cases;
  for (int32_t kind : {kRandomNormal, kRandomUniform})
    for (int32_t has_seed : {0, 1})
      for (int32_t count : {1, 3, 4, 5, 70})
        cases.push_back({"random",
                         OpKind::Random,
                         words_of(RandomParams{.kind = kind,
                                               .has_seed = has_seed,
                                               .seed = 7,
                                               .stream = count,
                                               .location = -1,
                                               .scale = 2}),
                         {typed_operand(DType::I64, {2}), plain_operand({count})}});
  return cases;
}

}  // namespace codl::test
