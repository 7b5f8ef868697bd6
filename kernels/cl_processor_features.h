// What latency models weigh of a step where OpenCL runs on a processor: a unit is a core, which
// runs the groups it has, and a group's work-items, one after the other.
#pragma once

#include "kernels/common/step_work.h"

namespace codl::kernels {

// Of a step that has its tile; `features` has those of its operator, of which those of arithmetic
// are left out. False, and nothing but begins is added: the row's features are those of
// gpu_features.h.
//
// Counts are of the unit that has most work.
//   shares            1 if other units have groups, too: waking them
//   late_shares       what other units, who are woken, miss at first: by how much of it the step
//                     ends later. On a Xeon 2.6 us, all of it with two groups
//   begins            times that a unit takes some of the groups, if it is not the only one: PoCL's
//                     threads take shares of what is left under a lock
//   near_mbytes       million bytes of inputs, 0.25 at most, if other units have groups, too: some
//                     lie in another one's cache
//   first_mbytes      of mbytes 0.05 at most, likewise: nothing fetches them ahead of time yet
//   part_mbytes       mbytes of a part of channels: their lines lie among those of the others
//   written_mbytes    of mbytes: what is written, and in no cache before
//   read_mbytes_over_*  of inputs that the next row of outputs reads again, of such windows
//   mbytes_over_*     million bytes read that a cache of so many does not hold: none of inputs of
//                     that size or less, all of twice that
//   weight_mbytes     million bytes of weights that are read once, of the taps that some row of the
//                     part has inside the map; read_weight_* again. begun_weight_* of the pages
//                     that panels begin with, which weight_mbytes are without, then.
//                     *_weight_mbytes of Winograd's products: by the panels that are read at once,
//                     each of which is a stream
//   kitems, kgroups   thousand work-items and groups; *_kitems, *_kgroups of some kind
//   *_ktaps           thousand (tap, vector of 16 channels) pairs inside the map
//   window_krows      thousand rows of them, of a pool's windows
//   item_krows        thousand rows of filters that a depthwise convolution's work-items begin
//   weight_krows      thousand vectors of weights that they load
//   lost_klines       thousand lines of its inputs and weights that work-items read again, and that
//                     a first-level cache has lost
//   ragged_*, piece_* of vectors that are not full, and the loads that such a vector takes
//   split_*           of what lies in two cache lines
//   apart_*           of lines that no neighbour brings into the cache: lines come in pairs, and a
//                     page has one stream of them; *_apart_over_1 of them what caches do not keep
//                     until the next channels pass
//   aliased_*         of lines so far apart that they have one place in a first-level cache
//   part_*            of runs of channels, between which there are those of another part
//   fast_*, slow_*    million multiply-adds of the convolution on buffers in taps inside the map,
//                     and in taps at its edge; *_pair_* with two panels, few_* of both where the
//                     loop over the channels is unrolled, *_residual_* with a residual, where
//                     registers do not hold the sums
//   kloops            thousand loops over input channels: (work-item, tap) pairs
//   *_ktexels         thousand steps of the convolution on texels; long_* as of depths;
//                     idle_kitems: work-items that fill up its groups
//   *_kdepths         thousand steps of a product's depth, of each work-item or group; single_*
//                     with one row, long_* of runs that leave the processor nothing to begin with
//                     meanwhile, lines_over_* of work-items with more lines in one place of a
//                     cache, as mbytes_over_*, lost_* of the lines that it does not hold; rest_* of
//                     those that an unrolled loop leaves
//   ktrips, again_kitems   thousand times round an unrolled loop; work-items that take more than
//                     one step of what it leaves
//   divided_kitems    of windows whose elements are averaged
//   paged_*           of rows in another page than those before, where a pass has many pages
//   divided_melements   million elements of exponentials that are divided by, too
//   kvectors, rest_kelements   thousand vectors of exponentials, and those that come one by one
//   second_*, channel_*        of a second operand as long as the first, of one per channel
//   asked_kinputs     thousand inputs that work-items of Concat ask for their vectors
//   placed_*, clamped_*        of vectors whose place is divided for, or clamped
bool add_cl_processor_features(const StepShape& step, const GpuFacts& gpu, Features* features);

}  // namespace codl::kernels
