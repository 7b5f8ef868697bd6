// A schedule whose GPU work can be interrupted often enough for other programs: the screen's
// frames.
#pragma once

#include "compiler/device/latency_predictor.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

// For a schedule with GPU steps; one without stays as it is. A GPU serves other programs either
// between launches, or in the order of requests, when all is done that was enqueued before. So
// both are bounded by `max_slice_us`:
//   - GPU kernels that take longer are cut into launches over rows or channels, of half of it where
//     the kernel can be cut so, that the queue does not run dry;
//   - at most that much is enqueued ahead (Variant::max_ahead_us); the host, which runs the CPU's
//     steps too, enqueues the next when it comes back from a step. So CPU steps are cut, too, where
//     that pays, and the list is put in the order in which the host can go on soonest.
// A kernel that cannot be cut fine enough stays longer than asked for: figures_of() tells.
void bound_gpu_slices(const ir::Graph& graph, Schedule& schedule, const LatencyPredictor& predictor,
                      double max_slice_us);

}  // namespace codl::compiler
