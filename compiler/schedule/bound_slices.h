// Limits the GPU's work in one go, so that other programs get their turn: the screen's frames.
#pragma once

#include "compiler/device/latency_predictor.h"
#include "compiler/schedule/schedule.h"

namespace codl::compiler {

// Changes a schedule with GPU steps; others stay as they are. The GPU serves other programs either
// between launches, or in the order of requests, when everything enqueued before is done. So
// `max_slice_us` bounds both:
//   - GPU kernels that take longer are cut into launches over rows or channels, of half of it where
//     the kernel can be cut that fine, so that the queue does not run dry;
//   - at most that much is enqueued ahead (Variant::max_ahead_us). The host, which runs the CPU's
//     steps, too, enqueues more when it returns from a step. So CPU steps are cut as well where
//     that pays, and the list is ordered so that the host can go on soonest.
// A kernel that cannot be cut fine enough exceeds the limit; figures_of() reports it.
void bound_gpu_slices(const ir::Graph& graph, Schedule& schedule, const LatencyPredictor& predictor,
                      double max_slice_us);

}  // namespace codl::compiler
