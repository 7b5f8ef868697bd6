// Short names of the profiler for the parts of a step.
#pragma once

#include "kernels/common/work/step_case.h"

namespace codl::profiler {

using kernels::OperandShape;
using kernels::StepCase;
using kernels::words_of;

}  // namespace codl::profiler
