// NonMaxSuppression selects, per batch and class, the boxes of the highest scores that overlap no
// better one.
//
//   boxes            Plain, f32, [b, n, 4]: two corners [y, x, y, x] in any order, or with
//                    is_center_point_box [x center, y center, width, height]
//   scores           Plain, f32, [b, c, n]
//   max_per_class    Plain, i64, one element; below 1: none is selected
//   iou_threshold    Plain, f32, one element
//   score_threshold  Plain, f32, one element; looked at if has_score_threshold
//   y                Plain, i64, [b * c * n, 3]: rows [batch, class, box], then rows of -1
//
// A box is taken in order of score, the lower index first among equals (a NaN is the lowest), if
// its score is greater than score_threshold and its intersection over union with each box taken
// before it, of the same batch and class, is not greater than iou_threshold; until max_per_class
// are taken. y must not overlap an input. Scratch: the order of the boxes. No parts. Nothing past
// the end is read.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

void non_max_suppression_ref(const KernelArgs& args);

}  // namespace codl::kernels
