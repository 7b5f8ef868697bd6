// Covers batches, classes and boxes around one; random corners, thresholds in [-1, 1].
#pragma once

#include "test/kernels/kernel_case.h"

namespace codl::test {

inline std::vector<KernelCase> non_max_suppression_cases() {
  std::vector<KernelCase> cases;
  const auto add = [&](const char* name, int32_t batches, int32_t classes, int32_t boxes) {
    for (int32_t is_center_point_box : {0, 1})
      for (int32_t has_score_threshold : {0, 1}) {
        NonMaxSuppressionParams params;
        params.is_center_point_box = is_center_point_box;
        params.has_score_threshold = has_score_threshold;
        cases.push_back(
            {name,
             OpKind::NonMaxSuppression,
             words_of(params),
             {plain_operand({batches, boxes, 4}), plain_operand({batches, classes, boxes}),
              typed_operand(DType::I64, {1}), plain_operand({1}), plain_operand({}),
              typed_operand(DType::I64, {batches * classes * boxes, 3})}});
      }
  };
  add("one box", 1, 1, 1);
  add("two boxes", 1, 2, 2);
  add("boxes", 1, 1, 100);
  add("batches and classes", 3, 5, 17);
  return cases;
}

}  // namespace codl::test
