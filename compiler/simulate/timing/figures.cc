#include "compiler/simulate/timing/figures.h"

#include <algorithm>

#include "compiler/schedule/step_order.h"
#include "compiler/simulate/timing/host_calls.h"
#include "compiler/simulate/timing/simulate.h"
#include "compiler/support/error.h"
#include "schema/ahead_window.h"

namespace codl::compiler {
namespace {

struct Slices {
  double longest_us = 0;
  double beyond_us = 0;  // excess of all over Variant::max_ahead_us, if that is set
};

// The GPU work that is in the queue and not known to be done when one more step joins it.
// Another program's request that comes then stands behind all of it, if the GPU serves in order of
// request; if it changes programs between launches, behind one of them at most.
//
// A plan's bound counts predicted times with what usually disturbs them; a step that is disturbed
// less in this run (`spans`) takes less.
Slices slices_of(const Variant& variant, llvm::ArrayRef<Timeline::Span> spans,
                 const DeviceProfile& profile) {
  const StepOrder order(variant);
  const double factor = crowded_factor(profile);
  const auto us_of = [&](StepId id) {
    return std::min(variant.steps[id].predicted_us * factor, spans[id].end_us - spans[id].start_us);
  };
  AheadWindow window(static_cast<float>(variant.max_ahead_us));
  StepId done = 0;  // GPU steps before this one are done
  StepId oldest = 0;
  double waiting_us = 0;
  Slices slices;
  for (StepId id = 0; id < variant.steps.size(); ++id) {
    const Step& step = variant.steps[id];
    // Behind user events all is enqueued at once.
    if (step.queue == Queue::Cpu && variant.gate == Gate::HostEnqueue)
      done = order.done_before(id).count[kGpuQueue];
    if (step.queue != Queue::Gpu) continue;
    const uint32_t wait = window.add(id, [&](uint32_t i) { return ahead_us(variant, i); });
    if (wait != AheadWindow::kNoWait) done = std::max(done, wait + 1);
    for (; oldest < done; ++oldest)
      if (variant.steps[oldest].queue == Queue::Gpu) waiting_us -= us_of(oldest);
    waiting_us += us_of(id);
    slices.longest_us = std::max(slices.longest_us, waiting_us);
    if (variant.max_ahead_us > 0)
      slices.beyond_us += std::max(waiting_us - variant.max_ahead_us * factor, 0.0);
  }
  return slices;
}

}  // namespace

uint32_t count_syncs(const Variant& variant) {
  size_t count = 0;
  for (const Step& step : variant.steps) count += step.waits.size();
  return static_cast<uint32_t>(count);
}

uint64_t arena_bytes_of(const Variant& variant, const DeviceProfile& profile) {
  uint64_t bytes = variant.host_bytes + variant.shared_bytes + variant.device_bytes;
  for (const ImageSlot& image : variant.images)
    bytes += image_bytes(image.width, image.height, image.dtype,
                         static_cast<uint64_t>(profile.image_row_texels));
  return bytes;
}

llvm::Expected<PlanFigures> figures_of(const Variant& variant, const DeviceProfile& profile) {
  CODL_ASSIGN_OR_RETURN(steps, queue_steps_of(variant, profile));
  const Timeline timeline = run_queues(steps, profile, {}, Clock::Wall);
  PlanFigures figures;
  figures.predicted_us = variant.predicted_us;
  if (timeline.total_us > 0) figures.gpu_share = timeline.busy_us[kGpuQueue] / timeline.total_us;
  const Slices slices = slices_of(variant, step_spans(variant, steps, timeline), profile);
  figures.longest_slice_us = slices.longest_us;
  figures.beyond_slice_us = slices.beyond_us;
  if (profile.power) figures.energy_mj = timeline.energy_j(*profile.power) * 1e3;
  figures.arena_bytes = arena_bytes_of(variant, profile);
  figures.weight_bytes = static_cast<uint64_t>(weight_mbytes(variant) * 1e6);
  figures.syncs = count_syncs(variant);
  return figures;
}

}  // namespace codl::compiler
