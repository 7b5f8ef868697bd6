// What latency models weigh of a step on a GPU: how its work-groups fill the units, and what the
// items of a group do one after the other.
#pragma once

#include "kernels/common/contract.h"

namespace codl::kernels {

// Of a step that has its tile; `features` has those of its contract.
//   mbytes        of Conv2d: without the pixels that a stride steps over
//   kitems, item_kbytes   thousand work-items; thousand bytes of activations of each
//   melements, map_melements   million elements written; of maps
// With the GPU's units known, besides:
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
//   fast_*, slow_*   of the convolution on buffers: taps inside the map, and taps at its edge
void add_gpu_features(const StepShape& step, const GpuFacts& gpu, Features* features);

}  // namespace codl::kernels
