// What latency models weigh: the features of a step's contract, brought to how the step is cut into
// pieces, and what follows from the cut for any operator.
#pragma once

#include "kernels/common/contract.h"

namespace codl::kernels {

// The lane that a step runs in.
struct LaneFacts {
  int32_t thread_count = 1;  // of the CPU lane
  GpuFacts gpu;
};

// Of a step that has passed check_step(). One without tile numbers is taken as codlc would give it
// some.
//
// Both: million elements written under the name of what is applied to each of them, a Unary's kind
// or an activation: melements_hard (HardSigmoid, HardSwish), melements_exp (an exponential),
// melements_erf, melements_other (log, pow, sin ...); none for members of a few instructions.
//
// CPU: every feature but "steps" is multiplied by ceil(tasks / workers) * workers / tasks: the
// worker with most tasks decides, so a step of one task takes a lane of four four times as long as
// its work. Besides:
//   melements      million elements written; kpixels: thousand times that the innermost axis of the
//                  output is begun anew; ragged_kpixels: likewise if it is no multiple of 16
//   cached_mbytes  million bytes touched beyond the first, and
//   far_mbytes     beyond the first eight: steps that outgrow a core's and a processor's caches
//   shares         1 if more than one worker has tasks: waking them
//   map_melements, lane_mmacs, part_kpixels and features named after what they tell apart (a pool
//   that averages, columns by columns ...): loops that run for some parameters or shapes only
// GPU:
//   unit_*         of the unit with most work-groups: its items, multiply-adds and bytes
//   kdepth, wave*  multiply-adds of an element, which follow each other; times how often units fill
//   tile*          the same of gemm_tile.cl's tiles, by their slices of the depth
//   kitems         thousand work-items
//   item_kmacs     thousand multiply-adds of one work-item: what a device that all items fit on at
//                  once waits for; item_kbytes: likewise its activations
void model_features_of(const StepShape& step, const LaneFacts& lane, Features* out_features);

}  // namespace codl::kernels
