// Gives the parts of a step short names for the profiler.
#pragma once

#include "kernels/common/work/step_case.h"

namespace codl::profiler {

using kernels::OperandShape;
using kernels::StepCase;
using kernels::words_of;

}  // namespace codl::profiler
