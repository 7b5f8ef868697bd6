// What latency models weigh of a CPU step: how its kernel goes through the work.
#pragma once

#include "kernels/common/step_work.h"

namespace codl::kernels {

// Adds the features that tell the paths of the row's kernel apart to those of the operator, which
// are in `features`. All but counts of one step (steps, *_steps, shares, begins) are multiplied by
// the time of the lane * threads / tasks, that of the worker that is done last: a step of one task
// takes a lane of four four times as long as its work (crowded_time() in cpu_feature_counts.h).
//
//   shares, *_shares
//                   1 if more than one worker has tasks: waking them
//   alone_mbytes    bytes of a step of one task in a lane of more workers: it finds half of its
//                   inputs in the other cores' caches
//   apart_mbytes    bytes of runs, or of a part of each pixel's channels, in a lane of more workers
//   stream_*, shown_*, read_*
//                   weights of a step of one pixel, of few, whose computing hides little of the
//                   time that memory takes, and of more
//   *_begun_mbytes  of those the first of each panel: what fetches ahead is not ahead yet
//   read_weight_mbytes
//                   bytes of a depthwise convolution's weights, which every worker reads
//   paged_mbytes    bytes of pixels that are read page after page: all up to 512 channels, none of
//                   1024 or more, of which a run reads several pages side by side
//   apart_kpixels   thousand pixels of inputs and results that a pass has a part of the channels
//                   of; of a pool's windows the taps
//   far_mloads      loads of rows that are used again, and lie on more pages than the near TLB has
//   *_far_klines    thousand lines of pixels that lie on more pages than what fetches ahead follows
//   to_plain_block_kruns
//                   thousand runs of planes that are written in more than one, with other planes'
//                   between them
//   apart_window_mbytes
//                   apart_mbytes of a pool, of which each row of windows begins with other lines
//   lost_row_mbytes
//                   bytes of rows that the next row of windows shares and no near cache holds
//   shared_mbytes   bytes that a worker reads and another one, too
//   page_kpixels    thousand pixels of which each begins on a page of its own, or that part of them
//   page_krows      thousand parts of rows that are written on pages of their own
//   scattered_mbytes
//                   bytes that are written a line of a pixel at a time, as far as pixels are wide
//   late_weight_mbytes
//                   weights that the tiles before have not fetched ahead
//   chained_*       thousand pixels whose curve waits for the store of the one before
//   near_mbytes     bytes that workers find in each other's second-level caches: 1.5 MB of each
//   swept_mbytes    bytes of pixels of which a part of channels is touched, as far as what fetches
//                   ahead fetches the others, too
//   first_mbytes    bytes before anything fetches ahead, of the busiest worker times the workers
//   begins          times that a worker takes tasks, if more than one has some
//   mbytes_over_*   million bytes of a step that waits for memory and touches more than so many:
//                   what caches of that size do not hold, all from twice the size on; less where
//                   computing hides a part
//   moved_mbytes_over_*
//                   the same of a step that changes the order of elements
//   joined_mbytes_over_*
//                   the same of one that joins pixels' channels, times the inputs after the first
//   mbytes_by_*     million bytes of runs, each counted as so many bytes at least
//   kpieces_over_1  thousand pixels of such a step of which a part of channels touches some
//   *_steps         1: what a loop costs once, before caches and branch predictors know it
//   *_melements, *_mops, *_mmacs, *_mloads
//                   million elements, operations, multiply-adds and vector loads (times 16) of a
//                   loop that runs for some parameters or shapes only
//   *kruns, *kpixels, *krows, *ktiles ...
//                   thousand times that such a loop is begun
//   single_*, narrow_*, rest_*, edge_*, ragged_*, padded_*
//                   the part that does not fill vectors, tiles or squares
//   uneven_melements
//                   elements that the busiest worker has more than an even cut into tasks gives it
//   split_kcolumns  thousand columns of squares, 64 bytes each, that lie in two lines of memory
//   between_mbytes  bytes of runs times the part of memory that they are from the first to the last
//   far_kcolumns    thousand columns of squares that lie on more pages than the near TLB has
//   unaligned_*, aliased_*
//                   elements in lines of memory that two cache lines share, and in lines that are a
//                   multiple of 4096 bytes apart: they fall into one set of a first-level cache
//   aliased_mloads  loads, divided by the sets that pixels of so many bytes may begin with
//   tail_kruns      thousand runs of a pass whose channels do not end with a whole vector
//   lost_*          loads or elements that a first-level cache had, but no longer has when they are
//                   used again
//   spilled*_mbytes, squeezed*_mbytes
//                   what a second-level cache does not hold, each time that it is used
//   streamed_*, crowded_*
//                   loads of lines that a first-level cache does not hold until the next row of
//                   taps, or the next vector of channels, for want of room or of sets
//
// `vector_lanes`: floats in a vector of the kernels, 4, 8 or 16.
void add_cpu_features(const StepShape& step, int32_t thread_count, int32_t vector_lanes,
                      Features* features);

}  // namespace codl::kernels
