// Draws random steps to time, of the sizes that networks have.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "kernels/common/work/step_work.h"
#include "profiler/measure/step_case.h"

namespace codl::profiler {

// Multiply-adds, or elements if there are none, that a step of a kernel may have: it takes a few
// microseconds to a few milliseconds on the processor.
struct WorkLimits {
  double most_macs = 3e8;
  double most_elements = 4e6;
};

// True for kernels that take most of a network's time.
bool has_multiply_adds(const KernelInfo& kernel);

// Returns the step's work for a processor of which nothing is known.
kernels::StepWork work_of(const KernelInfo& kernel, const StepCase& item);

// Draws a step that the kernel may run. Returns nothing if its operator has no generator here: then
// the kernel's family stands for it.
std::optional<StepCase> draw_step(const KernelInfo& kernel, const WorkLimits& limits,
                                  std::mt19937_64& random);

}  // namespace codl::profiler
