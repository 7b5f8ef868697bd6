// What latency models weigh of a step on a GPU: how its work-groups fill the units, and what the
// items of a group do one after the other. Of most rows where OpenCL runs on a processor:
// cl_processor_features.h.
#pragma once

#include "kernels/common/contract.h"

namespace codl::kernels {

// Of a step that has its tile; `features` has those of its contract.
//   mbytes        of Conv2d: without the pixels that a stride steps over
//   kitems, item_kbytes   thousand work-items; thousand bytes of activations of each
//   melements, map_melements   million elements written; of maps
// With the GPU's units known, besides:
//   shares        on a processor: 1 if more than one unit has groups
//   unit_groups, unit_melements   work-groups of the unit that has most; elements that they write
//   *_chain       thousand loop steps of a work-item, which follow each other
//   *_wave4, *_wave32   the same times how often the groups fill the units, of which each holds 4
//                 or 32: what a GPU waits for that has few groups
//   *_unit        the same times unit_groups: what one waits for that has many
//   *_active      the same times the items of a unit, without those that only fill up the groups
// A loop's name says its case (CASES in gpu_features.cc): a model weighs each case by itself, as
// no coefficient is negative and a case may be the faster one.
//   tile*         of gemm_tile.cl, by the tile's rows and columns
//   group*        of conv2d_winograd2_f32_cl_tiled, by the group's tiles and channels
//   four_panels_mmacs, pair_mmacs, single_mmacs, sums_melements, transformed_melements
//                 of conv2d_winograd4_f32_cl_buffer, of the unit that has most: multiply-adds by
//                 the panels in registers, sums loaded and stored, inputs transformed
//   weight_chain, panel_chain, again_chain, again_panel_chain, most_wave4
//                 of the convolution on buffers: weights that come from memory one after the other,
//                 the same times the panels that a wave waits for; both of the steps that a wave
//                 runs again in the other loop; steps of both loops
//   few_chain, few_pixel_chain, few_wave4
//                 of it, with channels so few that their loop is unrolled: steps, the same times
//                 the blocks of pixels of a wave
//   texel_chain, fresh_chain, residual_fresh_chain, refetched_chain, ragged_tap_chain
//                 of the convolution on texels: steps; those whose pixels no tap of the row has
//                 read, without and with a residual; those whose pixels the window is too large to
//                 keep; taps with a texel that is not full
//   full_chain    of it: steps times how often the groups fill the units again
//   residual      1 if a convolution has one
//   mixed_*, strided_*, narrow_*
//                 of the depthwise one: what waves with full and other vectors take besides,
//                 windows that move by two columns, maps of one vector, and both
//   strided_unit, narrow_chain, narrow_unit
//                 of Pool2d: windows that move by two columns, and maps of one vector
//   odd_chain, odd_far_chain
//                 of BatchMatMul: steps of products whose depth is odd; those beyond 40
//   to_plain_lines_chain, from_plain_lines_chain
//                 of Convert: steps times the blocks of pixels of a wave
//   corner_lines_unit   of Resize: thousand lines of 64 bytes that hold the corners of its items
void add_gpu_features(const StepShape& step, const GpuFacts& gpu, Features* features);

}  // namespace codl::kernels
