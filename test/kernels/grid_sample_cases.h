// Covers every kind and padding over one to three axes; the grid's numbers are random, some
// outside.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> grid_sample_cases() {
  std::vector<KernelCase> cases;
  for (int32_t kind : {kGridSampleNearest, kGridSampleLinear, kGridSampleCubic})
    for (int32_t padding : {kGridSampleZeros, kGridSampleBorder, kGridSampleReflection})
      for (int32_t aligns_corners : {0, 1}) {
        const GridSampleParams params = {kind, padding, aligns_corners};
        const auto add = [&](const char* name, std::initializer_list<int32_t> x,
                             std::initializer_list<int32_t> grid,
                             std::initializer_list<int32_t> y) {
          cases.push_back({name,
                           OpKind::GridSample,
                           words_of(params),
                           {plain_operand(x), plain_operand(grid), plain_operand(y)}});
        };
        add("line", {2, 3, 7}, {2, 5, 1}, {2, 3, 5});
        add("map", {2, 3, 7, 4}, {2, 5, 6, 2}, {2, 3, 5, 6});
        add("box", {2, 5, 3, 1, 4}, {2, 2, 3, 2, 3}, {2, 5, 2, 3, 2});
      }
  return cases;
}

}  // namespace codl::test
