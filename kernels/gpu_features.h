// What latency models weigh of a step on a GPU: how its work-groups fill the units, and what the
// items of a group do one after the other. Of most rows where OpenCL runs on a processor:
// cl_processor_features.h.
#pragma once

#include "kernels/common/step_work.h"

namespace codl::kernels {

// Of a step that has its tile; `features` has those of its operator.
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
//   tile*         of gemm_tile.cl, by the tile's rows and columns; tiles_*, whatever the tile,
//                 since all steps wait for loads and barriers: steps of a group; thousand elements
//                 of the tiles of BatchMatMul; large_tiles_*, small_tiles_* of Conv2d, from 64x64
//                 on and below
//   tiles_over_unit, tiles_over_unit_mmacs   of it: steps and multiply-adds of groups that wait for
//                 others of their unit
//   far_weight_mbytes   weights beyond half of the second-level cache; of MatMul beyond 20 million
//                 bytes
//   group*        of conv2d_winograd2_f32_cl_tiled, by the group's tiles and channels
//   channel_chain of conv2d_winograd4_f32_cl_buffer: thousand input channels of an item
//   four_panels_mmacs, pair_mmacs, single_mmacs, sums_melements, transformed_melements
//                 of conv2d_winograd4_f32_cl_buffer, of the unit that has most: multiply-adds by
//                 the panels in registers, sums loaded and stored, inputs transformed
//   weight_chain, panel_chain, again_chain, again_panel_chain, most_wave8, most_unit
//                 of the convolution on buffers: weights that come from memory one after the other,
//                 the same times the panels that a wave waits for; both of the steps that a wave
//                 runs again in the other loop; steps of both loops
//   bare_chain, pointwise_chain, strided_chain, single_again_chain, far_weight_chain
//                 of it: steps without a residual, of a filter of one tap, of windows that move by
//                 two columns; those that are run again in filters of one column; those whose
//                 weights a unit does not keep
//   panel_turns_chain, pixel_turns_unit
//                 of it: steps of both loops times the panels, and the pixels, that a wave reads
//                 from the same bank one after the other
//   few_pixel_chain, few_wave8
//                 of it, with channels so few that their loop is unrolled: steps times the blocks
//                 of pixels of a wave
//   texel_chain, fresh_chain, residual_fresh_chain, refetched_chain
//                 of the convolution on texels: steps; those whose pixels no tap of the row has
//                 read, without and with a residual; those whose pixels the window is too large to
//                 keep
//   full_chain    of it: steps times how often the groups fill the units again
//   bare_chain, apart_chain, over_held_chain   of it: steps without a residual; the same times the
//                 blocks of a group whose pixels begin in the middle of sectors of 32 bytes; the
//                 same times the waves of a unit beyond those that hide each other's waiting
//   residual      1 if a convolution has one
//   mixed_*, strided_*, narrow_*
//                 of the depthwise one, whose steps are taps of columns that any item of a wave has
//                 inside the map: what waves with full and other vectors take besides,
//                 windows that move by two columns, maps of one vector, and both
//   lines_unit, turns_unit
//                 of it, Pool2d and Softmax: taps, or steps, times the lines of 128 bytes that a
//                 wave's loads touch, and the quads that it reads from the same banks one after the
//                 other
//   tap_chain     of the depthwise one: taps of rows that a wave takes, whose weights it loads
//   *_wave8       of it and of the convolution, on buffers: times how often the groups fill the
//                 units, of which each has registers for 8 waves; turns_over_wave8 without the
//                 first time
//   written_lines_unit, apart_unit, pieces_wave8, swish_wave8
//                 of the depthwise one on buffers: lines that a wave's stores touch; steps where
//                 pixels begin in the middle of lines; those of vectors that are not full, times
//                 the pieces they are loaded in; pixels of an item that pass through Swish
//   banks_unit    of Resize: the words that a wave of nearest pixels writes to the same bank
//   lines_chain   of Pool2d: taps times the items of a wave, each of which reads lines of its own
//   groups_over_2_unit
//                 of MatMul: steps of groups that wait for others of their unit
//   turns_chain, turns_unit, turns_over_unit
//                 of it: steps times the words that a wave reads from the same bank one after the
//                 other, of weights and of rows; those of groups beyond four of a unit
//   odd_chain, odd_far_chain
//                 of BatchMatMul on a processor: steps of products whose depth is odd; those
//                 beyond 40
//   column_tiles_chain, column_quads_chain, row_tiles_chain, refetched_columns_unit,
//   refetched_rows_unit, far_columns_unit
//                 of it: steps times the tiles of a wave, where neighbours of a column lie
//                 together, one by one or in whole quads, or those of a row; those of a unit whose
//                 lines its groups do not keep, nor a product
//   even_chain, apart_chain
//                 of it: steps of an even depth, by rows; steps by columns that begin in the middle
//                 of sectors
//   turns_unit    of it by columns: steps times the waves of a unit and the words that each reads
//                 from the same bank one after the other
//   melements_over_few, melements_over_some   of other rows: elements beyond a level
//   to_plain_lines_chain, from_plain_lines_chain
//                 of Convert: steps times the blocks of pixels of a wave
//   to_plain_melements, from_plain_melements, to_odd_planes_melements, from_odd_planes_chain
//                 of it: elements written, and what has planes of an odd number of pixels
//   paired_mbytes, paired_over_mbytes, broadcast_melements
//                 of Binary: of operands as large as y, on a processor; of them beyond a quarter
//                 of the second-level cache; of one that is a value per channel
//   two_melements, three_melements   of Concat: of so many inputs
//   full_kitems, aligned_kitems
//                 of it, DepthToSpace and Pad: whole vectors; those of waves where all are whole
//   first_kitems  of them, Unary, Binary, Convert and Resize: whole vectors of the groups that
//                 units hold at first
//   sector_mbytes   of DepthToSpace: sectors of 32 bytes that items read, which neighbours of a row
//                 share
//   apart_kitems, gaps_over_klines
//                 of parts of the channels: items; thousand lines of 128 bytes that the runs of
//                 pixels touch beyond what they fill
//   tail_chain    of Unary, Binary, Convert, Concat, Resize, Pad and Pool2d: loads that follow the
//                 first of a wave, whose vectors are not all full; of Pool2d times the taps
//   broadcast_first_kitems, broadcast_divided_kitems, broadcast_over_unit
//                 of Binary with an operand of a value per channel: items of the groups that units
//                 hold at first; those of a division; groups whose second load others do not hide
//   divided_chain of Binary: thousand elements that an item divides
//   exp_*, sigmoid_*, swish_*, erf_*, tanh_*, function_chain
//                 of functions of Unary: thousand elements of an item, *_chain; of any where
//                 loads do not hide them, function_chain, and then groups of the unit that has
//                 most, those it holds at first, *_over_unit, and others, *_over_held_unit
//   constant_kitems, edge_kitems, reflect_kitems, place_chain
//                 of Pad, whose kinds are programs of their own; 1 where an item divides to find
//                 its pixel
//   channel_major_kitems, block_major_kitems
//                 of DepthToSpace: items of its two programs
//   linear_first_kitems, nearest_first_kitems
//                 of Resize: items of the groups that units hold at first
//   batch_*, single_*, column_batch_*, column_single_*
//                 of Softmax and Normalize: steps of a wave whose items share a run, by fours,
//                 whose loads wait together, and those that are left; of columns of means
//   corner_lines_unit   of Resize: thousand lines of 64 bytes that hold the corners of its items
void add_gpu_features(const StepShape& step, const GpuFacts& gpu, Features* features);

}  // namespace codl::kernels
