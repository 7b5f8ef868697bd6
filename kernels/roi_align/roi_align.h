// RoiAlign cuts every region of a map into output_h x output_w bins; of each bin the mean of
// samples (He et al., Mask R-CNN, ICCV 2017), with ONNX's rules.
//
//   x     [n, c, h, w]
//   rois  [r, 4]   x1, y1, x2, y2, times spatial_scale in pixels of x
//   batch_indices [r]   i64; one outside [0, n) is clamped
//   y     [r, c, output_h, output_w]
//
// All Plain; f32 but for the indices. A bin has sampling_ratio samples along each side, 0: as many
// as it has pixels, rounded up; at most roi_align_max_samples(). A sample weighs the four pixels
// around it; further than one pixel outside the map it is zero. is_max: the largest of the weighed
// pixels of all samples in place of the mean, as ONNX has it. is_half_pixel: pixel centers lie half
// a pixel further; else a region has at least one pixel.
//
// Windows of rows and parts: none. y must not overlap the others. Nothing past the end is read,
// whatever rois and batch_indices hold.
#pragma once

#include "kernels/common/contract/check_step_shape.h"

namespace codl::kernels {

// Samples along one side of a bin that a step may ask for.
inline constexpr int32_t kRoiAlignMaxRatio = 1024;

// Adaptive sampling takes at most so many samples along a side of the map, enough for a region four
// times as large as the map. This bounds the work by shapes.
constexpr int32_t roi_align_max_samples(int32_t extent) { return 4 * extent; }

void roi_align_ref(const KernelArgs& args);

}  // namespace codl::kernels
