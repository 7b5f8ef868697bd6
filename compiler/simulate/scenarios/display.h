// Simulates a screen beside a plan: frames that another program draws on the same GPU, in virtual
// time.
#pragma once

#include "compiler/simulate/timing/timeline.h"

namespace codl::compiler {

// Says how a GPU shares itself between the queues of two programs. No launch is ever interrupted.
//   Fifo        it serves in the order of enqueueing, whichever program enqueued
//   RoundRobin  after each launch it turns to the other program, if that has something to do
enum class GpuService { Fifo, RoundRobin };

struct Display {
  GpuService service = GpuService::Fifo;
  double period_us = 16'700;  // time between frames
  double frame_us = 3'000;    // GPU work for each frame
};

struct FrameCount {
  uint64_t frames = 0;
  uint64_t lost = 0;
  uint64_t runs = 0;           // runs of the plan that ended in that time
  double run_us = 0;           // mean time of a run
  double longest_wait_us = 0;  // from a frame's request to the end of its drawing
};

// Limits the starts and ends of steps that are simulated: minutes of any network, seconds of
// computing.
inline constexpr uint64_t kMaxDisplayEvents = 100'000'000;

// Repeats runs of `steps`, one after the other, for `total_us`. At the begin of each period a frame
// is asked for, and it is lost unless it is drawn at the end of the period; while one is not drawn,
// no other is asked for, and those that were due meanwhile are lost, too. If `enqueues_all`, GPU
// steps are in the queue from the begin of a run (Gate::UserEvent), else when the host has done the
// CPU's steps before them. After `max_events` only the time so far counts, because runs that take
// no time would have no end.
FrameCount count_frames(llvm::ArrayRef<QueueStep> steps, const DeviceProfile& profile,
                        const Display& display, bool enqueues_all, double total_us,
                        uint64_t max_events = kMaxDisplayEvents);

}  // namespace codl::compiler
