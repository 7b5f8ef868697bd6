// Covers both modes, fixed and adaptive sampling; regions and indices are random: inside out,
// outside.
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> roi_align_cases() {
  std::vector<KernelCase> cases;
  for (int32_t is_max : {0, 1})
    for (int32_t is_half_pixel : {0, 1})
      for (int32_t ratio : {0, 2}) {
        RoiAlignParams params;
        params.output_h = 3;
        params.output_w = 2;
        params.sampling_ratio = ratio;
        params.is_max = is_max;
        params.is_half_pixel = is_half_pixel;
        params.spatial_scale = 9.0f;
        cases.push_back({"regions",
                         OpKind::RoiAlign,
                         words_of(params),
                         {plain_operand({2, 3, 8, 7}), plain_operand({5, 4}),
                          typed_operand(DType::I64, {5}), plain_operand({5, 3, 3, 2})}});
      }
  return cases;
}

}  // namespace codl::test
