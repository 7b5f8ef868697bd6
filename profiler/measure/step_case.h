// One step to be timed, by the names that the profiler has for it.
#pragma once

#include "kernels/common/work/step_case.h"

namespace codl::profiler {

using kernels::OperandShape;
using kernels::StepCase;
using kernels::words_of;

}  // namespace codl::profiler
