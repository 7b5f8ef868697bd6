#include "profiler/fit/map_layout.h"

#include <algorithm>
#include <limits>

#include "kernels/kernel_table.h"

namespace codl::profiler {
namespace {

constexpr double kNoKernel = std::numeric_limits<double>::infinity();

bool is_map(const OperandShape& operand) {
  return operand.layout == Layout::Nhwc || operand.layout == Layout::Image2d;
}

// Returns the step with all its maps in `layout`. Kernels of both layouts take weights in the same
// packing.
StepCase with_maps_in(Layout layout, StepCase item) {
  for (OperandShape& operand : item.operands) {
    if (!is_map(operand)) continue;
    operand.layout = layout;
    operand.bytes = memory_bytes(operand);
  }
  return item;
}

// Returns the time of the fastest kernel that accepts the step, or kNoKernel.
double fastest_us(const std::vector<KernelFit>& fits, const StepCase& item,
                  const ProcessorFacts& processor) {
  double fastest = kNoKernel;
  for (const KernelFit& fit : fits) {
    const KernelInfo& kernel = *fit.kernel;
    kernels::StepNeeds needs;
    if (kernel.processor != Processor::Gpu || kernel.op != item.op ||
        kernels::check_step(step_of(kernel, item), &needs) != nullptr)
      continue;
    fastest = std::min(fastest, weigh(times_of(kernel, item, processor), fit.fit.shares));
  }
  return fastest;
}

}  // namespace

bool images_are_faster(const std::vector<Sample>& samples, const std::vector<KernelFit>& fits,
                       const ProcessorFacts& processor) {
  double buffer_sum_us = 0;
  double image_sum_us = 0;
  for (const Sample& sample : samples) {
    const StepCase& item = sample.item;
    if (sample.kernel->processor != Processor::Gpu || sample.role == SampleRole::Repeat ||
        item.op == OpKind::Convert || !is_map(item.operands.back()))
      continue;
    const double buffer_us = fastest_us(fits, with_maps_in(Layout::Nhwc, item), processor);
    const double image_us = fastest_us(fits, with_maps_in(Layout::Image2d, item), processor);
    if (buffer_us == kNoKernel || image_us == kNoKernel) continue;
    buffer_sum_us += buffer_us;
    image_sum_us += image_us;
  }
  return image_sum_us < buffer_sum_us;
}

}  // namespace codl::profiler
