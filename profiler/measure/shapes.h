// Steps to time: random ones, of the sizes that networks have.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "kernels/common/work/step_work.h"
#include "profiler/measure/step_case.h"

namespace codl::profiler {

// Multiply-adds, or elements where there are none, that a step of a kernel may have: steps of a few
// microseconds to a few milliseconds on the processor at hand.
struct WorkLimits {
  double most_macs = 3e8;
  double most_elements = 4e6;
};

// Rows that take most of a network's time.
bool has_multiply_adds(const KernelInfo& kernel);

// Returns the step's work for a processor of which nothing is known.
kernels::StepWork work_of(const KernelInfo& kernel, const StepCase& item);

// A step that the kernel may run, or nothing if its operator has no generator here: the kernel's
// family stands for it.
std::optional<StepCase> draw_step(const KernelInfo& kernel, const WorkLimits& limits,
                                  std::mt19937_64& random);

}  // namespace codl::profiler
